//! `tokio-cron-scheduler`, as its documentation sets it up.

use std::sync::Arc;

use tokio_cron_scheduler::{Job, JobScheduler};

use super::{Error, Running, When};
use crate::engine::fires::Fires;

pub(super) async fn start(fires: Arc<Fires>, when: &[When]) -> Result<Running, Error> {
    let scheduler = JobScheduler::new().await?;
    for (number, when) in when.iter().enumerate() {
        let fires = fires.clone();
        let run = move |_, _| {
            let fires = fires.clone();
            let run: std::pin::Pin<Box<dyn Future<Output = ()> + Send>> =
                Box::pin(async move { fires.fired(number) });
            run
        };
        let text = when.expression();
        let job = match when.in_zone() {
            true => Job::new_async_tz(text.as_str(), chrono_tz::Tz::Europe__Berlin, run)?,
            false => Job::new_async(text.as_str(), run)?,
        };
        scheduler.add(job).await?;
    }
    scheduler.start().await?;
    Ok(Box::new(scheduler))
}
