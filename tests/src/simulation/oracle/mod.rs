//! Judging a run by what was promised.
//!
//! Nothing here knows the engine: what counts is the log of what nodes, handlers and backend did,
//! the schedules, and the records that are there at the end.

mod asking;
mod backlog;
mod finding;
mod liveness;
mod once;
mod overlap;
mod records;
mod story;
mod ticks;
mod tidy;
mod unknown;

pub use finding::{Finding, Promise};

use super::log::Trace;
use super::plan::Plan;
use story::Story;

/// What is wrong with a run; nothing, if all that was promised was kept.
pub fn judge(plan: &Plan, trace: &Trace) -> Vec<Finding> {
    let story = Story::of(plan, trace);
    let mut findings = Vec::new();
    once::check(&story, &mut findings);
    overlap::check(&story, &mut findings);
    asking::check(&story, &mut findings);
    records::check(&story, &mut findings);
    ticks::check(&story, &mut findings);
    backlog::check(&story, &mut findings);
    liveness::check(&story, &mut findings);
    tidy::check(&story, &mut findings);
    findings.sort_by_key(|finding| finding.at);
    findings
}
