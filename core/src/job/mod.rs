//! Jobs: what a user registers.

mod builder;
mod cancellation;
mod context;
mod definition;
mod error;
mod handler;
mod policy;

pub use builder::JobBuilder;
pub use cancellation::{CancelReason, Cancellation};
pub use context::RunContext;
pub(crate) use definition::Definition;
pub use error::JobError;
pub use handler::HandlerResult;
pub(crate) use handler::{Answering, AnyError, Handler};
pub use policy::Misfire;

/// What a user registers: id, schedule, policies and handler.
///
/// ```
/// use std::time::Duration;
/// use tidelock::Job;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let settlement = Job::new("settlement")
///     .cron("0 2 1 * *")?
///     .time_zone("Asia/Shanghai")?
///     .timeout(Duration::from_secs(600))
///     .run(|run| async move {
///         println!("settling {:?} under token {}", run.occurrence(), run.fencing_token());
///         Ok::<(), std::io::Error>(())
///     });
/// # let _ = settlement;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a job does nothing until it is registered with a scheduler"]
pub struct Job {
    settings: JobBuilder,
    handler: Handler,
}

impl Job {
    /// Begins a job of that id. What is wrong with the id is told when the job is registered.
    #[expect(clippy::new_ret_no_self, reason = "a job without a handler is none yet")]
    pub fn new(id: impl Into<String>) -> JobBuilder {
        JobBuilder::new(id.into())
    }
}
