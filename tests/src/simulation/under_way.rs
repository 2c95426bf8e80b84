//! Which runs of a user's jobs are under way, by what their nodes tell.

use std::collections::{BTreeMap, BTreeSet};

use tidelock::RunId;

use super::event::{Life, What};
use super::log::Trace;

/// A run that has not ended, or whose code goes on.
struct Run {
    id: RunId,
    life: Life,
    /// When its code ends, where that is known.
    until: u64,
}

/// When a run was started while another one of its job was under way, on a node that was not
/// standing still.
pub(super) fn overlap(trace: &Trace, blocking_us: u64) -> Option<u64> {
    let records = trace.left.iter().flat_map(|left| &left.records);
    // Only code on a thread can go on when its run is over.
    let goes_on = records.filter(|record| record.still_running).map(|record| record.run_id);
    let goes_on: BTreeSet<RunId> = goes_on.collect();
    let mut open: BTreeMap<usize, Vec<Run>> = BTreeMap::new();
    let mut away: BTreeSet<Life> = BTreeSet::new();
    for event in &trace.events {
        match event.what {
            What::Frozen(life) | What::Killed(life) => {
                away.insert(life);
            }
            What::Thawed(life) => {
                away.remove(&life);
                // A run that was overtaken meanwhile is dropped before it goes on.
                open.values_mut().for_each(|runs| runs.retain(|run| run.life != life));
            }
            What::Started(ask) => {
                let runs = open.entry(ask.job).or_default();
                runs.retain(|run| event.at < run.until);
                if runs.iter().any(|run| !away.contains(&run.life)) {
                    return Some(event.at);
                }
                let until = if goes_on.contains(&ask.run) {
                    event.at.saturating_add(blocking_us)
                } else {
                    u64::MAX
                };
                runs.push(Run { id: ask.run, life: ask.life, until });
            }
            What::Finished { job, run, .. } if !goes_on.contains(&run) => {
                open.entry(job).or_default().retain(|other| other.id != run);
            }
            _ => {}
        }
    }
    None
}
