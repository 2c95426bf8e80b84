//! Finding a shorter plan that goes wrong in the same way.

use super::disturbance::Planned;
use super::oracle::{Finding, judge};
use super::plan::{JobPlan, Network, Plan, Work};
use super::play::play;

/// How many plans are tried.
const TRIES: usize = 1_500;

/// The shortest plan found that breaks the same promise: fewer nodes, fewer jobs, fewer and
/// shorter disturbances, less time.
#[must_use]
pub fn shrink(plan: &Plan) -> Plan {
    let Some(finding) = judge(plan, &play(plan)).into_iter().next() else {
        return plan.clone();
    };
    let mut shrinking = Shrinking { best: plan.clone(), finding, tries: TRIES };
    while shrinking.round() {}
    shrinking.best
}

struct Shrinking {
    best: Plan,
    finding: Finding,
    tries: usize,
}

impl Shrinking {
    /// One round of all that can be left out. Tells whether something was, and more may be.
    fn round(&mut self) -> bool {
        let mut better = self.drop_disturbances();
        better |= self.each(|plan| plan.nodes.len(), without_node);
        better |= self.each(|plan| plan.jobs.len(), without_job);
        better |= self.each(|_| 2, plainer_store);
        better |= self.each(|_| 4, shorter);
        better |= self.each(|plan| plan.nodes.len() * 9, simpler_node);
        better |= self.each(|plan| plan.jobs.len() * 11, simpler_job);
        better |= self.each(|plan| plan.disturbances.len(), shorter_disturbance);
        better && self.tries > 0
    }

    /// Takes a plan if it goes wrong in the same way.
    fn takes(&mut self, plan: Plan) -> bool {
        if self.tries == 0 || plan == self.best {
            return false;
        }
        self.tries -= 1;
        let findings = judge(&plan, &play(&plan));
        let same = findings.iter().any(|finding| finding.promise == self.finding.promise);
        if same {
            self.best = plan;
        }
        same
    }

    fn each(
        &mut self,
        count: impl Fn(&Plan) -> usize,
        change: impl Fn(&Plan, usize) -> Option<Plan>,
    ) -> bool {
        let mut better = false;
        for at in (0..count(&self.best)).rev() {
            if let Some(plan) = change(&self.best, at) {
                better |= self.takes(plan);
            }
        }
        better
    }

    /// Leaves out disturbances: half of them, then a quarter, and so on.
    fn drop_disturbances(&mut self) -> bool {
        let mut better = false;
        let mut chunk = self.best.disturbances.len();
        while chunk > 0 {
            let mut from = 0;
            while from < self.best.disturbances.len() {
                let mut plan = self.best.clone();
                let to = (from + chunk).min(plan.disturbances.len());
                plan.disturbances.drain(from..to);
                if self.takes(plan) {
                    better = true;
                } else {
                    from += chunk;
                }
            }
            chunk /= 2;
        }
        better
    }
}

fn renumber(
    plan: &mut Plan,
    node: impl Fn(usize) -> Option<usize>,
    job: impl Fn(usize) -> Option<usize>,
) {
    let all = std::mem::take(&mut plan.disturbances);
    plan.disturbances = all
        .into_iter()
        .filter_map(|it| Some(Planned { at: it.at, what: it.what.renumbered(&node, &job)? }))
        .collect();
}

/// The number of what stands behind something that is taken out; `None` for itself.
fn behind(gone: usize) -> impl Fn(usize) -> Option<usize> {
    move |at| (at != gone).then(|| if at > gone { at - 1 } else { at })
}

fn without_node(plan: &Plan, node: usize) -> Option<Plan> {
    let mut plan = plan.clone();
    // A steady node is the first one.
    if plan.nodes.len() < 2 || plan.nodes[node].steady {
        return None;
    }
    plan.nodes.remove(node);
    for other in &mut plan.nodes {
        other.namesake = other.namesake.and_then(behind(node));
    }
    renumber(&mut plan, behind(node), Some);
    Some(plan)
}

fn without_job(plan: &Plan, job: usize) -> Option<Plan> {
    let mut plan = plan.clone();
    if plan.jobs.len() < 2 {
        return None;
    }
    plan.jobs.remove(job);
    renumber(&mut plan, Some, behind(job));
    Some(plan)
}

fn shorter(plan: &Plan, part: usize) -> Option<Plan> {
    let mut plan = plan.clone();
    let heal_at = plan.heal_at * (part as u64 + 5) / 10;
    let rest = plan.end_at - plan.heal_at;
    if plan.heal_at < 5_000 {
        return None;
    }
    plan.heal_at = heal_at;
    plan.end_at = heal_at + rest;
    plan.clocks_right_at = heal_at.saturating_sub(31_000);
    plan.disturbances.retain(|planned| planned.at < heal_at);
    Some(plan)
}

fn plainer_store(plan: &Plan, part: usize) -> Option<Plan> {
    let mut plan = plan.clone();
    if part == 0 {
        plan.store.clock = true
    } else {
        plan.store.apart = false
    };
    Some(plan)
}

fn simpler_node(plan: &Plan, at: usize) -> Option<Plan> {
    let mut plan = plan.clone();
    let node = &mut plan.nodes[at / 9];
    let network = &mut node.network;
    match at % 9 {
        0 => *network = Network::default(),
        1 => *network = Network { latency_ms: network.latency_ms, ..Network::default() },
        2 => (network.fail, network.lose_request) = (0, 0),
        3 => (network.late, network.slow_reply) = (0, 0),
        4 => node.drift_ppm = 0,
        5 => node.offset_ms = 0,
        6 => (node.max_running, node.corrects) = (None, false),
        7 => (node.namesake, node.keeps_name) = (None, false),
        _ => node.joins_at = 0,
    }
    Some(plan)
}

fn simpler_job(plan: &Plan, at: usize) -> Option<Plan> {
    let mut plan = plan.clone();
    let job: &mut JobPlan = &mut plan.jobs[at / 11];
    match at % 11 {
        0 => job.work = vec![Work::Quick],
        1 if job.work.len() > 1 => job.work.truncate(1),
        2 if job.work.len() > 1 => drop(job.work.remove(0)),
        3 => job.timeout_ms = None,
        4 => job.splay_ms = 0,
        5 => job.force_release = false,
        6 => job.start_within_ms = None,
        7 => job.blocking = false,
        8 => job.misfire = tidelock::Misfire::Once,
        9 => job.fixed_lease = false,
        10 => job.edited = None,
        _ => return None,
    }
    // A lease that is not renewed needs an end.
    (!job.fixed_lease || job.ttl_ms.is_some() || job.timeout_ms.is_some()).then_some(plan)
}

fn shorter_disturbance(plan: &Plan, at: usize) -> Option<Plan> {
    let mut plan = plan.clone();
    let duration = plan.disturbances[at].what.duration_mut()?;
    *duration /= 2;
    Some(plan)
}
