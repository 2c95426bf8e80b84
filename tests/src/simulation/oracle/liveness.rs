//! A due tick is taken in time: by a node of which nothing is wrong, and after all is healed.

use jiff::Timestamp;
use tidelock::{Misfire, SkipReason};

use super::finding::{Finding, Promise};
use super::story::{Grant, Move, Story};
use crate::simulation::plan::NodePlan;
use crate::simulation::when::ticks;

/// What nobody has to account for: timers of a millisecond, and the estimate of a clock.
const SLACK_US: u64 = 60_000;

/// The longest wait between two asks while a lock is held.
const HELD_US: u64 = 1_600_000;

/// After an outage: the longest wait for an answer, and the longest before the next try.
const RECOVERY_US: u64 = 6_000_000;

/// How long the look-up of a job may take on a bad way to the backend.
const LOOK_UP_US: u64 = 8_000_000;

/// How far a clock is off at most when it has been set right.
const RIGHT_US: u64 = 500_000;

pub(super) fn check(story: &Story<'_>, findings: &mut Vec<Finding>) {
    for job in 0..story.moves.len() {
        let steady = story.plan.nodes.first().filter(|node| node.steady && node.joins_at == 0);
        if let Some(node) = steady {
            let edited = edited_at(story, job).unwrap_or(story.calm_at).min(story.calm_at);
            let first = Watched { job, edited: false, from: 3_000_000, to: edited };
            let other = Watched { job, edited: true, from: edited + 3_000_000, to: story.calm_at };
            for watched in [first, other] {
                let slack = node_slack(node, story) + story.slack();
                watch(story, watched, Some(node), slack, findings);
            }
        }
        if story.plan.nodes.iter().any(|node| node.max_running.is_none()) {
            let edited = story.lives.iter().flat_map(|life| &life.edited).any(|it| it.1 == job);
            let from = normal_from(story, job, edited);
            let to = story.end_at().saturating_sub(RECOVERY_US);
            let slack = RIGHT_US + 80_000 + SLACK_US + story.slack();
            let watched = Watched { job, edited, from, to };
            watch(story, watched, None, slack, findings);
        }
    }
}

/// By how much a steady node may be late.
fn node_slack(node: &NodePlan, story: &Story<'_>) -> u64 {
    let behind = u64::try_from(-node.offset_ms).unwrap_or(0) * 1_000;
    // 50 ppm of five minutes are 15 ms.
    // Where records are kept apart, a run begins after two round trips.
    let trips = if story.plan.store.apart { 6_000 } else { 4_000 };
    behind + node.network.latency_ms * trips + SLACK_US + 40_000
}

/// From when on all is as it should: one TTL and one tick after the healing, or a while where
/// ticks are rare.
fn normal_from(story: &Story<'_>, job: usize, edited: bool) -> u64 {
    let lasting = story.plan.real.map_or(1, |real| real.lasting);
    let ttl = story.plan.jobs[job].lock_ttl_ms() * 1_000 * lasting + story.slack();
    let (from, latest) = (story.calm_at + ttl, story.calm_at + ttl + RECOVERY_US);
    let next = story.schedule(job, edited).next_after(story.instant(from));
    next.map_or(latest, |tick| latest.min(story.since_start(tick) + 1))
}

/// One schedule of a job, from one moment to another.
#[derive(Clone, Copy)]
struct Watched {
    job: usize,
    edited: bool,
    from: u64,
    to: u64,
}

/// When the steady node, the first, had the job with its other schedule.
fn edited_at(story: &Story<'_>, job: usize) -> Option<u64> {
    let first = story.lives.iter().find(|life| life.seat == 0)?;
    first.edited.iter().find(|&&(_, of)| of == job).map(|&(at, _)| at)
}

/// Fails where a tick between two moments was not taken in time.
fn watch(
    story: &Story<'_>,
    Watched { job, edited, from, to }: Watched,
    steady: Option<&NodePlan>,
    slack: u64,
    findings: &mut Vec<Finding>,
) {
    let plan = &story.plan.jobs[job];
    let (splay, id) = (plan.splay_ms * 1_000, &story.trace.jobs[job]);
    if from >= to {
        return;
    }
    // A backlog is run in order, and what is new waits behind it.
    let backlog = matches!(plan.misfire, Misfire::All { .. });
    for tick in ticks(story.schedule(job, edited), story.instant(from), story.instant(to)) {
        let due = story.since_start(tick);
        let latest = due + splay + slack;
        if latest + HELD_US > to
            || (steady.is_some()
                && story.is_outage(due.saturating_sub(RECOVERY_US), latest + HELD_US))
            || story.is_stalled(due.saturating_sub(HELD_US), latest + HELD_US, story.slack() / 3)
            || is_over_soon(story, (job, edited), tick, latest)
        {
            continue;
        }
        let held = may_be_held(story, job, latest) || waits_unclocked(story, job, due, latest);
        let limit = if held { latest + HELD_US } else { latest };
        let taken = story.moves[job].iter().find(|moved| moved.tick.at() >= tick);
        // What waits behind a backlog waits for as long as others are run.
        let waited = |until: u64| {
            let until = until.min(to);
            let away = || story.is_outage(due, until);
            !backlog || (!away() && is_idle(story, job, (due + splay, until), slack))
        };
        let wrong = match taken {
            None if waited(to) => Some("nobody took it"),
            Some(moved) if story.since(&moved.ask, moved.at) > limit && waited(moved.at) => {
                Some("it was taken too late")
            }
            Some(moved) if is_early(story, moved) || moved.ask.edited != edited => None,
            Some(moved)
                if moved.tick.at() > tick
                    && !is_new(story, moved)
                    && !(backlog && story.is_held(job, due.saturating_sub(slack), moved.at)) =>
            {
                Some("it was passed over")
            }
            Some(moved)
                if matches!(moved.consumed, Some((SkipReason::Misfire, _)))
                    && !(backlog && story.is_held(job, due.saturating_sub(slack), moved.at))
                    && !waits_unclocked(story, job, due, latest)
                    && is_in_time_there(story, moved, due) =>
            {
                Some("it was skipped as missed")
            }
            _ => None,
        };
        if let Some(wrong) = wrong {
            let text = format!("{id} {tick}: {wrong}; it was due at {}", seconds(due));
            findings.push(Finding::new(Promise::Liveness, due, text));
        }
    }
}

