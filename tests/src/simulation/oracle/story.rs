//! The log, sorted by what the checks ask for.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use tidelock::{Occurrence, RunId, Schedule, SkipReason};

use crate::simulation::disturbance::Disturbance;
use crate::simulation::event::{Answered, Ask, End, Event, Handler, Life, What};
use crate::simulation::life::{LifeStory, lives};
use crate::simulation::log::Trace;
use crate::simulation::plan::Plan;

/// How long it may take several servers to settle who leads them: an election or two, and a call
/// that each node makes in vain.
const ELECTION_US: u64 = 4_000_000;

/// A run in order, as the checks need it.
pub(super) struct Story<'a> {
    pub(super) plan: &'a Plan,
    pub(super) trace: &'a Trace,
    /// The schedule of each job, and its other one.
    schedules: Vec<(Schedule, Option<Schedule>)>,
    pub(super) lives: Vec<LifeStory>,
    /// Grants of each job, in order.
    pub(super) grants: Vec<Vec<Grant>>,
    /// Moves of each job's mark, in order.
    pub(super) moves: Vec<Vec<Move>>,
    /// What each run that was granted or consumed came to.
    pub(super) runs: BTreeMap<RunId, RunStory>,
    /// How often the mark of each job was taken away.
    pub(super) epochs: Vec<usize>,
    /// When all was healed.
    pub(super) calm_at: u64,
    /// When servers were away.
    pub(super) away: Vec<(u64, u64)>,
    /// When nothing went on at all.
    pub(super) stalls: Vec<(u64, u64)>,
}

#[derive(Clone, Copy)]
pub(super) struct Grant {
    pub(super) at: u64,
    pub(super) ask: Ask,
    pub(super) token: u64,
    pub(super) released: Option<u64>,
    /// When an operator freed its lock.
    pub(super) forced: Option<u64>,
    /// How often the mark had been taken away before.
    pub(super) epoch: usize,
}

impl Grant {
    /// Until when it held the lock, unless that expired before.
    pub(super) fn end(&self) -> Option<u64> {
        [self.released, self.forced].into_iter().flatten().min()
    }
}

/// A move of a mark.
#[derive(Clone, Copy)]
pub(super) struct Move {
    pub(super) at: u64,
    pub(super) ask: Ask,
    pub(super) tick: Occurrence,
    pub(super) previous: Option<Occurrence>,
    /// Why it was consumed, and behind which run; `None`: it was granted.
    pub(super) consumed: Option<(SkipReason, Option<RunId>)>,
    /// How often the mark had been taken away before.
    pub(super) epoch: usize,
    /// Whether the mark came from the same schedule before.
    pub(super) same_schedule: bool,
}

#[derive(Default)]
pub(super) struct RunStory {
    pub(super) handler: Option<(u64, Handler)>,
    pub(super) end: Option<(u64, End)>,
    /// How often it was asked for, and when first.
    pub(super) asked: usize,
    pub(super) asked_at: Option<u64>,
    /// When it was asked for first after the last answer that was neither grant nor consumption.
    pub(super) since: Option<u64>,
    /// When its node first heard that the lock was held.
    pub(super) held: Option<u64>,
    /// When its node heard of the grant or consumption.
    pub(super) heard: Option<(u64, Answered)>,
}

impl<'a> Story<'a> {
    pub(super) fn of(plan: &'a Plan, trace: &'a Trace) -> Self {
        let jobs = trace.jobs.len();
        let schedules = plan.jobs.iter().filter_map(|job| {
            let other = job.edited.as_ref().and_then(|when| when.schedule().ok());
            Some((job.when.schedule().ok()?, other))
        });
        let mut story = Self {
            plan,
            trace,
            schedules: schedules.collect(),
            lives: lives(trace),
            grants: vec![Vec::new(); jobs],
            moves: vec![Vec::new(); jobs],
            runs: BTreeMap::new(),
            epochs: vec![0; jobs],
            calm_at: plan.heal_at * 1_000,
            away: Vec::new(),
            stalls: Vec::new(),
        };
        trace.events.iter().for_each(|event| story.tell(event));
        trace.events.iter().for_each(|event| story.tell_of_runs(event));
        story
    }

