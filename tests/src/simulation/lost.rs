//! Ticks of a user's jobs that were due and did not run, of which no record tells.

use jiff::Timestamp;
use tidelock::Occurrence;

use super::event::{Ask, What};
use super::log::Trace;

/// Of the ticks that are owed, those that were not granted and that no record tells of.
pub(super) fn lost(trace: &Trace, job: usize, owed: &[Timestamp]) -> Vec<Timestamp> {
    untold(trace, job, owed, |what| match what {
        What::Granted { ask, .. } => Some(ask),
        _ => None,
    })
}

/// Of the ticks that are owed, those that were not started and that no record tells of as ticks
/// that did not run: `lost` ones, and those that were granted to no avail.
pub(super) fn not_started(trace: &Trace, job: usize, owed: &[Timestamp]) -> Vec<Timestamp> {
    untold(trace, job, owed, |what| match what {
        What::Started(ask) => Some(ask),
        _ => None,
    })
}

fn untold(
    trace: &Trace,
    job: usize,
    owed: &[Timestamp],
    taken: impl Fn(What) -> Option<Ask>,
) -> Vec<Timestamp> {
    let mut left = owed.to_vec();
    let of_job = trace.events.iter().filter_map(|event| taken(event.what));
    let of_job = of_job.filter(|ask| ask.job == job);
    let mut taken: Vec<_> = of_job.filter_map(|ask| ask.tick.map(Occurrence::at)).collect();
    taken.sort_unstable();
    left.retain(|tick| taken.binary_search(tick).is_err());
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
