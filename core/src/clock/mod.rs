//! Wall time, and how tests move it.

mod policy;
mod system;
mod test_clock;

use std::fmt::Debug;
use std::sync::Arc;

use jiff::Timestamp;

pub use policy::ClockPolicy;
pub use system::SystemClock;
pub use test_clock::TestClock;

/// The node's wall clock: it decides which occurrence is due, and nothing else.
///
/// How long a lease lives is measured on tokio's monotonic time, and when a lock expires by the
/// backend's clock.
pub trait Clock: Debug + Send + Sync + 'static {
    /// The time it shows now.
    fn now(&self) -> Timestamp;
}

impl<T: Clock + ?Sized> Clock for Arc<T> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}
