//! Drawing nodes.

use rand::RngExt;
use rand::rngs::StdRng;

use super::{chance, one_of};
use crate::simulation::plan::{Network, NodePlan};

pub(super) fn draw(random: &mut StdRng, count: usize, quiet: bool) -> Vec<NodePlan> {
    let mut nodes: Vec<_> = (0..count).map(|_| node(random)).collect();
    if !quiet && chance(random, 60) {
        if let Some(first) = nodes.first_mut() {
            *first = steady(random);
        }
    } else if quiet || chance(random, 25) {
        // All clocks are wrong alike, until they are set right.
        let offset = random.random_range(-110_000..-20_000);
        nodes.iter_mut().for_each(|node| node.offset_ms = offset + node.offset_ms % 1_000);
    }
    nodes
}

/// A node of which nothing is wrong.
fn steady(random: &mut StdRng) -> NodePlan {
    NodePlan {
        offset_ms: random.random_range(-300..300),
        drift_ppm: random.random_range(-50..50),
        corrects: chance(random, 20),
        network: Network { latency_ms: random.random_range(0..20), ..Network::default() },
        steady: true,
        ..NodePlan::default()
    }
}

fn node(random: &mut StdRng) -> NodePlan {
    let offset_ms = match random.random_range(0..10) {
        0..6 => random.random_range(-900..900),
        6..9 => random.random_range(-5_000..5_000),
        _ => random.random_range(-100_000..100_000),
    };
    NodePlan {
        joins_at: if chance(random, 15) { random.random_range(0..60_000) } else { 0 },
        offset_ms,
        drift_ppm: random.random_range(-500..500),
        corrects: chance(random, 25),
        max_running: chance(random, 15).then(|| random.random_range(1..3)),
        network: network(random),
        ..NodePlan::default()
    }
}

fn network(random: &mut StdRng) -> Network {
    let latency_ms = match random.random_range(0..10) {
        0..3 => 0,
        3..8 => random.random_range(1..30),
        _ => random.random_range(30..700),
    };
    let calm = Network { latency_ms, ..Network::default() };
    if chance(random, 40) {
        return calm;
    }
    if chance(random, 20) {
        // What comes through is slow, and much does not.
        let (slow_ms, lose_request) = (random.random_range(100..1_500), 300);
        return Network { slow_reply: 500, slow_ms, lose_request, lose_reply: 150, ..calm };
    }
    Network {
        fail: one_of(random, &[0, 10, 50]),
        lose_request: one_of(random, &[0, 10, 50, 150]),
        lose_reply: one_of(random, &[0, 10, 50, 150, 300]),
        late: one_of(random, &[0, 10, 50]),
        late_ms: random.random_range(100..8_000),
        slow_reply: one_of(random, &[0, 20, 200]),
        slow_ms: random.random_range(10..3_000),
        ..calm
    }
}
