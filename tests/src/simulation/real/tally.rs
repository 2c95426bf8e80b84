//! How it went, in numbers.

use std::collections::BTreeSet;
use std::fmt;

use tidelock::Record;

use crate::simulation::event::{Answered, What};
use crate::simulation::log::Trace;
use crate::simulation::plan::Plan;
use crate::simulation::when::ticks;

/// What happened in one run of a fleet, or in several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Runs whose handlers were called.
    pub runs: usize,
    /// Ticks between the first and the last that was taken, of all jobs.
    pub ticks: usize,
    /// How often something was done to a node or a server.
    pub troubles: usize,
    /// Asks of whose outcome their nodes never heard.
    pub unknown: usize,
    /// Ticks of which no record tells.
    pub silent: usize,
    /// What was found wrong.
    pub findings: usize,
    /// The longest that nothing at all went on, in milliseconds.
    pub stalled_ms: u64,
}

impl Tally {
    /// Counts.
    pub fn of(plan: &Plan, trace: &Trace, findings: usize) -> Self {
        let mut tally = Self { findings, ..Self::default() };
        let (mut open, mut told) = (BTreeSet::new(), BTreeSet::new());
        for event in &trace.events {
            match event.what {
                What::Began(_) => tally.runs += 1,
                What::Killed(_) | What::Frozen(_) | What::Dropped(_) | What::Stopping(_)
                    if event.at >= plan.end_at * 1_000 => {}
                What::Killed(_)
                | What::Frozen(_)
                | What::Dropped(_)
                | What::Stopping(_)
                | What::Cut(_)
                | What::Slow(_)
                | What::LostReplies(..)
                | What::ServerAway(..)
                | What::RecordsAway(_)
                | What::Stepped(..) => tally.troubles += 1,
                What::Stalled(us) => tally.stalled_ms = tally.stalled_ms.max(us / 1_000),
                What::Asked(ask) => drop(open.insert(ask.run)),
                What::Heard(ask, answer) if answer != Answered::Failed => {
                    told.insert(ask.run);
                }
                _ => {}
            }
        }
        tally.unknown = open.difference(&told).count();
        for job in 0..trace.jobs.len() {
            let (ticks, silent) = silent(plan, trace, job);
            tally.ticks += ticks;
            tally.silent += silent;
        }
        tally
    }

    /// The same with another one's added.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        Self {
            runs: self.runs + other.runs,
            ticks: self.ticks + other.ticks,
            troubles: self.troubles + other.troubles,
            unknown: self.unknown + other.unknown,
            silent: self.silent + other.silent,
            findings: self.findings + other.findings,
            stalled_ms: self.stalled_ms.max(other.stalled_ms),
        }
    }
}

/// How many ticks of a job there were between the first and the last that was taken, and of how
/// many of them no record tells.
fn silent(plan: &Plan, trace: &Trace, job: usize) -> (usize, usize) {
    let taken = trace.events.iter().filter_map(|event| match event.what {
        What::Granted { ask, .. } | What::Consumed { ask, .. } if ask.job == job => ask.tick,
        _ => None,
    });
    let taken: BTreeSet<_> = taken.collect();
    let (Some(first), Some(last), Ok(schedule)) =
        (taken.first(), taken.last(), plan.jobs[job].when.schedule())
    else {
        return (0, 0);
    };
    let before = first.at() - jiff::SignedDuration::from_millis(1);
    let all = ticks(&schedule, before, last.at());
    let tells = |record: &Record, tick| match record.ticks {
        Some(ticks) => (ticks.first.at()..=ticks.last.at()).contains(tick),
        None => record.occurrence.is_some_and(|it| it.at() == *tick),
    };
    let records = &trace.left[job].records;
    let silent = all.iter().filter(|tick| !records.iter().any(|record| tells(record, *tick)));
    (all.len(), silent.count())
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, ticks, troubles, unknown, silent, findings, stalled_ms } = self;
        write!(
            f,
            "{runs} runs, {ticks} ticks, {troubles} troubles, {unknown} unknown outcomes, {silent} \
             silent ticks, {findings} findings (longest stall {stalled_ms} ms)"
        )
    }
}
