//! Every granted run has exactly one final record, which tells what happened.

use std::collections::BTreeMap;

use tidelock::{Record, RunId, RunState, SkipReason};

use super::finding::{Finding, Promise};
use super::story::{Grant, RunStory, Story};
use crate::simulation::event::{Answered, End, Life};
use crate::simulation::plan::JobPlan;

pub(super) fn check(story: &Story<'_>, findings: &mut Vec<Finding>) {
    for (job, left) in story.trace.left.iter().enumerate() {
        let mut of_run: BTreeMap<RunId, &Record> = BTreeMap::new();
        let end = story.end_at();
        for record in &left.records {
            if of_run.insert(record.run_id, record).is_some() {
                findings.push(wrong(end, format!("two records of one run: {record:?}")));
            }
            if !record.state.is_final() {
                findings.push(wrong(end, format!("a record that is not final: {record:?}")));
            }
            if !story.runs.contains_key(&record.run_id) && record.token.is_some() {
                findings.push(wrong(end, format!("a record of a run never granted: {record:?}")));
            }
        }
        for grant in &story.grants[job] {
            // A manual run that is asked for again may be granted again, under another token.
            let again = |other: &Grant| other.ask.run == grant.ask.run && other.token > grant.token;
            if story.grants[job].iter().any(again) {
                continue;
            }
            match of_run.get(&grant.ask.run) {
                None if may_be_lost(story, grant) => {}
                None => {
                    let text = format!("no record of {:?}, token {}", grant.ask, grant.token);
                    findings.push(wrong(grant.at, text));
                }
                Some(record) => {
                    if let Some(text) = mistaken(story, grant, record) {
                        findings.push(wrong(grant.at, format!("{text}: {record:?}")));
                    }
                }
            }
        }
    }
}

fn wrong(at: u64, text: String) -> Finding {
    Finding::new(Promise::OneRecord, at, text)
}

/// A record that the store did not take is lost with the node that had it in hand, when its lock
/// was released before: the release does not wait for it.
fn may_be_lost(story: &Story<'_>, grant: &Grant) -> bool {
    let life = &story.lives[grant.ask.life];
    let orderly = story.ended_in_order(grant.ask.life);
    let withheld = life.withheld().next();
    let away = withheld.is_some_and(|(at, _)| grant.released.is_none_or(|end| end >= at));
    let unheard = story.runs.get(&grant.ask.run).is_none_or(never_heard);
    let closed = !story.plan.store.apart || !is_closed_by_nobody(story, grant);
    // A node that heard of its grant when the lock had gone closes the run before its record is in.
    let answer = story.runs.get(&grant.ask.run).and_then(|run| run.heard).map(|heard| heard.1);
    let expired = story.plan.store.apart && answer == Some(Answered::Expired);
    ((away || expired) && !orderly) || (!closed && (unheard || !orderly))
}

/// Where records are kept apart from locks, a run that its own node did not record is closed by
/// the one that releases the lock next, unless that dies, too.
fn is_closed_by_nobody(story: &Story<'_>, grant: &Grant) -> bool {
    let mut later = story.grants[grant.ask.job].iter().filter(|other| other.token >= grant.token);
    later.any(|closer| may_have_closed(story, closer) && !story.ended_in_order(closer.ask.life))
}

/// Whether a run gave its lock up. When that has expired, this takes out the open runs that were
/// named to it all the same, and is not logged.
fn may_have_closed(story: &Story<'_>, closer: &Grant) -> bool {
    let ttl = story.plan.jobs[closer.ask.job].lock_ttl_ms() * 1_000;
    let life = &story.lives[closer.ask.life];
    // What was on its way arrives when its node has died, too.
    let late = story.plan.nodes[life.seat].network.late_ms * 1_000;
    let until = life.killed.map(|killed| killed + late);
    closer.released.is_some() || until.is_none_or(|until| until > closer.at + ttl)
}