    fn tell(&mut self, &Event { at, what }: &Event) {
        match what {
            What::Granted { ask, token, previous } => {
                let epoch = self.epochs[ask.job];
                let grant = Grant { at, ask, token, released: None, forced: None, epoch };
                self.grants[ask.job].push(grant);
                self.runs.entry(ask.run).or_default();
                if let Some(tick) = ask.tick {
                    self.moved(at, ask, tick, previous, None);
                }
            }
            What::Consumed { ask, reason, blocked_by, previous } => {
                self.runs.entry(ask.run).or_default();
                if let Some(tick) = ask.tick {
                    let consumed = Some((reason, blocked_by));
                    self.moved(at, ask, tick, previous, consumed);
                }
            }
            What::Released { job, run, token, .. } => {
                let mut grants = self.grants[job].iter_mut().rev();
                let grant = grants.find(|grant| grant.ask.run == run && grant.token == token);
                if let Some(grant) = grant {
                    grant.released = grant.released.or(Some(at));
                }
            }
            What::Forced { job, mark, held } => {
                self.epochs[job] += usize::from(mark);
                let newest = self.grants[job].last_mut().filter(|_| held);
                if let Some(grant) = newest {
                    grant.forced = Some(at);
                }
            }
            What::ServerAway(..) => self.away.push((at, u64::MAX)),
            What::ServerBack(_) => {
                let open = self.away.iter_mut().find(|it| it.1 == u64::MAX);
                open.into_iter().for_each(|it| it.1 = at);
            }
            What::Stalled(us) => self.stalls.push((at.saturating_sub(us), at)),
            // Servers take their time to come back.
            What::Calm => self.calm_at = self.calm_at.max(at),
            _ => {}
        }
    }

    fn moved(
        &mut self,
        at: u64,
        ask: Ask,
        tick: Occurrence,
        previous: Option<Occurrence>,
        consumed: Option<(SkipReason, Option<RunId>)>,
    ) {
        let epoch = self.epochs[ask.job];
        let moves = &mut self.moves[ask.job];
        let before = moves.last().filter(|before| before.epoch == epoch);
        let same_schedule = before.is_some_and(|before| before.ask.edited == ask.edited);
        moves.push(Move { at, ask, tick, previous, consumed, epoch, same_schedule });
    }

    /// What is told of runs that came to something: all else was asked for in vain.
    fn tell_of_runs(&mut self, &Event { at, what }: &Event) {
        match what {
            What::Asked(ask) => {
                if let Some(run) = self.runs.get_mut(&ask.run) {
                    run.asked += 1;
                    run.asked_at = run.asked_at.or(Some(at));
                    run.since = run.since.or(Some(at));
                }
            }
            What::Heard(ask, answer) => {
                let told =
                    matches!(answer, Answered::Granted | Answered::Consumed | Answered::Expired);
                let run = self.runs.get_mut(&ask.run);
                if let Some(run) = run {
                    if matches!(answer, Answered::Held | Answered::TooEarly) && run.heard.is_none()
                    {
                        run.since = None;
                    }
                    if told {
                        run.heard = run.heard.or(Some((at, answer)));
                    } else if answer == Answered::Held {
                        run.held = run.held.or(Some(at));
                    }
                }
            }
            What::Began(handler) => {
                let run = self.runs.entry(handler.run).or_default();
                run.handler = run.handler.or(Some((at, handler)));
            }
            What::Ended(handler, end) => {
                self.runs.entry(handler.run).or_default().end = Some((at, end));
            }
            _ => {}
        }
    }

    /// A schedule of a job: the other one, if it is edited.
    pub(super) fn schedule(&self, job: usize, edited: bool) -> &Schedule {
        let (first, other) = &self.schedules[job];
        other.as_ref().filter(|_| edited).unwrap_or(first)
    }

    /// From when on a node had the job with the schedule that it asked for.
    pub(super) fn registered(&self, ask: &Ask, asked_at: u64) -> u64 {
        let life = &self.lives[ask.life];
        let since = if ask.edited { &life.edited } else { &life.added };
        let of_job = since.iter().filter(|&&(at, job)| job == ask.job && at <= asked_at);
        of_job.map(|&(at, _)| at).max().unwrap_or(life.up)
    }

    /// Whether the clock of a place is never far from the true time.
    pub(super) fn keeps_time(&self, seat: usize) -> bool {
        let set =
            |what: &Disturbance| matches!(what, Disturbance::Step { node, .. } if *node == seat);
        let never_set = !self.plan.disturbances.iter().any(|planned| set(&planned.what));
        self.plan.nodes[seat].keeps_time() && never_set
    }

    /// Microseconds since the start of an instant; 0 for one before it.
    pub(super) fn since_start(&self, instant: Timestamp) -> u64 {
        let micros = instant.duration_since(self.trace.start).as_micros();
        u64::try_from(micros).unwrap_or(0)
    }

