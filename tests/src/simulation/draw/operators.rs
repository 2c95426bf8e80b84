//! Drawing what operators do to the whole fleet: rolling deployments, locks that are freed,
//! and times in which no node is up.

use rand::RngExt;
use rand::rngs::StdRng;

use super::chance;
use crate::simulation::disturbance::{Disturbance, Planned};
use crate::simulation::plan::{JobPlan, NodePlan};

pub(super) fn draw(
    random: &mut StdRng,
    all: &mut Vec<Planned>,
    nodes: &[NodePlan],
    jobs: &[JobPlan],
    heal_at: u64,
) {
    for (job, plan) in jobs.iter().enumerate() {
        if plan.edited.is_some() {
            rolls_out(random, all, nodes.len(), job, heal_at);
        }
    }
    if chance(random, 25) {
        for _ in 0..random.random_range(1..6) {
            let (job, mark) = (random.random_range(0..jobs.len().max(1)), chance(random, 40));
            let at = random.random_range(0..heal_at.max(1));
            all.push(Planned { at, what: Disturbance::Force { job, mark } });
        }
    }
    if nodes.iter().all(|node| !node.steady) && chance(random, 25) {
        let (at, away_ms) =
            (random.random_range(0..heal_at.max(1)), random.random_range(5_000..60_000));
        for node in 0..nodes.len() {
            let away_ms = away_ms + random.random_range(0..3_000);
            all.push(Planned { at, what: Disturbance::Kill { node, away_ms } });
        }
    }
    all.sort_by_key(|planned| planned.at);
}

/// One node after the other gets the other schedule; some only when all is healed.
fn rolls_out(random: &mut StdRng, all: &mut Vec<Planned>, nodes: usize, job: usize, heal_at: u64) {
    let from = random.random_range(0..heal_at.max(1));
    let lasts = if chance(random, 50) { 3_000 } else { 120_000 };
    for node in 0..nodes {
        let at = from + random.random_range(0..lasts);
        all.push(Planned { at, what: Disturbance::Edit { node, job } });
    }
}
