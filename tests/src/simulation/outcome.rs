//! What came of a user's jobs.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tidelock::{Record, RunId, RunState};

use super::due::Due;
use super::event::What;
use super::failure::{Fact, Wrong, record_line};
use super::log::Trace;
use super::lost::{Losses, lost};
use super::plan::Plan;
use super::under_way::overlap;

/// What came of a [`Simulation`](super::Simulation): the records of each job, and assertions.
///
/// Each assertion gives the outcome back, and fails with the first things that are wrong, a line
/// each, and with what happened around the first of them.
///
/// Which ticks were due is worked out from the schedules, whatever nodes did: those later than the
/// start and not in the last moments, which the fleet had no time to answer. These are half a
/// minute, and as much more as splay, latency and late clocks take: of these only what is recorded
/// counts. A backlog that waits for its turn in the end did not run.
#[derive(Clone, Debug)]
pub struct Outcome {
    trace: Trace,
    /// The ticks of each job that had to be answered.
    owed: Vec<Vec<Timestamp>>,
    /// How long code takes that was given to `run_blocking`.
    blocking_us: u64,
    apart: bool,
}

impl Outcome {
    pub(super) fn new(trace: Trace, due: Vec<Due>, plan: &Plan) -> Self {
        let owed = due.into_iter().map(|due| due.owed(plan)).collect();
        let blocking_us = plan.blocking_ms.saturating_mul(1_000);
        Self { trace, owed, blocking_us, apart: plan.store.apart }
    }

    /// Everything that happened.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// All records of a job, oldest first.
    ///
    /// # Panics
    ///
    /// Here and below: when there is no such job.
    #[track_caller]
    pub fn records(&self, job: &str) -> Vec<&Record> {
        self.trace.left[self.job(job)].records.iter().rev().collect()
    }

    /// The runs of a job, oldest first.
    #[track_caller]
    pub fn runs(&self, job: &str) -> Vec<&Record> {
        let mut records = self.records(job);
        records.retain(|record| !record.state.is_tick_not_run());
        records
    }

    /// How many ticks of a job were due and did not run, whether or not a record tells why.
    #[track_caller]
    pub fn ticks_not_run(&self, job: &str) -> u64 {
        self.not_run(self.job(job)).0
    }

    /// No tick was started twice.
    ///
    /// # Panics
    ///
    /// When one was.
    #[track_caller]
    pub fn assert_once_per_tick(&self) -> &Self {
        let mut started = BTreeSet::new();
        for event in &self.trace.events {
            let What::Started(ask) = event.what else { continue };
            let twice = ask.tick.is_some_and(|tick| !started.insert((ask.job, tick)));
            assert!(!twice, "a tick was started twice\n{}", self.trace.around(event.at));
        }
        self
    }

    /// No two runs of a job were under way at a time, on nodes that were not standing still.
    ///
    /// Code given to `run_blocking` that goes on when its run is over, its lock lost or released at
    /// the timeout, is under way until it ends.
    ///
    /// # Panics
    ///
    /// When two were.
    #[track_caller]
    pub fn assert_no_overlap(&self) -> &Self {
        let found = overlap(&self.trace, self.blocking_us);
        let around = |at| self.trace.around(at);
        assert!(found.is_none(), "two runs at a time\n{}", found.map(around).unwrap_or_default());
        let told = self.of_each(|record| record.overlap);
        let count = told.len() as u64;
        let what = "two runs at a time, as records tell";
        assert!(told.is_empty(), "{}", self.trace.failure(what, count, told));
        self
    }

