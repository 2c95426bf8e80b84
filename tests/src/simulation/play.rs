//! Playing a plan in a time of its own.

use tidelock::Job;

use super::handler;
use super::log::{Log, Trace};
use super::plan::{JobPlan, Plan};
use super::stage::Stage;

/// Plays a plan, in paused time on this thread: the same plan gives the same trace, to the byte.
///
/// # Panics
///
/// When called within a tokio runtime, or when a job of the plan is none.
#[must_use]
pub fn play(plan: &Plan) -> Trace {
    let ids = plan.ids();
    in_paused_time(async {
        // The log comes first: the handlers write to it.
        let log = Log::new(&ids, false);
        let jobs = handler::jobs(plan, &log);
        let others: Vec<Option<Job>> = plan
            .jobs
            .iter()
            .map(|job| job.other().map(|other| handler::job(&other, &log)).transpose())
            .collect::<Result<_, _>>()
            .expect("a plan of jobs that can be registered");
        log.edits(plan.jobs.iter().map(JobPlan::other_fingerprint).collect());
        Stage::new(plan, &jobs, &ids, log).with_others(others).play().await
    })
}

/// Runs a future in a runtime of its own whose time moves when nothing else does.
pub(crate) fn in_paused_time<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads and sockets");
    runtime.block_on(future)
}
