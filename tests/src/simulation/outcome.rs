//! What came of a user's jobs.

use std::collections::{BTreeMap, BTreeSet};

use tidelock::{Record, RunId, RunState};

use super::event::{Life, What};
use super::log::{Left, Trace};

/// What came of a [`Simulation`](super::Simulation): the records of each job, and assertions.
///
/// Each assertion gives the outcome back, and fails with the timeline of what it is about.
#[derive(Clone, Debug)]
pub struct Outcome {
    trace: Trace,
}

impl Outcome {
    pub(super) fn new(trace: Trace) -> Self {
        Self { trace }
    }

    /// Everything that happened.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// All records of a job, oldest first; none for a job that is not there.
    pub fn records(&self, job: &str) -> Vec<&Record> {
        let at = self.trace.jobs.iter().position(|id| id == job);
        let records = at.map(|at| self.trace.left[at].records.iter().rev().collect());
        records.unwrap_or_default()
    }

    /// The runs of a job, oldest first.
    pub fn runs(&self, job: &str) -> Vec<&Record> {
        let mut records = self.records(job);
        records.retain(|record| !record.state.is_tick_not_run());
        records
    }

    /// How many ticks of a job were due and did not run.
    pub fn ticks_not_run(&self, job: &str) -> u64 {
        let ticks = |record: &Record| record.ticks.map_or(0, |ticks| ticks.count);
        self.records(job).into_iter().map(ticks).sum()
    }

    /// No tick was started twice.
    ///
    /// # Panics
    ///
    /// When one was.
    pub fn assert_once_per_tick(&self) -> &Self {
        let mut started = BTreeSet::new();
        for event in &self.trace.events {
            let What::Started(ask) = event.what else { continue };
            let twice = ask.tick.is_some_and(|tick| !started.insert((ask.job, tick)));
            assert!(!twice, "a tick was started twice:\n{}", self.around(event.at));
        }
        self
    }

    /// No two runs of a job were under way at a time, on nodes that were not standing still.
    ///
    /// # Panics
    ///
    /// When two were.
    pub fn assert_no_overlap(&self) -> &Self {
        let mut open: BTreeMap<usize, Vec<(RunId, Life)>> = BTreeMap::new();
        let mut away: BTreeSet<Life> = BTreeSet::new();
        for event in &self.trace.events {
            match event.what {
                What::Frozen(life) | What::Killed(life) => {
                    away.insert(life);
                }
                What::Thawed(life) => {
                    away.remove(&life);
                    // A run that was overtaken meanwhile is dropped before it goes on.
                    open.values_mut().for_each(|runs| runs.retain(|run| run.1 != life));
                }
                What::Started(ask) => {
                    let runs = open.entry(ask.job).or_default();
                    let other = runs.iter().any(|run| !away.contains(&run.1));
                    assert!(!other, "two runs at a time:\n{}", self.around(event.at));
                    runs.push((ask.run, ask.life));
                }
                What::Finished { job, run, .. } => {
                    open.entry(job).or_default().retain(|other| other.0 != run);
                }
                _ => {}
            }
        }
        self
    }

    /// Every run has one record, and none is left open.
    ///
    /// # Panics
    ///
    /// When one has not.
    pub fn assert_nothing_silent(&self) -> &Self {
        for event in &self.trace.events {
            let What::Started(ask) = event.what else { continue };
            let left = &self.trace.left[ask.job].records;
            let of_run: Vec<_> = left.iter().filter(|record| record.run_id == ask.run).collect();
            let told = of_run.len() == 1 && of_run[0].state.is_final();
            assert!(told, "{of_run:?} of a run:\n{}", self.around(event.at));
        }
        self
    }

    /// Every tick of every job was run: none was skipped, and none missed.
    ///
    /// # Panics
    ///
    /// When one was not.
    pub fn assert_every_tick_ran(&self) -> &Self {
        self.each(|record| !record.state.is_tick_not_run(), "ticks did not run")
    }

    /// Every run of every job came to its end without an error.
    ///
    /// # Panics
    ///
    /// When one did not.
    pub fn assert_all_succeeded(&self) -> &Self {
        let good =
            |record: &Record| record.state == RunState::Succeeded || record.state.is_tick_not_run();
        self.each(good, "a run did not succeed")
    }

    fn each(&self, good: impl Fn(&Record) -> bool, wrong: &str) -> &Self {
        for (id, Left { records, .. }) in self.trace.jobs.iter().zip(&self.trace.left) {
            let bad: Vec<_> = records.iter().rev().filter(|record| !good(record)).collect();
            assert!(bad.is_empty(), "{id}: {wrong}: {bad:#?}");
        }
        self
    }

    /// What happened in the minute before and after a moment.
    fn around(&self, at: u64) -> String {
        self.trace.text_between(at.saturating_sub(60_000_000), at.saturating_add(60_000_000))
    }
}