/// Whether the lock was free for longer than any wait between two moments.
fn is_idle(story: &Story<'_>, job: usize, (from, to): (u64, u64), slack: u64) -> bool {
    let mut free = from;
    for (index, grant) in story.grants[job].iter().enumerate() {
        if grant.at >= to {
            break;
        }
        if grant.at > free + HELD_US + slack {
            return true;
        }
        // A lock that was not released expires some time before the next grant.
        let next = story.grants[job].get(index + 1).map_or(to, |next| next.at);
        free = free.max(grant.end().unwrap_or(next).min(next));
    }
    to > free + HELD_US + slack
}

/// Whether a node with a clock ahead moved the mark in one of the moments that are known: it had
/// asked before it was told the time, or before the job's look-up was answered; or the job had just
/// been put back on it, or had got its other schedule, and begins after a tick that slower nodes
/// are still to come to.
fn is_new(story: &Story<'_>, moved: &Move) -> bool {
    let splay = story.plan.jobs[moved.ask.job].splay_ms * 1_000;
    let life = &story.lives[moved.ask.life];
    let asked = story.runs.get(&moved.ask.run).and_then(|run| run.asked_at).unwrap_or(moved.at);
    let untold = life.heard.is_none_or(|at| at >= asked) || asked <= life.up + LOOK_UP_US;
    let begun = life
        .begun
        .iter()
        .any(|&(at, job)| job == moved.ask.job && at <= asked && asked <= at + LOOK_UP_US);
    (untold || begun) && story.since_start(moved.tick.at()) + splay > moved.at
}

fn seconds(at: u64) -> String {
    format!("{}.{:06} s", at / 1_000_000, at % 1_000_000)
}

/// Without a clock at the backend, a node whose own is ahead takes ticks before their time, and
/// passes over what is older; one that has just begun takes what fell due before that by its own
/// clock for missed.
fn is_early(story: &Story<'_>, moved: &Move) -> bool {
    let life = &story.lives[moved.ask.life];
    let early = story.since_start(moved.tick.at()) > moved.at;
    let skips = matches!(moved.consumed, Some((SkipReason::Misfire, _)));
    let begins = skips && moved.at < life.up + 2_000_000;
    !story.plan.store.clock && (early || begins || !story.keeps_time(life.seat))
}

/// Whether a tick was not too late. Without a clock at the backend, that is told by the clock of the
/// node that takes it; which part of its splay a job has is not known here, and may be none.
fn is_in_time_there(story: &Story<'_>, moved: &Move, due: u64) -> bool {
    let node = &story.plan.nodes[story.lives[moved.ask.life].seat];
    let signed = |us: u64| i64::try_from(us).unwrap_or(i64::MAX);
    let shown = signed(moved.at) + signed(moved.at) / 1_000_000 * node.drift_ppm;
    let late = shown + node.offset_ms * 1_000 - signed(due);
    let within = story.plan.jobs[moved.ask.job].start_within_ms;
    story.plan.store.clock || within.is_none_or(|ms| late <= signed(ms * 1_000))
}

/// Without a clock at the backend, a node that finds the lock held waits before it asks again.
fn waits_unclocked(story: &Story<'_>, job: usize, due: u64, latest: u64) -> bool {
    !story.plan.store.clock && story.is_held(job, due.saturating_sub(1_000_000), latest)
}

/// It may wait for longer than the tick is worth it.
fn is_over_soon(
    story: &Story<'_>,
    (job, edited): (usize, bool),
    tick: Timestamp,
    latest: u64,
) -> bool {
    let next = story.schedule(job, edited).next_after(tick).map(|next| story.since_start(next));
    let due = story.since_start(tick);
    let given_up = story.plan.jobs[job].start_within_ms.is_some_and(|ms| ms * 1_000 <= HELD_US);
    let over = given_up || next.is_some_and(|next| next <= latest + HELD_US);
    over && waits_unclocked(story, job, due, latest)
}

/// Whether a run may hold the lock at that moment.
fn may_be_held(story: &Story<'_>, job: usize, at: u64) -> bool {
    let granted = |grant: &&Grant| story.since(&grant.ask, grant.at) <= at;
    let grant = story.grants[job].iter().rev().find(granted);
    let slack = SLACK_US + story.slack();
    grant.is_some_and(|grant| grant.end().is_none_or(|end| end + slack >= at))
}
