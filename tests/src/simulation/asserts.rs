//! What can be asserted of an outcome.

use std::collections::{BTreeMap, BTreeSet};

use tidelock::{Record, RunId, RunState};

use super::event::What;
use super::failure::{Fact, Wrong, record_line};
use super::losses::Losses;
use super::lost::lost;
use super::outcome::Outcome;
use super::under_way::overlap;

impl Outcome {
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
        let found = overlap(&self.trace, self.plan.blocking_ms.saturating_mul(1_000));
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
    /// because a node died with it in hand is no failure either: one that was told of it seconds
    /// before, or could not have it stored until then.
    ///
    /// # Panics
    ///
    /// When something is silent.
    #[track_caller]
    pub fn assert_nothing_silent(&self) -> &Self {
        let losses = Losses::of(&self.trace, &self.plan);
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

    /// Every tick of every job that was due was run: none was skipped, none missed, none was granted
    /// to no avail, and none was left to nobody.
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

    /// The records of all jobs of which something is so.
    fn of_each(&self, is: impl Fn(&Record) -> bool) -> Vec<Wrong<'_>> {
        let all = self.trace.left.iter().enumerate();
        let all = all.flat_map(|(job, left)| left.records.iter().map(move |record| (job, record)));
        let all = all.filter(|(_, record)| is(record));
        all.map(|(job, record)| Wrong { job, what: Fact::Record(record) }).collect()
    }
}
