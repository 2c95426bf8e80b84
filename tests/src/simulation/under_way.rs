//! Which runs of a user's jobs are under way, by what their nodes tell.

use std::collections::{BTreeMap, BTreeSet};

use tidelock::RunId;

use super::event::{Life, What};
use super::log::Trace;

/// A run that has not ended, or whose code goes on.
struct Run {
    id: RunId,
    life: Life,
    /// When its code ends that cannot be stopped.
    until: Option<u64>,
    /// Another one was started while its node stood still.
    overtaken: bool,
}

impl Run {
    fn is_at_work(&self, at: u64) -> bool {
        self.until.is_none_or(|until| at < until)
    }
}

/// When two runs of a job were under way at a time, on nodes that were not standing still.
pub(super) fn overlap(trace: &Trace, blocking_us: u64) -> Option<u64> {
    let records = trace.left.iter().flat_map(|left| &left.records);
    // Only code on a thread can go on when its run is over.
    let goes_on = records.filter(|record| record.still_running).map(|record| record.run_id);
    let goes_on: BTreeSet<RunId> = goes_on.collect();
    let mut open: BTreeMap<usize, Vec<Run>> = BTreeMap::new();
    let mut frozen: BTreeSet<Life> = BTreeSet::new();
    for event in &trace.events {
        let at = event.at;
        match event.what {
            What::Frozen(life) => {
                frozen.insert(life);
            }
            What::Thawed(life) => {
                frozen.remove(&life);
                if open.values_mut().any(|runs| go_on(runs, life, &frozen, at)) {
                    return Some(at);
                }
            }
            What::Killed(life) => {
                open.values_mut().for_each(|runs| runs.retain(|run| run.life != life));
            }
            What::Started(ask) => {
                let runs = open.entry(ask.job).or_default();
                runs.retain(|run| run.is_at_work(at));
                for run in runs.iter_mut() {
                    if !frozen.contains(&run.life) {
                        return Some(at);
                    }
                    run.overtaken = true;
                }
                let until = goes_on.contains(&ask.run).then(|| at.saturating_add(blocking_us));
                runs.push(Run { id: ask.run, life: ask.life, until, overtaken: false });
            }
            What::Finished { job, run, .. } if !goes_on.contains(&run) => {
                open.entry(job).or_default().retain(|other| other.id != run);
            }
            _ => {}
        }
    }
    None
}

/// A node goes on: whether one of its runs does beside another one. What was overtaken is dropped
/// before that, but for code that cannot be stopped.
fn go_on(runs: &mut Vec<Run>, life: Life, frozen: &BTreeSet<Life>, at: u64) -> bool {
    let is_dropped = |run: &Run| run.life == life && run.overtaken && run.until.is_none();
    runs.retain(|run| run.is_at_work(at) && !is_dropped(run));
    let awake = runs.iter().filter(|run| !frozen.contains(&run.life)).count();
    awake > 1 && runs.iter().any(|run| run.life == life)
}
