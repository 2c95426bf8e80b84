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
        self.assert_heard();
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
        self.assert_heard();
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
        self.assert_heard();
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
        self.assert_heard();
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
        self.assert_heard();
        let wrong = self.of_each(|record| {
            record.state != RunState::Succeeded && !record.state.is_tick_not_run()
        });
        let count = wrong.len() as u64;
        assert!(count == 0, "{}", self.trace.failure("runs did not succeed", count, wrong));
        self
    }

    /// Nothing can be said where something was not heard.
    #[track_caller]
    pub(super) fn assert_heard(&self) {
        let unheard = self.trace.events.iter().find_map(|event| match event.what {
            What::Unheard(life, lost) => Some((event.at, life, lost)),
            _ => None,
        });
        if let Some((at, life, lost)) = unheard {
            let (name, around) = (&self.trace.lives[life], self.trace.around(at));
            panic!(
                "of what {name} told of its runs, {lost} things were lost: whether all was in \
                 order cannot be said\n{around}"
            );
        }
    }

    /// The records of all jobs of which something is so.
    fn of_each(&self, is: impl Fn(&Record) -> bool) -> Vec<Wrong<'_>> {
        let all = self.trace.left.iter().enumerate();
        let all = all.flat_map(|(job, left)| left.records.iter().map(move |record| (job, record)));
        let all = all.filter(|(_, record)| is(record));
        all.map(|(job, record)| Wrong { job, what: Fact::Record(record) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use tidelock::Job;

    use super::*;
    use crate::simulation::{Event, Simulation};

    #[test]
    fn where_something_was_not_heard_nothing_is_said() {
        let minutely = Job::new("minutely").cron("* * * * *").unwrap().run(|_| async {});
        let mut outcome = Simulation::new([minutely]).run_for(Duration::from_secs(150));
        let asks: [fn(&Outcome); 6] = [
            |it| drop(it.assert_once_per_tick().clone()),
            |it| drop(it.assert_no_overlap().clone()),
            |it| drop(it.assert_nothing_silent().clone()),
            |it| drop(it.assert_every_tick_ran().clone()),
            |it| drop(it.assert_all_succeeded().clone()),
            |it| assert_eq!(it.ticks_not_run("minutely"), 0),
        ];
        asks.into_iter().for_each(|ask| ask(&outcome));
        outcome.trace.events.insert(4, Event { at: 0, what: What::Unheard(1, 976) });
        for ask in asks {
            let failed = catch_unwind(AssertUnwindSafe(|| ask(&outcome))).unwrap_err();
            let text = failed.downcast_ref::<String>().unwrap();
            assert!(
                text.starts_with("of what n1 told of its runs, 976 things were lost"),
                "{text}"
            );
        }
    }
}
