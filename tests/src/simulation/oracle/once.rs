//! Once per tick, by tokens that grow, and never before its time.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::finding::{Finding, Promise};
use super::story::Story;
use crate::simulation::event::What;

/// How far ahead of the backend's clock a tick may be granted.
const MAX_AHEAD_US: u64 = 1_000_000;

pub(super) fn check(story: &Story<'_>, findings: &mut Vec<Finding>) {
    for (job, grants) in story.grants.iter().enumerate() {
        let id = &story.trace.jobs[job];
        let mut newest = 0;
        for grant in grants {
            if grant.token <= newest {
                let text = format!("{id}: token {} was granted after {newest}", grant.token);
                findings.push(Finding::new(Promise::TokensGrow, grant.at, text));
            }
            newest = newest.max(grant.token);
        }
        marks(story, job, findings);
    }
    starts(story, findings);
}

/// The mark goes forward alone, from where it was, to ticks of the schedule.
fn marks(story: &Story<'_>, job: usize, findings: &mut Vec<Finding>) {
    let id = &story.trace.jobs[job];
    let ahead = story.plan.real.map_or(MAX_AHEAD_US, |real| real.ahead_ms * 1_000);
    let mut mark = None;
    for moved in &story.moves[job] {
        let tick = moved.tick;
        let wrong = if mark >= Some(tick) {
            Some(format!("the mark went from {mark:?} to {tick}"))
        } else if moved.previous != mark {
            Some(format!("the mark was {mark:?}, and {:?} was told", moved.previous))
        } else if story.since_start(tick.at()) > moved.at + ahead {
            Some(format!("{tick} was taken too early"))
        } else {
            let before = tick.at() - SignedDuration::from_millis(1);
            let next = story.schedules[job].next_after(before);
            (next != Some(tick.at())).then(|| format!("{tick} is no tick"))
        };
        if let Some(wrong) = wrong {
            findings.push(Finding::new(Promise::OncePerTick, moved.at, format!("{id}: {wrong}")));
        }
        mark = mark.max(Some(tick));
    }
}

/// Handlers are called once a tick and once a run, under the token of the grant.
fn starts(story: &Story<'_>, findings: &mut Vec<Finding>) {
    let (mut ticks, mut runs) = (BTreeSet::new(), BTreeSet::new());
    for event in &story.trace.events {
        let What::Began(handler) = event.what else { continue };
        let mut wrong = |text: &str| {
            let text = format!("{} {text}: {handler:?}", story.trace.jobs[handler.job]);
            findings.push(Finding::new(Promise::OncePerTick, event.at, text));
        };
        if !runs.insert(handler.run) {
            wrong("a run was begun twice");
        }
        if handler.tick.is_some_and(|tick| !ticks.insert((handler.job, tick))) {
            wrong("a tick was run twice");
        }
        let granted = story.grants[handler.job].iter().any(|grant| {
            let same = grant.ask.run == handler.run && grant.token == handler.token;
            same && grant.ask.tick == handler.tick && grant.at <= event.at
        });
        if !granted {
            wrong("a handler was called without a grant");
        }
    }
}
