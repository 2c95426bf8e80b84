//! Ticks of a user's jobs that were due and left nothing, and what excuses that.

use jiff::Timestamp;
use tidelock::{Occurrence, RunId};

use super::event::{Ask, Life, What};
use super::log::Trace;

/// Of the ticks that are owed, those that were not granted and that no record tells of.
pub(super) fn lost(trace: &Trace, job: usize, owed: &[Timestamp]) -> Vec<Timestamp> {
    let mut left = owed.to_vec();
    let granted = trace.events.iter().filter_map(|event| match event.what {
        What::Granted { ask, .. } if ask.job == job => ask.tick.map(Occurrence::at),
        _ => None,
    });
    let mut granted: Vec<_> = granted.collect();
    granted.sort_unstable();
    left.retain(|tick| granted.binary_search(tick).is_err());
    let mut told: Vec<_> = trace.left[job].records.iter().filter_map(|it| it.ticks).collect();
    told.sort_unstable_by_key(|span| span.first);
    let mut told = told.into_iter().peekable();
    let mut told_to = None;
    left.retain(|tick| {
        while let Some(span) = told.next_if(|span| span.first.at() <= *tick) {
            told_to = told_to.max(Some(span.last.at()));
        }
        told_to.is_none_or(|to| to < *tick)
    });
    left
}

/// What may have been lost with a node.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Nodes that died or ended with records in hand, and when.
    deaths: Vec<(u64, Life)>,
    /// Nodes whose records were not taken for a while.
    withheld: Vec<Life>,
    apart: bool,
}

impl Losses {
    pub(super) fn of(trace: &Trace, apart: bool) -> Self {
        let mut losses = Self { apart, ..Self::default() };
        let mut ended = Vec::new();
        for event in &trace.events {
            match event.what {
                What::Stopped { life, unsaved: 0, .. } => ended.push(life),
                What::Killed(life) if !ended.contains(&life) => {
                    losses.deaths.push((event.at, life))
                }
                What::RecordsAway(life) => losses.withheld.push(life),
                _ => {}
            }
        }
        losses
    }

    /// Whether the record of a run may be lost: the store did not take it, and its node died.
    /// Where records are kept apart, another one that is to close the run may die, too.
    pub(super) fn excuse_run(&self, at: u64, ask: Ask) -> bool {
        let died = |&(when, life): &(u64, Life)| when >= at && (self.apart || life == ask.life);
        self.deaths.iter().any(died) && (self.apart || self.withheld.contains(&ask.life))
    }

    /// The first tick of a job that nothing tells of although the mark was moved past it, and when
    /// that was.
    ///
    /// What lies before the first mark is nobody's. Who moves a mark tells of what it passed, or
    /// the next one does: unless it dies with that in hand, or there is no next one.
    pub(super) fn silent(
        &self,
        trace: &Trace,
        job: usize,
        lost: &[Timestamp],
    ) -> Option<(u64, Timestamp)> {
        let state = &trace.left[job].state;
        let of_mark = state.mark.iter().map(|mark| &mark.untold);
        let untold = of_mark.chain(state.open_runs.iter().map(|run| &run.untold));
        let kept: Vec<RunId> =
            untold.flat_map(|untold| &untold.passed).map(|passed| passed.run_id).collect();
        let last_death = self.deaths.iter().map(|&(at, _)| at).max();
        trace.events.iter().find_map(|event| {
            let (ask, previous, consumed) = match event.what {
                What::Granted { ask, previous, .. } => (ask, previous, false),
                What::Consumed { ask, previous, .. } => (ask, previous, true),
                _ => return None,
            };
            let through = ask.tick.filter(|_| ask.job == job)?.at();
            let excused = kept.contains(&ask.run) || last_death.is_some_and(|at| at >= event.at);
            let passed = |tick: &Timestamp| {
                let between = previous.is_some_and(|mark| mark.at() < *tick && *tick < through);
                between || (consumed && *tick == through)
            };
            // A binary search first: there may be a year of ticks.
            let from = previous.map_or(through, Occurrence::at);
            let begin = lost.partition_point(|tick| *tick < from);
            let near = lost[begin..].iter().take_while(|tick| **tick <= through);
            let tick = near.copied().find(passed).filter(|_| !excused)?;
            Some((event.at, tick))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidelock::Job;

    use super::*;
    use crate::simulation::Simulation;

    const MINUTE: Duration = Duration::from_secs(60);

    /// A node that was away in minutes 3 and 4, without the records of that.
    fn silenced() -> Trace {
        let minutely = Job::new("minutely").cron("* * * * *").unwrap().run(|_| async {});
        let fleet = Simulation::new([minutely]).nodes(1).outage(MINUTE * 5 / 2, 2 * MINUTE);
        let mut trace = fleet.run_for(8 * MINUTE).trace().clone();
        assert_eq!(lost_ticks(&trace), []);
        trace.left[0].records.retain(|record| !record.state.is_tick_not_run());
        trace
    }

    fn lost_ticks(trace: &Trace) -> Vec<Timestamp> {
        let minutes = (1..=7).map(|n| trace.start + MINUTE * n);
        lost(trace, 0, &minutes.collect::<Vec<_>>())
    }

    #[test]
    fn a_tick_that_was_passed_over_and_that_nothing_tells_of_is_found() {
        let trace = silenced();
        let lost = lost_ticks(&trace);
        assert_eq!(lost.first(), Some(&(trace.start + MINUTE * 3)));
        let (at, tick) = Losses::of(&trace, false).silent(&trace, 0, &lost).unwrap();
        assert_eq!(tick, lost[0]);
        assert!(at > 4 * 60_000_000, "{at}");
    }

    #[test]
    fn a_node_that_dies_may_take_with_it_what_it_was_told() {
        let mut trace = silenced();
        let lost = lost_ticks(&trace);
        trace.events.retain(|event| !matches!(event.what, What::Stopped { .. }));
        assert_eq!(Losses::of(&trace, false).silent(&trace, 0, &lost), None);
    }

    #[test]
    fn a_run_may_be_lost_with_its_node_where_its_record_was_not_taken() {
        let mut trace = silenced();
        let ask = |trace: &Trace| {
            let mut started = trace.events.iter().filter_map(|event| match event.what {
                What::Started(ask) => Some((event.at, ask)),
                _ => None,
            });
            started.next().unwrap()
        };
        let (at, ask) = ask(&trace);
        let excused = |trace: &Trace, apart| Losses::of(trace, apart).excuse_run(at, ask);
        assert!(!excused(&trace, false) && !excused(&trace, true));
        trace.events.retain(|event| !matches!(event.what, What::Stopped { .. }));
        assert!(!excused(&trace, false) && excused(&trace, true));
        let mut withheld = trace.events[0];
        withheld.what = What::RecordsAway(0);
        trace.events.insert(0, withheld);
        assert!(excused(&trace, false));
    }
}
