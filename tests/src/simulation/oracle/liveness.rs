//! A due tick is taken in time: by a node of which nothing is wrong, and after all is healed.

use tidelock::{Misfire, SkipReason};

use super::finding::{Finding, Promise};
use super::story::{Grant, Move, Story};
use crate::simulation::plan::{JobPlan, NodePlan, Work};
use crate::simulation::when::ticks;

/// What nobody has to account for: timers of a millisecond, and the estimate of a clock.
const SLACK_US: u64 = 60_000;

/// The longest wait between two asks while a lock is held.
const HELD_US: u64 = 1_600_000;

/// After an outage: the longest wait for an answer, and the longest before the next try.
const RECOVERY_US: u64 = 6_000_000;

/// How long the look-up of a job may take on a bad way to the backend.
const LOOK_UP_US: u64 = 8_000_000;

/// The longest that a backlog of short runs takes.
const BACKLOG_US: u64 = 12_000_000;

/// How far a clock is off at most when it has been set right.
const RIGHT_US: u64 = 500_000;

pub(super) fn check(story: &Story<'_>, findings: &mut Vec<Finding>) {
    for job in 0..story.moves.len() {
        let steady = story.plan.nodes.first().filter(|node| node.steady && node.joins_at == 0);
        if let Some(node) = steady {
            let (from, to) = (3_000_000, story.calm_at);
            let slack = node_slack(node) + story.slack();
            watch(story, job, Some(node), (from, to), slack, findings);
        }
        if story.plan.nodes.iter().any(|node| node.max_running.is_none()) {
            let from = normal_from(story, job);
            let to = story.end_at().saturating_sub(RECOVERY_US);
            let slack = RIGHT_US + 80_000 + SLACK_US + story.slack();
            watch(story, job, None, (from, to), slack, findings);
        }
    }
}

/// By how much a steady node may be late.
fn node_slack(node: &NodePlan) -> u64 {
    let behind = u64::try_from(-node.offset_ms).unwrap_or(0) * 1_000;
    // 50 ppm of five minutes are 15 ms.
    behind + node.network.latency_ms * 4_000 + SLACK_US + 40_000
}

/// From when on all is as it should: one TTL and one tick after the healing, or a while where
/// ticks are rare.
fn normal_from(story: &Story<'_>, job: usize) -> u64 {
    let lasting = story.plan.real.map_or(1, |real| real.lasting);
    let ttl = story.plan.jobs[job].lock_ttl_ms() * 1_000 * lasting + story.slack();
    let (from, latest) = (story.calm_at + ttl, story.calm_at + ttl + RECOVERY_US);
    let next = story.schedules[job].next_after(story.instant(from));
    next.map_or(latest, |tick| latest.min(story.since_start(tick) + 1))
}

/// Fails where a tick between two moments was not taken in time.
fn watch(
    story: &Story<'_>,
    job: usize,
    steady: Option<&NodePlan>,
    (from, to): (u64, u64),
    slack: u64,
    findings: &mut Vec<Finding>,
) {
    let plan = &story.plan.jobs[job];
    let (splay, id) = (plan.splay_ms * 1_000, &story.trace.jobs[job]);
    if from >= to {
        return;
    }
    // A backlog is run in order, and what is new waits behind it or passes it over.
    let backlog = matches!(plan.misfire, Misfire::All { .. });
    if backlog && (steady.is_some() || !is_short(plan)) {
        return;
    }
    let slack = if backlog { slack + BACKLOG_US } else { slack };
    for tick in ticks(&story.schedules[job], story.instant(from), story.instant(to)) {
        let due = story.since_start(tick);
        let latest = due + splay + slack;
        if latest + HELD_US > to
            || (steady.is_some()
                && story.is_outage(due.saturating_sub(RECOVERY_US), latest + HELD_US))
            || story.is_stalled(due.saturating_sub(HELD_US), latest + HELD_US, story.slack() / 3)
            || passes_unclocked(story, job, due)
        {
            continue;
        }
        let limit = if may_be_held(story, job, latest) { latest + HELD_US } else { latest };
        let taken = story.moves[job].iter().find(|moved| moved.tick.at() >= tick);
        let wrong = match taken {
            None => Some("nobody took it"),
            Some(moved) if story.since(&moved.ask, moved.at) > limit => {
                Some("it was taken too late")
            }
            Some(_) if backlog => None,
            Some(moved) if moved.tick.at() > tick && !is_new(story, moved) => {
                Some("it was passed over")
            }
            Some(moved) if matches!(moved.consumed, Some((SkipReason::Misfire, _))) => {
                Some("it was skipped as missed")
            }
            Some(_) => None,
        };
        if let Some(wrong) = wrong {
            let text = format!("{id} {tick}: {wrong}; it was due at {}", seconds(due));
            findings.push(Finding::new(Promise::Liveness, due, text));
        }
    }
}

/// Whether all runs of a job are short.
fn is_short(plan: &JobPlan) -> bool {
    let short = |work: &Work| match *work {
        Work::Quick | Work::PanicsAtOnce => true,
        Work::Steps(ms) | Work::Heeds(ms) | Work::Fails(ms) | Work::Panics(ms) => ms <= 1_000,
    };
    !plan.blocking && plan.work.iter().all(short)
}

/// Whether a node with a clock ahead moved the mark in one of the moments that are known: it had
/// asked before it was told the time, or before the job's look-up was answered; or the job had just
/// been put back on it, and begins after a tick that slower nodes are still to come to; or it had
/// been replaced, and the older tick that was being asked for is not waited for.
fn is_new(story: &Story<'_>, moved: &Move) -> bool {
    let splay = story.plan.jobs[moved.ask.job].splay_ms * 1_000;
    let life = &story.lives[moved.ask.life];
    let asked = story.runs.get(&moved.ask.run).and_then(|run| run.asked_at).unwrap_or(moved.at);
    let untold = life.heard.is_none_or(|at| at >= asked) || asked <= life.up + LOOK_UP_US;
    let replaced = life
        .replaced
        .iter()
        .any(|&(at, job)| job == moved.ask.job && at <= asked && asked <= at + LOOK_UP_US);
    (untold || replaced) && story.since_start(moved.tick.at()) + splay > moved.at
}

fn seconds(at: u64) -> String {
    format!("{}.{:06} s", at / 1_000_000, at % 1_000_000)
}

/// Whether a run may hold the lock at that moment.
fn may_be_held(story: &Story<'_>, job: usize, at: u64) -> bool {
    let granted = |grant: &&Grant| story.since(&grant.ask, grant.at) <= at;
    let grant = story.grants[job].iter().rev().find(granted);
    let slack = SLACK_US + story.slack();
    grant.is_some_and(|grant| grant.released.is_none_or(|released| released + slack >= at))
}

/// Where answers tell no clock, a tick that finds the lock held is consumed only after a while, and
/// by then the next one may pass it over.
fn passes_unclocked(story: &Story<'_>, job: usize, due: u64) -> bool {
    story.plan.real.is_some_and(|real| !real.corrects) && may_be_held(story, job, due)
}
