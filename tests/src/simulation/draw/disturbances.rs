//! Drawing what goes wrong.

use rand::RngExt;
use rand::rngs::StdRng;

use super::{chance, one_of};
use crate::simulation::disturbance::{Disturbance, Planned};
use crate::simulation::plan::{JobPlan, NodePlan};

/// A call is given up after two seconds, or a sixth of the lock's life.
const LONGEST_ANSWER_MS: u64 = 1_950;

pub(super) fn draw(
    random: &mut StdRng,
    nodes: &[NodePlan],
    jobs: &[JobPlan],
    clocks_right_at: u64,
    heal_at: u64,
) -> Vec<Planned> {
    let most = usize::try_from(heal_at / 4_000).unwrap_or(1).max(2);
    let count = random.random_range(0..most);
    // Clocks are set, and backends go away, in some fleets alone.
    let (clocks, outages) = (chance(random, 60), chance(random, 50));
    let mut all = Vec::new();
    for _ in 0..count {
        let at = random.random_range(0..heal_at.max(1));
        let Some(what) = one(random, nodes, jobs.len()) else { continue };
        let unwanted = match what {
            Disturbance::Step { .. } => !clocks || at >= clocks_right_at,
            Disturbance::Outage { .. } => !outages,
            _ => false,
        };
        if !unwanted {
            all.push(Planned { at, what });
        }
    }
    for _ in 0..random.random_range(0..6) {
        let at = random.random_range(0..heal_at.max(1));
        all.extend(at_the_limit(random, nodes, jobs, at, 80));
    }
    all.sort_by_key(|planned| planned.at);
    all
}

/// More of the rarest: a renewal that is answered so late that its lock would outlive its lease if it
/// counted from the answer, and no other renewal.
pub(super) fn late_renewals(
    random: &mut StdRng,
    all: &mut Vec<Planned>,
    nodes: &[NodePlan],
    jobs: &[JobPlan],
    heal_at: u64,
) {
    // A longer lock's calls are given up before their answers are that late.
    let short = |job: &&JobPlan| job.lock_ttl_ms() <= LONGEST_ANSWER_MS * 6;
    let short: Vec<JobPlan> = jobs.iter().filter(short).cloned().collect();
    for _ in 0..random.random_range(0..12) {
        let at = random.random_range(0..heal_at.max(1));
        all.extend(at_the_limit(random, nodes, &short, at, 140));
    }
    all.sort_by_key(|planned| planned.at);
}

/// Answers that come as late as they may (from `least` thousandths of the lock's life on), and then
/// none: a lease has to be given up in time.
fn at_the_limit(
    random: &mut StdRng,
    nodes: &[NodePlan],
    jobs: &[JobPlan],
    at: u64,
    least: u64,
) -> Vec<Planned> {
    let node = random.random_range(0..nodes.len().max(1));
    let job = random.random_range(0..jobs.len().max(1));
    let (Some(plan), Some(job)) = (nodes.get(node), jobs.get(job)) else { return Vec::new() };
    if plan.steady {
        return Vec::new();
    }
    let ttl = job.lock_ttl_ms();
    let by_ms = (ttl * random.random_range(least..165) / 1_000).min(LONGEST_ANSWER_MS);
    let for_ms = random.random_range(ttl / 2..ttl * 2);
    let slow = Disturbance::Slow { node, by_ms, for_ms };
    let cut = Disturbance::Cut { node, for_ms: ttl * 2, silent: random.random() };
    vec![Planned { at, what: slow }, Planned { at: at + for_ms, what: cut }]
}

fn one(random: &mut StdRng, nodes: &[NodePlan], jobs: usize) -> Option<Disturbance> {
    let node = random.random_range(0..nodes.len().max(1));
    let job = random.random_range(0..jobs.max(1));
    let for_ms = match random.random_range(0..10) {
        0..5 => random.random_range(1..2_000),
        5..9 => random.random_range(1_000..12_000),
        _ => random.random_range(10_000..70_000),
    };
    let silent = random.random();
    let what = match random.random_range(0..24) {
        0..3 => Disturbance::Cut { node, for_ms, silent },
        3 => Disturbance::Outage { for_ms: for_ms.min(20_000), silent },
        4 => Disturbance::RecordsAway { node, for_ms, silent },
        5..9 => Disturbance::Freeze { node, for_ms },
        9..12 => Disturbance::Kill { node, away_ms: for_ms },
        12..14 => {
            let deadline_ms = one_of(random, &[0, 500, 3_000, 10_000, 30_000]);
            Disturbance::Stop { node, deadline_ms, away_ms: for_ms }
        }
        14 => Disturbance::Drop { node, away_ms: for_ms },
        15..17 => {
            let by_ms = match random.random_range(0..3) {
                0 => random.random_range(-1_500..1_500),
                1 => random.random_range(-8_000..8_000),
                _ => random.random_range(-120_000..120_000),
            };
            Disturbance::Step { node, by_ms }
        }
        17..20 => Disturbance::RunNow { node, job },
        20..22 => Disturbance::Remove { node, job, for_ms },
        _ => Disturbance::Replace { node, job },
    };
    let steady = nodes.get(node).is_some_and(|node| node.steady);
    let harmless = matches!(what, Disturbance::Outage { .. } | Disturbance::RunNow { .. });
    (!steady || harmless).then_some(what)
}
