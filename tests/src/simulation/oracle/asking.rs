//! Who has stopped asks for nothing new, and neither does who has no such job; of one job a node
//! asks for one tick after the other; who asks again for what is theirs is told so.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, Promise};
use super::story::{Move, Story};
use crate::simulation::event::{Answered, Ask, What};

/// How far ahead the clocks of nodes that keep time are at most.
const AHEAD_US: u64 = 1_300_000;

pub(super) fn check(story: &Story<'_>, findings: &mut Vec<Finding>) {
    let mut asked = BTreeSet::new();
    let mut stopped = BTreeSet::new();
    let mut removed = BTreeSet::new();
    let mut edited = BTreeMap::new();
    // The tick that each node asked for last. Where a job was put back it may ask for two.
    let (mut turn, mut added) = (BTreeMap::new(), BTreeSet::new());
    let mut movers = vec![None; story.trace.jobs.len()];
    let mut cleared = vec![0; story.trace.jobs.len()];
    for event in &story.trace.events {
        match event.what {
            What::Stopping(life) | What::Dropped(life) | What::Killed(life) => {
                stopped.insert(life);
            }
            What::Removed(life, job) => {
                removed.insert((life, job));
            }
            What::Added(life, job) => {
                removed.remove(&(life, job));
                added.insert((life, job));
            }
            What::Granted { ask, .. } | What::Consumed { ask, .. } if ask.tick.is_some() => {
                movers[ask.job] = Some(ask.run);
            }
            What::Forced { job, mark: true, .. } => {
                (movers[job], cleared[job]) = (None, event.at);
            }
            What::Edited(life, job) => {
                edited.insert((life, job), event.at);
            }
            What::Heard(ask, Answered::Taken)
                if movers[ask.job] == Some(ask.run)
                    && !may_be_past(story, ask, event.at)
                    // The answer may be older than the mark that was taken away.
                    && !was_asked_before(story, ask, cleared[ask.job]) =>
            {
                let text = format!("{ask:?} hears that others have taken what it has");
                findings.push(Finding::new(Promise::NothingSilent, event.at, text));
            }
            What::Asked(ask) => {
                let first = asked.insert(ask.run);
                let (tick, of) = (ask.tick.is_some(), (ask.life, ask.job));
                if first && tick {
                    turn.insert(of, ask.run);
                }
                let text = if first && stopped.contains(&ask.life) {
                    "asks for something new after it was stopped"
                } else if first && tick && removed.contains(&of) {
                    "asks for a tick of a job that was taken out"
                } else if first && is_outdated(story, &ask, edited.get(&of)) {
                    "asks for a tick of a schedule that is not the job's"
                } else if tick && turn.get(&of) != Some(&ask.run) && !added.contains(&of) {
                    "asks again for a tick when it has asked for a later one"
                } else {
                    continue;
                };
                let text = format!("{} {text}: {ask:?}", story.life(ask.life));
                findings.push(Finding::new(Promise::Stopped, event.at, text));
            }
            _ => {}
        }
    }
}

/// Whether a run was asked for by then.
fn was_asked_before(story: &Story<'_>, ask: Ask, at: u64) -> bool {
    story.runs.get(&ask.run).and_then(|run| run.asked_at).is_some_and(|asked| asked <= at)
}

/// Whether another may have moved the mark on by then, of whom it was heard later.
fn may_be_past(story: &Story<'_>, ask: Ask, at: u64) -> bool {
    let later = |moved: &&Move| moved.at >= at && Some(moved.tick) > ask.tick;
    story.moves[ask.job].iter().filter(later).any(|moved| story.since(&moved.ask, moved.at) < at)
}

/// Whether a tick is of the schedule that the job had before or has later on that node. One that
/// was due already when it was replaced may still be asked for.
fn is_outdated(story: &Story<'_>, ask: &Ask, edited: Option<&u64>) -> bool {
    let Some(tick) = ask.tick else { return false };
    match (ask.edited, edited) {
        (true, None) => true,
        (false, Some(&at)) => {
            let keeps_time = story.keeps_time(story.lives[ask.life].seat);
            keeps_time && story.since_start(tick.at()) > at + AHEAD_US
        }
        _ => false,
    }
}
