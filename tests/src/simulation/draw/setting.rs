//! Drawing what is set up unlike others: the backend, and names that two nodes bear.

use rand::RngExt;
use rand::rngs::StdRng;

use super::chance;
use crate::simulation::plan::{NodePlan, StorePlan};

pub(super) fn store(random: &mut StdRng, nodes: &mut [NodePlan]) -> StorePlan {
    let store = StorePlan { clock: !chance(random, 15), apart: chance(random, 20) };
    if !store.clock {
        // There is nothing to correct by.
        nodes.iter_mut().for_each(|node| node.corrects = false);
    }
    store
}

pub(super) fn names(random: &mut StdRng, nodes: &mut [NodePlan]) {
    let count = nodes.len();
    if count > 1 && chance(random, 15) {
        let (one, other) = (random.random_range(0..count), random.random_range(0..count));
        if one != other {
            nodes[one].namesake = Some(other);
        }
    }
    for node in nodes {
        node.keeps_name = chance(random, 20);
    }
}
