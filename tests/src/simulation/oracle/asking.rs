//! Who has stopped asks for nothing new, and neither does who has no such job; who asks again for
//! what is theirs is told so.

use std::collections::BTreeSet;

use super::finding::{Finding, Promise};
use super::story::{Move, Story};
use crate::simulation::event::{Answered, Ask, What};

pub(super) fn check(story: &Story<'_>, findings: &mut Vec<Finding>) {
    let mut asked = BTreeSet::new();
    let mut stopped = BTreeSet::new();
    let mut removed = BTreeSet::new();
    let mut movers = vec![None; story.trace.jobs.len()];
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
            }
            What::Granted { ask, .. } | What::Consumed { ask, .. } if ask.tick.is_some() => {
                movers[ask.job] = Some(ask.run);
            }
            What::Heard(ask, Answered::Taken)
                if movers[ask.job] == Some(ask.run) && !may_be_past(story, ask, event.at) =>
            {
                let text = format!("{ask:?} hears that others have taken what it has");
                findings.push(Finding::new(Promise::NothingSilent, event.at, text));
            }
            What::Asked(ask) => {
                let first = asked.insert(ask.run);
                let tick = ask.tick.is_some();
                let text = if first && stopped.contains(&ask.life) {
                    "asks for something new after it was stopped"
                } else if first && tick && removed.contains(&(ask.life, ask.job)) {
                    "asks for a tick of a job that was taken out"
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

/// Whether another may have moved the mark on by then, of whom it was heard later.
fn may_be_past(story: &Story<'_>, ask: Ask, at: u64) -> bool {
    let later = |moved: &&Move| moved.at >= at && Some(moved.tick) > ask.tick;
    story.moves[ask.job].iter().filter(later).any(|moved| story.since(&moved.ask, moved.at) < at)
}
