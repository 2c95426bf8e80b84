//! What a simulation makes no sense of, in the words of whoever asked for it.

use std::time::Duration;

use super::disturbance::Disturbance;
use super::plan::{NodePlan, Plan};

/// Refuses a node that is not there. `to`: what was to be done to it.
#[track_caller]
pub(super) fn check_node(node: usize, count: usize, to: &str) {
    let which = match count {
        1 => "0".to_owned(),
        2 => "0 and 1".to_owned(),
        _ => format!("0 to {}", count.saturating_sub(1)),
    };
    assert!(node < count, "there is no node {node}{to}: this fleet has {count} ({which})");
}

/// Refuses to forget what was said of nodes when there are fewer of them.
#[track_caller]
pub(super) fn check_nodes(plan: &Plan, count: usize) {
    assert!(count > 0, "a fleet has one node at least");
    for planned in &plan.disturbances {
        if let Some(node) = planned.what.node() {
            check_node(node, count, &format!(" to {}", method(planned.what)));
        }
    }
    for (seat, node) in plan.nodes.iter().enumerate() {
        if let Some(other) = node.namesake {
            check_node(other, count, " to have the same_name as");
        }
        // What all nodes are told is no reason to have this one.
        let own = NodePlan { network: Default::default(), ..node.clone() };
        if own != NodePlan::default() {
            check_node(seat, count, " for skew, drift or same_name");
        }
    }
}

/// Refuses what begins when all is over.
#[track_caller]
pub(super) fn check_times(plan: &Plan) {
    let late = plan.disturbances.iter().find(|planned| planned.at >= plan.heal_at);
    if let Some(planned) = late {
        let (name, at) = (method(planned.what), Duration::from_millis(planned.at));
        let of = planned.what.node().map_or(String::new(), |node| format!(" of node {node}"));
        let end = Duration::from_millis(plan.heal_at);
        panic!("the {name}{of} at {at:?} would begin after the end of run_for at {end:?}");
    }
}

/// The method that plans it.
fn method(what: Disturbance) -> &'static str {
    match what {
        Disturbance::Cut { .. } => "partition",
        Disturbance::Outage { .. } => "outage",
        Disturbance::RecordsAway { .. } => "records_away",
        Disturbance::Freeze { .. } => "freeze",
        Disturbance::Kill { .. } => "kill",
        Disturbance::Stop { .. } => "deploy",
        Disturbance::Step { .. } => "step",
        _ => "disturbance",
    }
}
