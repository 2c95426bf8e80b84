//! Jobs as a plan describes them, whose handlers note what they do.

use std::panic::resume_unwind;
use std::time::Duration;

use tidelock::{Job, JobBuilder, JobError, RunContext};
use tokio::select;
use tokio::time::sleep;

use super::event::{End, Handler, What};
use super::log::Log;
use super::plan::{JobPlan, Plan, Work};

/// How many steps a handler works in.
const STEPS: u64 = 6;

/// The jobs of a plan.
///
/// # Panics
///
/// When one of them is none.
pub(crate) fn jobs(plan: &Plan, log: &Log) -> Vec<Job> {
    let jobs = plan.jobs.iter().map(|plan| job(plan, log));
    jobs.collect::<Result<_, _>>().expect("a plan of jobs that can be registered")
}

/// The job.
///
/// # Errors
///
/// None for plans that were drawn.
pub(crate) fn job(plan: &JobPlan, log: &Log) -> Result<Job, JobError> {
    let mut builder = settings(plan)?;
    if plan.force_release {
        builder = builder.force_release_on_timeout();
    }
    let (log, work) = (log.clone(), plan.work.clone());
    Ok(if plan.blocking {
        builder.run_blocking(move |run| {
            let end = Ends::of(&log, &run);
            // Its time has passed by now: see `NodeSpawner::blocking_takes`.
            conclude(pick(&work, &run), end)
        })
    } else {
        builder.run(move |run| {
            let end = Ends::of(&log, &run);
            let work = pick(&work, &run);
            if work == Work::PanicsAtOnce {
                panics(end);
            }
            works(work, run, end)
        })
    })
}

fn settings(plan: &JobPlan) -> Result<JobBuilder, JobError> {
    let schedule = plan.when.schedule()?;
    let mut builder = Job::new(&plan.id)
        .schedule(schedule)
        .grace(Duration::from_millis(plan.grace_ms))
        .misfire(plan.misfire)
        .splay(Duration::from_millis(plan.splay_ms));
    if let Some(ttl) = plan.ttl_ms {
        builder = builder.lock_ttl(Duration::from_millis(ttl));
    }
    if plan.fixed_lease {
        builder = builder.fixed_lease();
    }
    if let Some(timeout) = plan.timeout_ms {
        builder = builder.timeout(Duration::from_millis(timeout));
    }
    if let Some(limit) = plan.start_within_ms {
        builder = builder.start_within(Duration::from_millis(limit));
    }
    Ok(builder)
}

/// What this run does: by its id, which is as random as can be.
fn pick(work: &[Work], run: &RunContext) -> Work {
    let bits = run.run_id().get() % (work.len().max(1) as u128);
    usize::try_from(bits).ok().and_then(|at| work.get(at)).copied().unwrap_or(Work::Quick)
}

async fn works(work: Work, run: RunContext, end: Ends) -> Result<(), &'static str> {
    let (ms, heeds) = match work {
        Work::Quick | Work::PanicsAtOnce => (0, false),
        Work::Heeds(ms) => (ms, true),
        Work::Steps(ms) | Work::Fails(ms) | Work::Panics(ms) => (ms, false),
    };
    for _ in 0..STEPS.min(ms) {
        let step = sleep(Duration::from_millis((ms / STEPS).max(1)));
        if heeds {
            select! {
                biased;
                reason = run.cancelled() => {
                    end.log.note(What::Told(end.handler, reason));
                    return conclude(Work::Fails(0), end);
                }
                () = step => {}
            }
        } else {
            step.await;
        }
        end.log.writes(end.handler);
    }
    conclude(work, end)
}

fn conclude(work: Work, mut end: Ends) -> Result<(), &'static str> {
    match work {
        Work::Fails(_) => {
            end.how = End::Error;
            Err("as the plan has it")
        }
        Work::Panics(_) | Work::PanicsAtOnce => panics(end),
        Work::Quick | Work::Steps(_) | Work::Heeds(_) => {
            end.how = End::Ok;
            Ok(())
        }
    }
}

/// Panics without the message that a panic prints.
fn panics(mut end: Ends) -> ! {
    end.how = End::Panic;
    drop(end);
    resume_unwind(Box::new("as the plan has it"))
}

/// Notes the end of a handler when it is dropped.
struct Ends {
    log: Log,
    handler: Handler,
    how: End,
}

impl Ends {
    fn of(log: &Log, run: &RunContext) -> Self {
        let handler = log.handler(run);
        log.note(What::Began(handler));
        Self { log: log.clone(), handler, how: End::Dropped }
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.log.note(What::Ended(self.handler, self.how));
    }
}
