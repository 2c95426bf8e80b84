//! How late the clocks of a fleet are when it is shut down.

use super::disturbance::Disturbance;
use super::plan::{NodePlan, Plan};

/// By how much the clock is behind, at the end, of the best of the nodes of which nothing is wrong
/// any more from that moment on; of the worst of all, where there is none.
pub(super) fn late_ms(plan: &Plan, from: i64) -> i64 {
    let nodes = || plan.nodes.iter().enumerate();
    let late = |(seat, node)| behind_ms(plan, seat, node, from);
    let well = nodes().filter(|(seat, _)| well_from(plan, *seat) <= from).map(late).min();
    well.or_else(|| nodes().map(late).max()).unwrap_or(0)
}

/// By how much a clock is behind at the end. One that is set forward after that moment comes to
/// its ticks too late.
fn behind_ms(plan: &Plan, seat: usize, node: &NodePlan, from: i64) -> i64 {
    let seconds = i64::try_from(plan.end_at / 1_000).unwrap_or(i64::MAX);
    let drift = node.drift_ppm.saturating_mul(seconds) / 1_000;
    let steps = plan.disturbances.iter().map(|planned| match planned.what {
        Disturbance::Step { node, by_ms } if node == seat => {
            if signed(planned.at) <= from {
                by_ms
            } else {
                by_ms.min(0)
            }
        }
        _ => 0,
    });
    let ahead = steps.fold(node.offset_ms.saturating_add(drift), i64::saturating_add);
    ahead.saturating_neg().max(0)
}

/// From when on nothing is wrong with a place any more but its clock.
fn well_from(plan: &Plan, seat: usize) -> i64 {
    let ends = plan.disturbances.iter().map(|planned| {
        let mut what = planned.what;
        let (at, of) = (planned.at, what.node());
        match what.duration_mut() {
            Some(lasts) if of == Some(seat) => signed(at.saturating_add(*lasts)),
            _ => i64::MIN,
        }
    });
    ends.max().unwrap_or(i64::MIN)
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}
