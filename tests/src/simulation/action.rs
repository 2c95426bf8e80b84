//! A plan as a row of moments.

use super::disturbance::{Disturbance, Planned};
use super::plan::Plan;

/// Something to be done at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A node starts in a seat that is empty.
    Join(usize),
    Begin(Disturbance),
    End(Disturbance),
    SetClocksRight,
    Calm,
}

/// All that is to be done, in order.
pub(crate) fn actions(plan: &Plan) -> Vec<(u64, Action)> {
    let mut actions = Vec::new();
    for (seat, node) in plan.nodes.iter().enumerate() {
        actions.push((node.joins_at.min(plan.heal_at), Action::Join(seat)));
    }
    for &Planned { at, what } in &plan.disturbances {
        actions.push((at, Action::Begin(what)));
        let mut what = what;
        if let Some(&mut duration) = what.duration_mut() {
            actions.push((at.saturating_add(duration), Action::End(what)));
        }
    }
    actions.push((plan.clocks_right_at, Action::SetClocksRight));
    actions.push((plan.heal_at, Action::Calm));
    // Nothing is done after the healing. What falls on one moment keeps its order, but for what ends
    // there: what goes on at once is not interrupted.
    actions.retain(|(at, action)| {
        *at < plan.heal_at || matches!(action, Action::Join(_) | Action::Calm)
    });
    actions.sort_by_key(|(at, action)| (*at, matches!(action, Action::End(_))));
    actions
}