    /// Every run has one record, none is left open, and every tick that the mark was moved past
    /// without a run has one that tells why.
    ///
    /// This is what is promised, and no more. What was due before the first tick of a job that
    /// anybody took, or after the last one, leaves no record: a job begins when it is first registered, and
    /// nobody can tell of a tick while no node lives or reaches the backend. See
    /// [`assert_every_tick_ran`](Self::assert_every_tick_ran) for these. A record that nobody has
    /// because a node died with it in hand is no failure either.
    ///
    /// # Panics
    ///
    /// When something is silent.
    #[track_caller]
    pub fn assert_nothing_silent(&self) -> &Self {
        let losses = Losses::of(&self.trace, self.apart);
        let mut of_runs: BTreeMap<RunId, Vec<&Record>> = BTreeMap::new();
        for record in self.trace.left.iter().flat_map(|left| &left.records) {
            of_runs.entry(record.run_id).or_default().push(record);
        }
        for event in &self.trace.events {
            let What::Started(ask) = event.what else { continue };
            let told = of_runs.get(&ask.run).map_or(&[][..], Vec::as_slice);
            let lines: Vec<_> = told.iter().take(3).map(|record| record_line(record)).collect();
            let excused = told.is_empty() && losses.excuse_run(event.at, ask);
            let one = told.len() == 1 && told[0].state.is_final();
            assert!(
                one || excused,
                "a run without its one final record: {lines:?}\n{}",
                self.trace.around(event.at)
            );
        }
        for (job, id) in self.trace.jobs.iter().enumerate() {
            let silent = losses.silent(&self.trace, job, &lost(&self.trace, job, &self.owed[job]));
            if let Some((at, tick)) = silent {
                panic!("no record tells of {id} tick {tick}\n{}", self.trace.around(at));
            }
        }
        self
    }

    /// Every tick of every job that was due was run: none was skipped, none missed, and none was
    /// left to nobody.
    ///
    /// # Panics
    ///
    /// When one was not.
    #[track_caller]
    pub fn assert_every_tick_ran(&self) -> &Self {
        let not_run = |(sum, mut all): (u64, Vec<_>), job| {
            let (count, wrong) = self.not_run(job);
            all.extend(wrong);
            (sum + count, all)
        };
        let (count, wrong) = (0..self.trace.jobs.len()).fold((0, Vec::new()), not_run);
        assert!(count == 0, "{}", self.trace.failure("ticks did not run", count, wrong));
        self
    }

    /// Every run of every job came to its end without an error. It says nothing of ticks that did
    /// not run.
    ///
    /// # Panics
    ///
    /// When one did not.
    #[track_caller]
    pub fn assert_all_succeeded(&self) -> &Self {
        let wrong = self.of_each(|record| {
            record.state != RunState::Succeeded && !record.state.is_tick_not_run()
        });
        let count = wrong.len() as u64;
        assert!(count == 0, "{}", self.trace.failure("runs did not succeed", count, wrong));
        self
    }

    /// How many ticks of a job did not run, and which.
    fn not_run(&self, job: usize) -> (u64, Vec<Wrong<'_>>) {
        let owed = &self.owed[job];
        let lost = lost(&self.trace, job, owed);
        let mut count = lost.len() as u64;
        let mut all: Vec<_> =
            lost.into_iter().map(|tick| Wrong { job, what: Fact::Lost(tick) }).collect();
        for record in &self.trace.left[job].records {
            if !record.state.is_tick_not_run() {
                continue;
            }
            count += record.ticks.map_or(1, |ticks| {
                let first = owed.partition_point(|tick| *tick < ticks.first.at());
                let through = owed.partition_point(|tick| *tick <= ticks.last.at());
                // Where there may be more than it counts, the schedule knows.
                let more = if ticks.at_least { (through - first) as u64 } else { 0 };
                ticks.count.max(more)
            });
            all.push(Wrong { job, what: Fact::Record(record) });
        }
        (count, all)
    }

    /// The records of all jobs of which something is so.
    fn of_each(&self, is: impl Fn(&Record) -> bool) -> Vec<Wrong<'_>> {
        let all = self.trace.left.iter().enumerate();
        let all = all.flat_map(|(job, left)| left.records.iter().map(move |record| (job, record)));
        let all = all.filter(|(_, record)| is(record));
        all.map(|(job, record)| Wrong { job, what: Fact::Record(record) }).collect()
    }

    #[track_caller]
    fn job(&self, id: &str) -> usize {
        let Some(at) = self.trace.jobs.iter().position(|job| job == id) else {
            panic!("there is no job {id}: this simulation has {}", self.trace.jobs.join(", "));
        };
        at
    }
}
