//! What came of a user's jobs.

use jiff::Timestamp;
use tidelock::Record;

use super::due::Due;
use super::failure::{Fact, Wrong};
use super::log::Trace;
use super::lost::{lost, not_started};
use super::plan::Plan;

/// What came of a [`Simulation`](super::Simulation): the records of each job, and assertions.
///
/// Each assertion gives the outcome back, and fails with the first things that are wrong, a line
/// each, and with what happened around the first of them.
///
/// Which ticks were due is worked out from the schedules, whatever nodes did: those later than the
/// start and not in the last moments, which the fleet had no time to answer. These are half a
/// minute, and as much more as splay, latency and late clocks take: of these only what is recorded
/// counts. [`ticks_owed`](Self::ticks_owed) tells how many are left. A backlog that waits for its turn in
/// the end did not run.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub(super) trace: Trace,
    /// The ticks of each job that had to be answered.
    pub(super) owed: Vec<Vec<Timestamp>>,
    pub(super) plan: Plan,
}

impl Outcome {
    pub(super) fn new(trace: Trace, due: Vec<Due>, plan: &Plan) -> Self {
        let owed = due.into_iter().map(|due| due.owed(plan)).collect();
        Self { trace, owed, plan: plan.clone() }
    }

    #[cfg(test)]
    pub(super) fn into_parts(self) -> (Trace, Plan) {
        (self.trace, self.plan)
    }

    /// Everything that happened: [`Trace::text`] has a line for each thing. `n0.1` is the second life
    /// of node 0.
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

    /// The runs of a job, oldest first: also those that were granted and came to nothing before their
    /// handler was called.
    #[track_caller]
    pub fn runs(&self, job: &str) -> Vec<&Record> {
        let mut records = self.records(job);
        records.retain(|record| !record.state.is_tick_not_run());
        records
    }

    /// How many ticks of a job had to be answered before the end: what assertions look at.
    #[track_caller]
    pub fn ticks_owed(&self, job: &str) -> usize {
        self.owed[self.job(job)].len()
    }

    /// How many ticks of a job were due and for which no handler was called, whether or not a record
    /// tells why.
    #[track_caller]
    pub fn ticks_not_run(&self, job: &str) -> u64 {
        self.assert_heard();
        self.not_run(self.job(job)).0
    }

    /// How many ticks of a job did not run, and which.
    pub(super) fn not_run(&self, job: usize) -> (u64, Vec<Wrong<'_>>) {
        let owed = &self.owed[job];
        let not_started = not_started(&self.trace, job, owed);
        let mut count = not_started.len() as u64;
        let lost = lost(&self.trace, job, &not_started);
        let records = &self.trace.left[job].records;
        let fact = |tick: Timestamp| {
            let of_it = |record: &&Record| record.occurrence.is_some_and(|it| it.at() == tick);
            match lost.binary_search(&tick) {
                Ok(_) => Fact::Lost(tick),
                Err(_) => Fact::NotStarted(tick, records.iter().find(of_it)),
            }
        };
        let mut all: Vec<_> =
            not_started.into_iter().map(|tick| Wrong { job, what: fact(tick) }).collect();
        for record in records {
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

    #[track_caller]
    fn job(&self, id: &str) -> usize {
        let Some(at) = self.trace.jobs.iter().position(|job| job == id) else {
            panic!("there is no job {id}: this simulation has {}", self.trace.jobs.join(", "));
        };
        at
    }
}
