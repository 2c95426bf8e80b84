//! What the backend did, from what nodes heard of it and from what is left.
//!
//! A grant happened between its asking and the moment when somebody heard of it. It is put at the
//! latest of these moments that leaves grants in the order of their tokens and marks in the order
//! of their ticks. Where there is none, it stays where it was heard, and the oracle finds it out of
//! order.

use std::collections::BTreeMap;

use tidelock::{Mark, Moved, Occurrence, RunId, SkipReason};

use crate::simulation::event::{Ask, Event, What};
use crate::simulation::log::{Left, Trace};

/// A grant or a consumption.
#[derive(Clone, Copy)]
struct Step {
    what: What,
    ask: Ask,
    token: Option<u64>,
    previous: Option<Occurrence>,
    /// Whether it is known where the mark was before.
    complete: bool,
    /// The first and the last place in the log at which it may have happened.
    first: usize,
    last: usize,
}

type Asked = BTreeMap<RunId, (usize, Ask)>;

/// Puts what is known of grants and consumptions in order, and adds those that nobody heard of and
/// that left something behind.
pub(super) fn infer(trace: &mut Trace) {
    let asked = asked(&trace.events);
    let mut steps = Vec::new();
    for job in 0..trace.jobs.len() {
        let mut of_job = heard(&trace.events, job, &asked);
        left_behind(&trace.left[job], trace.events.len(), &asked, &mut of_job);
        between(trace.events.len(), &asked, &mut of_job);
        order(&mut of_job);
        chain(&mut of_job);
        steps.extend(of_job);
    }
    // What falls on one place keeps its order.
    steps.sort_by_key(|step| step.last);
    let mut steps = steps.into_iter().peekable();
    let end = trace.events.last().map_or(0, |event| event.at);
    let mut events = Vec::with_capacity(trace.events.len() + 8);
    for (place, &event) in trace.events.iter().enumerate() {
        while let Some(step) = steps.next_if(|step| step.last <= place) {
            events.push(Event { at: event.at, what: step.what });
        }
        if step_of(event.what).is_none() {
            events.push(event);
        }
    }
    events.extend(steps.map(|step| Event { at: end, what: step.what }));
    trace.events = events;
}

/// What was asked for, and where first.
fn asked(events: &[Event]) -> Asked {
    let mut asked = Asked::new();
    for (place, event) in events.iter().enumerate() {
        if let What::Asked(ask) = event.what {
            asked.entry(ask.run).or_insert((place, ask));
        }
    }
    asked
}

fn step_of(what: What) -> Option<(Ask, Option<u64>, Option<Occurrence>)> {
    match what {
        What::Granted { ask, token, previous } => Some((ask, Some(token), previous)),
        What::Consumed { ask, previous, .. } => Some((ask, None, previous)),
        _ => None,
    }
}

fn step(what: What, asked: &Asked, complete: bool, last: usize) -> Option<Step> {
    let (ask, token, previous) = step_of(what)?;
    let (first, _) = asked.get(&ask.run)?;
    Some(Step { what, ask, token, previous, complete, first: *first, last })
}

fn heard(events: &[Event], job: usize, asked: &Asked) -> Vec<Step> {
    let of_job = |what: &What| step_of(*what).is_some_and(|(ask, ..)| ask.job == job);
    let all = events.iter().enumerate().filter(|(_, event)| of_job(&event.what));
    all.filter_map(|(place, event)| step(event.what, asked, true, place)).collect()
}

/// What runs left of which no node heard: a record, an open run, the mark.
fn left_behind(left: &Left, end: usize, asked: &Asked, steps: &mut Vec<Step>) {
    let records = left.records.iter().filter(|record| !record.state.is_tick_not_run());
    let records = records.filter_map(|record| Some((record.run_id, record.token?)));
    let open = left.state.open_runs.iter().map(|run| (run.run_id, run.token));
    for (run, token) in records.chain(open) {
        let token = token.get();
        let is_it = |step: &Step| step.ask.run == run && step.token == Some(token);
        if steps.iter().any(is_it) {
            continue;
        }
        let granted = asked.get(&run).map(|&(_, ask)| What::Granted { ask, token, previous: None });
        steps.extend(granted.and_then(|what| step(what, asked, false, end)));
    }
    if let Some(mark) = &left.state.mark
        && !steps.iter().any(|step| step.ask.tick == Some(mark.point.occurrence))
        && let Some(&(_, ask)) = asked.get(&mark.run_id)
    {
        steps.extend(step(moved(mark, ask), asked, true, end));
    }
}

/// What a mark tells of the request that moved it.
pub(crate) fn moved(mark: &Mark, ask: Ask) -> What {
    let previous = mark.previous.map(|mark| mark.occurrence);
    match mark.moved {
        Moved::Granted(token) => What::Granted { ask, token: token.get(), previous },
        Moved::Consumed { reason, blocked_by } => {
            What::Consumed { ask, reason, blocked_by, previous }
        }
        _ => What::Consumed { ask, reason: UNKNOWN, blocked_by: None, previous },
    }
}

/// In place of a reason that nobody heard: one that no backend here gives.
pub(crate) const UNKNOWN: SkipReason = SkipReason::Unreplicated;

/// Moves of the mark of which the next one alone tells.
fn between(end: usize, asked: &Asked, steps: &mut Vec<Step>) {
    let known = |steps: &[Step], tick| steps.iter().any(|step| step.ask.tick == Some(tick));
    for index in 0..steps.len() {
        let Step { previous: Some(tick), ask: Ask { job, .. }, complete: true, .. } = steps[index]
        else {
            continue;
        };
        if known(steps, tick) {
            continue;
        }
        // Who asked first: one that asked behind this move did not move it there.
        let asks = asked.values().filter(|(_, ask)| ask.job == job && ask.tick == Some(tick));
        if let Some(&(_, ask)) = asks.min_by_key(|(first, _)| first) {
            let what = What::Consumed { ask, reason: UNKNOWN, blocked_by: None, previous: None };
            steps.extend(step(what, asked, false, end));
        }
    }
}

/// Whether one came before the other.
fn before(one: &Step, other: &Step) -> bool {
    match (one.token.zip(other.token), one.ask.tick.zip(other.ask.tick)) {
        (Some((one, other)), _) => one < other,
        (None, Some((one, other))) => one < other,
        (None, None) => false,
    }
}

/// Moves each to the latest place before those that it came before.
fn order(steps: &mut [Step]) {
    loop {
        let mut moved = false;
        for one in 0..steps.len() {
            for other in 0..steps.len() {
                let to = steps[other].last;
                let late = to < steps[one].last && to >= steps[one].first;
                if late && before(&steps[one], &steps[other]) {
                    steps[one].last = to;
                    moved = true;
                }
            }
        }
        if !moved {
            break;
        }
    }
    steps.sort_by_key(|step| step.last);
    for _ in 0..steps.len() {
        for at in 1..steps.len() {
            let same = steps[at - 1].last == steps[at].last;
            if same && before(&steps[at], &steps[at - 1]) {
                steps.swap(at - 1, at);
            }
        }
    }
}

/// Fills in where the mark was where nobody was told.
fn chain(steps: &mut [Step]) {
    let mut mark = None;
    for step in steps {
        if !step.complete
            && let What::Granted { previous, .. } | What::Consumed { previous, .. } = &mut step.what
        {
            *previous = mark;
        }
        mark = mark.max(step.ask.tick);
    }
}