    /// The instant that many microseconds after the start.
    pub(super) fn instant(&self, at: u64) -> Timestamp {
        let passed = SignedDuration::from_micros(i64::try_from(at).unwrap_or(i64::MAX));
        self.trace.start.saturating_add(passed).unwrap_or(Timestamp::MAX)
    }

    pub(super) fn life(&self, life: Life) -> &str {
        &self.trace.lives[life]
    }

    /// The name that a node bears.
    pub(super) fn name(&self, life: Life) -> &str {
        &self.trace.nodes[life]
    }

    /// Whether a node's life ended before the last shutdown: with a shutdown of its own or without.
    pub(super) fn ended_early(&self, life: Life) -> bool {
        let life = &self.lives[life];
        life.dropped
            || life.stopping.or(life.killed).is_some_and(|at| at <= self.end_at())
                && life.stopping.is_none_or(|at| at < self.end_at())
    }

    /// Whether a node was shut down and left no record unsaved, and no run that goes on.
    pub(super) fn ended_in_order(&self, life: Life) -> bool {
        self.lives[life].ended_in_order()
    }

    /// Whether a run held the lock at some moment between `from` and `to`.
    pub(super) fn is_held(&self, job: usize, from: u64, to: u64) -> bool {
        let mut next = u64::MAX;
        let mut grants =
            self.grants[job].iter().rev().skip_while(|grant| self.since(&grant.ask, grant.at) > to);
        grants.any(|grant| {
            let end = grant.end().unwrap_or(u64::MAX).min(next);
            next = grant.at;
            end >= from
        })
    }

    /// When the last shutdown began.
    pub(super) fn end_at(&self) -> u64 {
        self.plan.end_at * 1_000
    }

    /// The earliest that a step may have been taken by the backend that is logged at `at`: that
    /// very moment in a simulation, and in real time when it was asked for.
    pub(super) fn since(&self, ask: &Ask, at: u64) -> u64 {
        let asked = || self.runs.get(&ask.run).and_then(|run| run.since);
        if self.plan.real.is_none() { at } else { asked().map_or(at, |since| since.min(at)) }
    }

    /// What real time may add to any wait.
    pub(super) fn slack(&self) -> u64 {
        self.plan.real.map_or(0, |real| real.slack_ms * 1_000)
    }

    /// Whether the node's way to the backend was open, its records were taken and its tasks went
    /// on, all the time from `from` to `to`.
    pub(super) fn is_well(&self, life: Life, from: u64, to: u64) -> bool {
        let troubles = self.lives[life].troubles();
        let mut all = troubles.chain(self.away.iter().copied());
        all.all(|(begin, end)| end < from || begin > to)
    }

    /// Whether the backend was away from everybody at some moment between `from` and `to`.
    pub(super) fn is_outage(&self, from: u64, to: u64) -> bool {
        let cut = self.plan.disturbances.iter().any(|planned| match planned.what {
            Disturbance::Outage { for_ms, .. } => {
                planned.at * 1_000 <= to && (planned.at + for_ms) * 1_000 >= from
            }
            _ => false,
        });
        cut || self.is_without_servers(from, to) || self.is_stalled(from, to, self.slack() / 3)
    }

    /// Whether too few servers were there: one that is alone was away, or the others had not
    /// settled who leads them.
    fn is_without_servers(&self, from: u64, to: u64) -> bool {
        let several = self.plan.real.is_some_and(|real| real.members > 1);
        self.away.iter().any(|&(begin, end)| {
            let back = if end == u64::MAX { end } else { end + ELECTION_US };
            let hit = |begin: u64, end: u64| begin <= to && end >= from;
            if several {
                hit(begin, begin + ELECTION_US) || hit(end, back)
            } else {
                hit(begin, end)
            }
        })
    }

    /// Whether one of several servers came back less than a TTL ago: one that led before it stood
    /// still may revoke leases that are alive at its successor (etcd issue 15247).
    pub(super) fn may_be_revoked(&self, at: u64, ttl: u64) -> bool {
        let several = self.plan.real.is_some_and(|real| real.members > 1);
        let soon = ttl + self.slack();
        several && self.away.iter().any(|&(_, back)| back <= at && at - back <= soon)
    }

    /// Whether nothing at all went on for longer than that in all, between `from` and `to`.
    pub(super) fn is_stalled(&self, from: u64, to: u64, long: u64) -> bool {
        let within = |&(begin, end): &(u64, u64)| end.min(to).saturating_sub(begin.max(from));
        self.stalls.iter().map(within).sum::<u64>() > long
    }
}
