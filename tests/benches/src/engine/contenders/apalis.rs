//! `apalis-cron`: a worker a job, each in a task of its own.

use std::str::FromStr;
use std::sync::Arc;

use apalis_core::worker::builder::WorkerBuilder;
use apalis_cron::{CronScheduler, Tick};

use super::{Error, Running, When};
use crate::engine::fires::Fires;

#[expect(clippy::disallowed_methods, reason = "the peer has no seam for its tasks")]
pub(super) fn start(fires: Arc<Fires>, when: &[When]) -> Result<Running, Error> {
    for (number, when) in when.iter().enumerate() {
        let fires = fires.clone();
        let schedule = cron::Schedule::from_str(&when.expression())?;
        let name = format!("job-{number}");
        if when.in_zone() {
            let zone = chrono_tz::Tz::Europe__Berlin;
            let worker = WorkerBuilder::new(name)
                .backend(CronScheduler::new(schedule).with_timezone(zone))
                .build(move |_tick: Tick<chrono_tz::Tz>| {
                    fires.fired(number);
                    std::future::ready(())
                });
            drop(tokio::spawn(worker.run()));
        } else {
            let worker = WorkerBuilder::new(name).backend(CronScheduler::new(schedule)).build(
                move |_tick: Tick| {
                    fires.fired(number);
                    std::future::ready(())
                },
            );
            drop(tokio::spawn(worker.run()));
        }
    }
    Ok(Box::new(()))
}
