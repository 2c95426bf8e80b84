//! Once per tick, by tokens that grow, and never before its time.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::finding::{Finding, Promise};
use super::story::{Move, Story};
use crate::simulation::event::What;

/// How far ahead of the backend's clock a tick may be granted.
const MAX_AHEAD_US: u64 = 1_000_000;

/// How far the clocks of nodes that keep time are apart at most.
const CLOCKS_US: u64 = 2_500_000;

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
    // Where there is no clock, real backends alone hold back what is far ahead.
    let bounded = story.plan.store.clock || story.plan.real.is_some();
    let (mut mark, mut epoch) = (None, 0);
    for moved in &story.moves[job] {
        let tick = moved.tick;
        if moved.epoch > epoch {
            // An operator took it away.
            (mark, epoch) = (None, moved.epoch);
        }
        let wrong = if mark >= Some(tick) {
            Some(format!("the mark went from {mark:?} to {tick}"))
        } else if moved.previous != mark {
            Some(format!("the mark was {mark:?}, and {:?} was told", moved.previous))
        } else if bounded && story.since_start(tick.at()) > moved.at + ahead {
            Some(format!("{tick} was taken too early"))
        } else {
            let before = tick.at() - SignedDuration::from_millis(1);
            let next = story.schedule(job, moved.ask.edited).next_after(before);
            if next != Some(tick.at()) {
                Some(format!("{tick} is no tick"))
            } else if looks_back(story, moved) {
                Some(format!("{tick} is older than the schedule it is of"))
            } else {
                None
            }
        };
        if let Some(wrong) = wrong {
            findings.push(Finding::new(Promise::OncePerTick, moved.at, format!("{id}: {wrong}")));
        }
        mark = mark.max(Some(tick));
    }
}

/// Where the mark is of the job's other schedule, a node looks only forward, from when it had its own.
fn looks_back(story: &Story<'_>, moved: &Move) -> bool {
    let Some(asked) = story.runs.get(&moved.ask.run).and_then(|run| run.asked_at) else {
        return false;
    };
    let edited = moved.previous.is_some() && !moved.same_schedule;
    let since = story.registered(&moved.ask, asked).saturating_sub(CLOCKS_US);
    edited
        && story.keeps_time(story.lives[moved.ask.life].seat)
        && story.since_start(moved.tick.at()) < since
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
        let granted = story.grants[handler.job].iter().find(|grant| {
            let same = grant.ask.run == handler.run && grant.token == handler.token;
            same && grant.ask.tick == handler.tick && grant.at <= event.at
        });
        let Some(grant) = granted else {
            wrong("a handler was called without a grant");
            continue;
        };
        // Where an operator has taken the mark away, ticks may run again.
        let tick = handler.tick.map(|tick| (handler.job, tick, grant.epoch));
        if tick.is_some_and(|tick| !ticks.insert(tick)) {
            wrong("a tick was run twice");
        }
    }
}
