//! Drawing a plan for real time: the same workload with shorter times.

use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{chance, disturbances, jobs, nodes, one_of};
use crate::simulation::disturbance::{Disturbance, Planned};
use crate::simulation::plan::{JobPlan, NodePlan, Plan, StorePlan};
use crate::simulation::real::Real;
use crate::simulation::when::When;

/// How far a clock is off at most, and how long anything but a server's absence lasts.
const OFF_MS: i64 = 5_000;
const LASTS_MS: u64 = 9_000;

/// What comes after the healing, besides two lives of a lock: recovery, some ticks, and a while
/// that is not looked at because the end comes.
const AFTER_MS: u64 = 18_000;

/// The plan of a seed for so many seconds of real time, at least 40. Its start is when it is played.
///
/// Jobs have ticks every one to three seconds.
pub fn draw_real(seed: u64, seconds: u64, real: Real) -> Plan {
    let mut random = StdRng::seed_from_u64(seed);
    let random = &mut random;
    let end_at = seconds.max(40) * 1_000;
    let jobs: Vec<_> = (0..random.random_range(2..=4)).map(|at| job(random, at, &real)).collect();
    let ttl = jobs.iter().map(JobPlan::lock_ttl_ms).max().unwrap_or(0);
    let heal_at = end_at.saturating_sub(2 * ttl + AFTER_MS).max(end_at / 3);
    let clocks_right_at = heal_at.saturating_sub(4_000);
    let count = random.random_range(3..=5);
    let mut nodes = nodes::draw(random, count, false);
    nodes.iter_mut().for_each(|node| fit(node, heal_at, &real));
    let drawn = disturbances::draw(random, &nodes, &jobs, clocks_right_at, heal_at);
    let mut all: Vec<_> = drawn.into_iter().map(|planned| shorter(planned, &real)).collect();
    lost_replies(random, &nodes, heal_at, &mut all);
    servers(random, heal_at, &real, &mut all);
    all.sort_by_key(|planned| planned.at);
    Plan {
        seed,
        // Seconds since 1970 that are in range.
        start: Timestamp::from_second(1_767_225_600).unwrap_or(Timestamp::UNIX_EPOCH),
        store: StorePlan { clock: real.corrects, apart: false },
        nodes,
        jobs,
        disturbances: all,
        blocking_ms: random.random_range(1..2 * ttl.max(1)),
        clocks_right_at,
        heal_at,
        end_at,
        real: Some(real),
    }
}

fn job(random: &mut StdRng, number: usize, real: &Real) -> JobPlan {
    let when = match random.random_range(0..6) {
        0 | 1 => When::Every(random.random_range(10..30) * 100),
        2 => When::EveryFrom(random.random_range(1_000..3_000), Timestamp::UNIX_EPOCH),
        3 => When::Uneven(random.random_range(600..1_200)),
        _ => When::cron(format!("*/{} * * * * *", random.random_range(1..=3)), None),
    };
    let ttl_ms = one_of(random, real.ttls_ms);
    jobs::job_of(random, jobs::id(number), when, Some(ttl_ms))
}

fn fit(node: &mut NodePlan, heal_at: u64, real: &Real) {
    node.joins_at %= heal_at / 3;
    node.offset_ms %= OFF_MS.min(real.ahead());
    node.corrects &= real.corrects;
}

fn shorter(mut planned: Planned, real: &Real) -> Planned {
    match &mut planned.what {
        Disturbance::Step { by_ms, .. } => *by_ms %= OFF_MS.min(real.ahead() / 2),
        Disturbance::Stop { deadline_ms, .. } => *deadline_ms = (*deadline_ms).min(LASTS_MS),
        _ => {}
    }
    if let Some(lasts) = planned.what.duration_mut()
        && *lasts > LASTS_MS
    {
        *lasts %= LASTS_MS;
    }
    planned
}

fn lost_replies(random: &mut StdRng, nodes: &[NodePlan], heal_at: u64, all: &mut Vec<Planned>) {
    for _ in 0..random.random_range(2..8) {
        let (node, at) = (random.random_range(0..nodes.len()), random.random_range(0..heal_at));
        if !nodes[node].steady {
            let count = random.random_range(1..4);
            all.push(Planned { at, what: Disturbance::LostReplies { node, count } });
        }
    }
}

/// One server after the other is away for a few seconds.
fn servers(random: &mut StdRng, heal_at: u64, real: &Real, all: &mut Vec<Planned>) {
    let mut at = random.random_range(3_000..14_000);
    loop {
        let for_ms = random.random_range(300..5_000);
        if at + for_ms + 1_000 > heal_at {
            return;
        }
        let (member, dies) = (random.random_range(0..real.members), chance(random, 50));
        all.push(Planned { at, what: Disturbance::Server { member, for_ms, dies } });
        // One that is alone is away from all: there is to be time in between.
        let pause = if real.members > 1 { 3_000..9_000 } else { 8_000..16_000 };
        at += for_ms + random.random_range(pause);
    }
}
