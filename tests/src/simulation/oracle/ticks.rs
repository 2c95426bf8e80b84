//! Every tick is run or has a reason, told once in the fleet.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use tidelock::{Record, RunId, RunState, SkipReason};

use super::finding::{Finding, Promise};
use super::story::{Grant, Move, Story};
use super::unknown::{may_be_unheard, must_be_told};
use crate::simulation::real::UNKNOWN;
use crate::simulation::when::ticks;

/// Ticks in one state: how many have to be told of, may be, and are.
#[derive(Debug, Default)]
struct Account {
    due: u64,
    may: u64,
    told: u64,
    /// Somewhere the ticks were too many to be counted.
    uncounted: bool,
}

/// How far the clocks of nodes may be apart.
const MAX_AHEAD_US: u64 = 1_000_000;

/// How far back a node with a clock that is off may begin to count before a first mark.
const LOOK_BACK: SignedDuration = SignedDuration::from_secs(300);

pub(super) fn check(story: &Story<'_>, findings: &mut Vec<Finding>) {
    for job in 0..story.moves.len() {
        check_job(story, job, findings);
    }
}

fn check_job(story: &Story<'_>, job: usize, findings: &mut Vec<Finding>) {
    let id = &story.trace.jobs[job];
    let mut accounts: BTreeMap<String, Account> = BTreeMap::new();
    let records: Vec<&Record> = story.trace.left[job]
        .records
        .iter()
        .filter(|record| record.state.is_tick_not_run() && record.token.is_none())
        .collect();
    for record in &records {
        let Some(span) = record.ticks else { continue };
        let account = accounts.entry(record.state.to_string()).or_default();
        account.told += span.count;
        account.uncounted |= span.at_least;
        if let Some(text) = not_a_span(story, job, record) {
            let at = story.since_start(span.last.at());
            findings.push(silent(at, format!("{id}: {text}: {record:?}")));
        }
    }
    for moved in &story.moves[job] {
        debts(story, job, moved, &records, &mut accounts, findings);
    }
    for (state, account) in accounts {
        let Account { due, may, told, uncounted } = account;
        if !uncounted && !(due..=may).contains(&told) {
            let text = format!("{id}: {told} ticks {state} are told of, not {due} to {may}");
            findings.push(silent(story.end_at(), text));
        }
    }
}

fn silent(at: u64, text: String) -> Finding {
    Finding::new(Promise::NothingSilent, at, text)
}

/// Notes which ticks did not run by a move of the mark, and finds those that nothing tells of.
fn debts(
    story: &Story<'_>,
    job: usize,
    moved: &Move,
    records: &[&Record],
    accounts: &mut BTreeMap<String, Account>,
    findings: &mut Vec<Finding>,
) {
    let id = &story.trace.jobs[job];
    let run = story.runs.get(&moved.ask.run);
    if run.is_none_or(|run| run.heard.is_none()) && !may_be_unheard(story, moved) {
        let text = format!("{id}: {:?} was answered and not asked about again", moved.ask);
        findings.push(silent(moved.at, text));
    }
    if matches!(moved.consumed, Some((SkipReason::Overlap, _))) && is_hasty(story, moved) {
        let text = format!("{id}: {:?} was skipped before slower nodes came to it", moved.ask);
        findings.push(silent(moved.at, text));
    }
    if let Some((SkipReason::Overlap, behind)) = moved.consumed
        && !was_held(story, job, moved, behind)
    {
        let text = format!("{id}: {:?} was skipped behind no run: {behind:?}", moved.ask);
        findings.push(silent(moved.at, text));
    }
    let before = moved.tick.at() - SignedDuration::from_millis(1);
    let after = match moved.previous {
        Some(mark) => mark.at(),
        None => story.trace.start - LOOK_BACK,
    };
    let passed = ticks(story.schedule(job, moved.ask.edited), after, before);
    // Of a run that was asked for again after the mark was taken away, one answer alone is told of.
    let again = |other: &Move| other.ask.run == moved.ask.run && other.epoch != moved.epoch;
    let superseded = story.epochs[job] > 0 && story.moves[job].iter().any(again);
    let missed = passed.into_iter().map(|tick| (RunState::Missed, tick, false));
    let consumed = moved.consumed.map(|(why, _)| (RunState::Skipped(why), moved.tick.at(), true));
    for (state, tick, consumed) in missed.chain(consumed) {
        if state == RunState::Skipped(UNKNOWN) {
            // Whatever the reason: who tells of it knows.
            let told = told_as(records, tick);
            for state in &told {
                accounts.entry(state.clone()).or_default().may += 1;
            }
            if told.is_empty() && must_be_told(story, job, moved, consumed) {
                let text = format!("{id}: nothing tells why {tick} was skipped, {:?}", moved.ask);
                findings.push(silent(moved.at, text));
            }
            continue;
        }
        let account = accounts.entry(state.to_string()).or_default();
        account.may += 1;
        // From when on ticks before the first mark count, its mover alone knows; and ticks passed
        // over may still be told of, where the backend has it.
        let unsure = !consumed
            && (moved.previous.is_none()
                || !moved.same_schedule
                || was_passed_before(story, job, moved.epoch, tick)
                || is_left(story, job, moved));
        if unsure || superseded || !must_be_told(story, job, moved, consumed) {
            continue;
        }
        account.due += 1;
        let tells = |record: &&&Record| {
            let span = record.ticks.is_some_and(|it| it.first.at() <= tick && tick <= it.last.at());
            span && record.state == state
        };
        if !records.iter().any(|record| tells(&record)) {
            let text = format!("{id}: nothing tells of {tick} {state}, {:?}", moved.ask);
            findings.push(silent(moved.at, text));
        }
    }
}

