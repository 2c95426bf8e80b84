//! Of the ticks that nobody was up for, a node takes the newest that the misfire policy asks for,
//! oldest first.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use tidelock::{Misfire, RunId};

use super::finding::{Finding, Promise};
use super::story::{Move, Story};
use crate::simulation::event::What;
use crate::simulation::when::ticks;

/// How far a clock that keeps time is off at most.
const OFF_US: u64 = 1_300_000;

pub(super) fn check(story: &Story<'_>, findings: &mut Vec<Finding>) {
    let first = first_asks(story);
    for (job, moves) in story.moves.iter().enumerate() {
        let most = match story.plan.jobs[job].misfire {
            Misfire::All { max } => usize::try_from(max).unwrap_or(usize::MAX).max(1),
            // The newest, to be run or told of as skipped.
            _ => 1,
        };
        // Only ticks after a mark that was there when a node looked are missed.
        for pair in moves.windows(2) {
            let (before, moved) = (&pair[0], &pair[1]);
            let Some(&(began, asked)) = first.get(&moved.ask.run) else { continue };
            let known = moved.same_schedule
                && before.at < began
                && story.keeps_time(story.lives[moved.ask.life].seat);
            if known && let Some(wrong) = wrong(story, moved, most, (began, asked)) {
                let id = &story.trace.jobs[job];
                let text = format!("{id}: {:?}: {wrong}", moved.ask);
                findings.push(Finding::new(Promise::Liveness, moved.at, text));
            }
        }
    }
}

/// The first tick that a node asks for since it has a job, when it began with it and when it asked.
fn first_asks(story: &Story<'_>) -> BTreeMap<RunId, (u64, u64)> {
    let (mut began, mut first) = (BTreeMap::new(), BTreeMap::new());
    let mut asked = std::collections::BTreeSet::new();
    for event in &story.trace.events {
        match event.what {
            What::Up(life) => {
                (0..story.trace.jobs.len()).for_each(|job| {
                    began.insert((life, job), event.at);
                });
            }
            What::Added(life, job) => {
                began.insert((life, job), event.at);
            }
            // What stands still meanwhile, or begins anew, is another matter.
            What::Edited(life, job) => {
                began.remove(&(life, job));
            }
            What::Frozen(life) => began.retain(|of, _| of.0 != life),
            // A request that is repeated began before.
            What::Asked(ask) if ask.tick.is_some() && asked.insert(ask.run) => {
                if let Some(at) = began.remove(&(ask.life, ask.job)) {
                    first.insert(ask.run, (at, event.at));
                }
            }
            _ => {}
        }
    }
    first
}

/// What is wrong with where a node begins that has found ticks missed.
fn wrong(
    story: &Story<'_>,
    moved: &Move,
    most: usize,
    (began, asked): (u64, u64),
) -> Option<String> {
    let job = moved.ask.job;
    let schedule = story.schedule(job, moved.ask.edited);
    let (tick, millisecond) = (moved.tick.at(), SignedDuration::from_millis(1));
    let splay = story.plan.jobs[job].splay_ms * 1_000;
    // Splayed by up to so much.
    let from_here = |due: u64| ticks(schedule, tick - millisecond, story.instant(due)).len();
    let at_least = from_here(began.saturating_sub(splay + OFF_US));
    if at_least > most {
        return Some(format!("of at least {at_least} missed it takes more than {most}"));
    }
    let at_most = from_here(asked + OFF_US);
    let mark = moved.previous?.at();
    let missed = story.instant(began.saturating_sub(splay + 2 * OFF_US)).min(tick - millisecond);
    // What was too late to start is no part of the backlog.
    let within = story.plan.jobs[job].start_within_ms.unwrap_or(3_600_000) * 1_000;
    let in_time = story.instant((asked + splay + OFF_US).saturating_sub(within));
    let passed = ticks(schedule, mark.max(in_time), missed);
    // A single one that fell due while the node was up is not missed: it was there for it, whatever
    // it waited for, such as a place to run in.
    let up = story.lives[moved.ask.life].up;
    let is_watched = passed.len() == 1 && passed.iter().all(|tick| story.since_start(*tick) > up);
    (!passed.is_empty() && !is_watched && at_most < most)
        .then(|| format!("{} missed are passed over, and {at_most} of {most} taken", passed.len()))
}
