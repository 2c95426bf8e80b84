//! What is stored about runs: the second of the two traits of a backend.

mod query;
#[expect(clippy::module_inception, reason = "the file is named for its type, like all others")]
mod record;
mod state;
pub mod stored;
mod text;

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;

pub use query::RecordQuery;
pub use record::{Record, TickSpan};
pub use state::{RunState, RunStateError, SkipReason};

use crate::BackendError;

/// Where records are kept.
///
/// # Contract
///
/// The numbers are those of the conformance suite.
///
/// 1. [`save`](Self::save) stores by run id: what is saved twice is there once, in its first place.
/// 2. A final state is never replaced, neither by `Running` nor by another final one, except that
///    `Abandoned` yields to the run's own end ([`Record::yields_to`], [`Record::replaced_by`]).
/// 3. A record of ticks that did not run yields to one of the same run id that tells of more.
/// 4. The store gives the order, by a sequence of its own: never a node's clock.
/// 5. The newest `keep` runs of a job stay (default: 100), whichever writers saved them.
/// 6. What was last saved longer ago than `max_age` goes (default: 7 days), at the latest when
///    something of the job is saved.
/// 7. A run in state `Running` is never dropped.
/// 8. Ticks that did not run have a cap of their own, as large as that of runs.
/// 9. Any text comes back unchanged: quotes, NUL, U+2028, emoji, right-to-left.
/// 10. [`list`](Self::list) gives the records of the one job, newest first, at most `limit`.
#[async_trait]
pub trait RecordStore: Debug + Send + Sync + 'static {
    /// Stores a record.
    ///
    /// # Errors
    ///
    /// Whether it was stored is then unknown; it may be saved again.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been executed.
    async fn save(&self, record: &Record) -> Result<(), BackendError>;

    /// Reads records.
    ///
    /// # Errors
    ///
    /// The store could not be read. An entry that is no record is left out rather than an error
    /// for the others, where the store can tell them apart.
    async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError>;
}

macro_rules! forward_records {
    ($pointer:ident) => {
        #[async_trait]
        #[warn(clippy::missing_trait_methods)]
        impl<T: RecordStore + ?Sized> RecordStore for $pointer<T> {
            async fn save(&self, record: &Record) -> Result<(), BackendError> {
                (**self).save(record).await
            }
            async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
                (**self).list(query).await
            }
        }
    };
}

forward_records!(Arc);
forward_records!(Box);