/// As what a tick may have been skipped, by records whose ticks it lies between.
fn told_as(records: &[&Record], tick: Timestamp) -> BTreeSet<String> {
    let spans = |record: &&&Record| {
        let skipped = matches!(record.state, RunState::Skipped(_));
        skipped && record.ticks.is_some_and(|it| it.first.at() <= tick && tick <= it.last.at())
    };
    records.iter().filter(spans).map(|record| record.state.to_string()).collect()
}

/// Whether the backend still has it that a move passed over ticks: the history of a job that a node
/// does not have cannot tell which.
fn is_left(story: &Story<'_>, job: usize, moved: &Move) -> bool {
    let state = &story.trace.left[job].state;
    let of_mark = state.mark.iter().map(|mark| &mark.untold);
    let mut left = of_mark.chain(state.open_runs.iter().map(|run| &run.untold));
    left.any(|untold| untold.passed.iter().any(|passed| passed.run_id == moved.ask.run))
}

/// Where the backend has no clock that says whether a tick is there, a node that finds the lock held
/// waits for as long as clocks may be apart before it has the tick skipped.
fn is_hasty(story: &Story<'_>, moved: &Move) -> bool {
    let held = story.runs.get(&moved.ask.run).and_then(|run| run.held);
    !story.plan.store.clock && held.is_none_or(|held| moved.at < held + MAX_AHEAD_US)
}

/// Whether that run held the lock: it had not been released, and no other was granted after it.
fn was_held(story: &Story<'_>, job: usize, moved: &Move, behind: Option<RunId>) -> bool {
    let grants = &story.grants[job];
    let since = story.since(&moved.ask, moved.at);
    grants.iter().any(|held| {
        let granted = story.since(&held.ask, held.at);
        let before = granted <= moved.at && held.end().is_none_or(|at| at >= since);
        let newer = |other: &Grant| other.token > held.token && other.at < since;
        before && Some(held.ask.run) == behind && !grants.iter().any(newer)
    })
}

/// Whether the mark had been at a tick or past it before an operator took it away.
fn was_passed_before(story: &Story<'_>, job: usize, epoch: usize, tick: Timestamp) -> bool {
    let moves = story.moves[job].iter().take_while(|moved| moved.epoch < epoch);
    moves.into_iter().any(|moved| moved.tick.at() >= tick)
}

/// When an operator has taken the mark away, its ticks count anew: one that was told of may run, and
/// one that ran may be passed over by those that come after it.
fn counts_anew(story: &Story<'_>, moved: &Move) -> bool {
    story.epochs[moved.ask.job] > 0
}

/// What is wrong with a row of ticks that did not run.
fn not_a_span(story: &Story<'_>, job: usize, record: &Record) -> Option<&'static str> {
    let span = record.ticks?;
    let before = span.first.at() - SignedDuration::from_millis(1);
    let is_of = |edited: bool| {
        let all = ticks(story.schedule(job, edited), before, span.last.at());
        let ends = all.first() == Some(&span.first.at()) && all.last() == Some(&span.last.at());
        ends && span.count <= all.len() as u64
    };
    let granted = story.moves[job].iter().any(|moved| {
        let told = (span.first..=span.last).contains(&moved.tick);
        told && moved.consumed.is_none() && !counts_anew(story, moved)
    });
    if !is_of(false) && !is_of(true) {
        Some("these are no ticks")
    } else if granted {
        Some("one of these was granted")
    } else {
        None
    }
}
