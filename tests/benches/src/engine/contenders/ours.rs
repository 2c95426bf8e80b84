//! Tidelock over the memory backend.

use std::sync::Arc;

use tidelock::{Job, Scheduler};
use tidelock_memory::MemoryBackend;

use super::{Error, Running, When};
use crate::engine::fires::Fires;

pub(super) async fn start(fires: Arc<Fires>, when: &[When]) -> Result<Running, Error> {
    let mut builder = Scheduler::builder(MemoryBackend::new()).node_id("bench")?;
    for (number, when) in when.iter().enumerate() {
        let fires = fires.clone();
        let mut job = Job::new(format!("job-{number}")).cron(&when.expression())?;
        if when.in_zone() {
            job = job.time_zone("Europe/Berlin")?;
        }
        builder = builder.job(job.run(move |_| {
            fires.fired(number);
            std::future::ready(())
        }))?;
    }
    Ok(Box::new(builder.start().await?))
}