/// What a record tells that is not so.
fn mistaken(story: &Story<'_>, grant: &Grant, record: &Record) -> Option<&'static str> {
    let none = RunStory::default();
    let run = story.runs.get(&grant.ask.run).unwrap_or(&none);
    let (job, life) = (&story.plan.jobs[grant.ask.job], grant.ask.life);
    let stopped = story.lives[life].stopping.is_some();
    let end = run.end.map(|(_, end)| end);
    let of_run = |other: &&Grant| other.ask.run == grant.ask.run;
    let mut tokens = story.grants[grant.ask.job].iter().filter(of_run).map(|it| it.token);
    if !tokens.any(|token| record.token.is_some_and(|it| it.get() == token)) {
        return Some("another token");
    }
    if record.node.as_str() != story.name(life) || record.occurrence != grant.ask.tick {
        return Some("another node or tick");
    }
    let fits = match record.state {
        RunState::Succeeded => end == Some(End::Ok),
        RunState::Failed => end == Some(End::Error),
        RunState::Panicked => end == Some(End::Panic),
        RunState::TimedOut => job.timeout_ms.is_some() && took_its_time(job.timeout_ms, run),
        RunState::Cancelled => stopped,
        RunState::LockLost => !keeps_its_lock(story, grant),
        RunState::Abandoned => never_heard(run) || may_leave_runs(story, job, life),
        RunState::Skipped(SkipReason::TooLate) => run.handler.is_none(),
        _ => false,
    };
    (!fits).then_some("that is not what happened")
}

/// Whether a node never heard that its run was granted: a tick may be consumed under the same id
/// when its mark was taken away.
fn never_heard(run: &RunStory) -> bool {
    run.heard.is_none_or(|(_, answer)| answer == Answered::Consumed)
}

/// How many calls a node may have to make for the end of a run that it heard of too late: it asks
/// what was named to it, releases it, and has its record stored.
const CALLS_TO_END: u64 = 3;

/// Whether a node may have left runs without their ends: it died, or was shut down while it could
/// not reach the backend, or in less time than that takes, or while code went on that cannot be
/// stopped.
fn may_leave_runs(story: &Story<'_>, job: &JobPlan, life: Life) -> bool {
    let told = &story.lives[life];
    let bad = story.plan.nodes[told.seat].network.is_bad() || told.dropped || job.blocking;
    match (told.stopping, told.shut_down()) {
        (Some(from), Some((to, _))) => {
            let early = story.ended_early(life);
            let latency = story.plan.nodes[told.seat].network.latency_ms * 1_000;
            let short = to - from < CALLS_TO_END * latency;
            early && (bad || short || !story.is_well(life, from, to) || story.is_outage(from, to))
        }
        _ => story.ended_early(life),
    }
}

/// Whether a run went on for as long as its timeout.
fn took_its_time(timeout_ms: Option<u64>, run: &RunStory) -> bool {
    match (timeout_ms, run.heard, run.end) {
        // Blocking code that never came to its turn has no end.
        (Some(timeout), Some((heard, _)), Some((end, _))) => end - heard + 2_000 >= timeout * 1_000,
        _ => true,
    }
}

/// A node of which nothing is wrong has its lock renewed, whatever it does.
fn keeps_its_lock(story: &Story<'_>, grant: &Grant) -> bool {
    if grant.forced.is_some() {
        return false;
    }
    let seat = story.lives[grant.ask.life].seat;
    let job = &story.plan.jobs[grant.ask.job];
    let ttl = job.lock_ttl_ms() * 1_000;
    let end = grant.released.unwrap_or(story.end_at()).min(grant.at + 600_000_000).max(grant.at);
    // A short TTL leaves no time for a reply on its way.
    let enough = ttl >= 20_000 * story.plan.nodes[seat].network.latency_ms;
    story.plan.nodes[seat].steady
        && !job.fixed_lease
        && enough
        && !story.is_outage(grant.at.saturating_sub(ttl), end + ttl)
        && !story.is_stalled(grant.at.saturating_sub(ttl), end + ttl, 0)
}
