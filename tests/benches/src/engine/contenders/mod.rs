//! What is measured: each registers jobs and calls a handler for each tick.

mod apalis;
mod floor;
mod ours;
mod tokio_cron;

use std::any::Any;
use std::sync::Arc;

use super::fires::Fires;

/// When a job is due.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// Each day at that second of the day, in UTC.
    Daily(u32),
    /// Each minute at that second.
    EachMinute(u32),
    /// Once a year, in Berlin: about never.
    Yearly,
}

/// The words that name contenders, in the order of the tables: the floor first.
pub(super) const ALL: [&str; 4] = ["floor", "tidelock", "tokio-cron-scheduler", "apalis-cron"];

/// The same, and last a floor that claims its ticks and records its runs as ours does: where fires
/// are what is measured.
pub(super) const FIRING: [&str; 5] = [ALL[0], ALL[1], ALL[2], ALL[3], "floor-claiming"];

/// What stands in the tables.
pub(super) fn title(word: &str) -> &str {
    match word {
        "floor" => "floor: heap, one timer, a spawn a fire",
        "floor-claiming" => "floor, with `begin` and `finish`",
        "tokio-cron-scheduler" => "tokio-cron-scheduler 0.15.1",
        "apalis-cron" => "apalis-cron 1.0.0",
        other => other,
    }
}

/// What keeps a contender running.
pub(super) type Running = Box<dyn Any>;

/// Registers a job for each fire and starts.
pub(super) async fn start(word: &str, fires: Arc<Fires>, when: &[When]) -> Running {
    let started = match word {
        "floor" => Ok(floor::start(&fires, when)),
        "floor-claiming" => Ok(floor::start_claiming(&fires, when)),
        "tidelock" => ours::start(fires, when).await,
        "tokio-cron-scheduler" => tokio_cron::start(fires, when).await,
        "apalis-cron" => apalis::start(fires, when),
        other => Err(format!("no contender {other}").into()),
    };
    started.unwrap_or_else(|error| panic!("{word}: {error}"))
}

type Error = Box<dyn std::error::Error + Send + Sync>;

impl When {
    /// Six fields, second first, as all of them read it.
    fn expression(self) -> String {
        match self {
            Self::Daily(second) => {
                let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
                format!("{second} {minute} {hour} * * *")
            }
            Self::EachMinute(second) => format!("{second} * * * * *"),
            Self::Yearly => "0 0 3 1 1 *".to_owned(),
        }
    }

    fn in_zone(self) -> bool {
        matches!(self, Self::Yearly)
    }
}
