//! Playing a plan in real time.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Venue;
use super::infer::infer;
use super::venue::true_time;
use crate::simulation::event::What;
use crate::simulation::handler;
use crate::simulation::log::{Log, Trace};
use crate::simulation::plan::Plan;
use crate::simulation::stage::Stage;

/// How often it is looked whether this process has its turns, and from when on it is noted.
const BEAT: Duration = Duration::from_millis(20);
const LATE: Duration = Duration::from_millis(100);

/// Plays a plan in real time at a venue. What is logged is in order where all of it is on one
/// thread: call it within a tokio runtime of one.
///
/// # Panics
///
/// When a job of the plan is none.
pub async fn play_real(plan: &Plan, venue: Arc<dyn Venue>) -> Trace {
    let ids = plan.ids();
    let log = Log::new(&ids, false);
    let jobs = handler::jobs(plan, &log);
    let plan = Plan { start: true_time(), ..plan.clone() };
    let beating = beat(log.clone());
    let mut trace = tokio::select! {
        trace = Stage::new(&plan, &jobs, &ids, log).at(venue).play() => trace,
        never = beating => match never {},
    };
    infer(&mut trace);
    trace
}

/// Notes when nothing went on here for long.
async fn beat(log: Log) -> std::convert::Infallible {
    loop {
        let begun = Instant::now();
        sleep(BEAT).await;
        let late = begun.elapsed().saturating_sub(BEAT);
        if late > LATE {
            log.note(What::Stalled(u64::try_from(late.as_micros()).unwrap_or(u64::MAX)));
        }
    }
}
