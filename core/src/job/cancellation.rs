//! Telling a run to stop, and why.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// Why a run was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelReason {
    /// The lock was lost, or is about to expire without the backend having renewed it.
    LockLost,
    /// The job's timeout is over.
    Timeout,
    /// The scheduler shuts down.
    Shutdown,
    /// A newer run takes this one's place.
    Replaced,
    /// An operator said so.
    Operator,
}

impl fmt::Display for CancelReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::LockLost => "lock lost",
            Self::Timeout => "timeout",
            Self::Shutdown => "shutdown",
            Self::Replaced => "replaced",
            Self::Operator => "operator",
        })
    }
}

/// Tells a run that it should stop, and why. The first reason stays.
///
/// Clones are the same one; it may be handed to threads and tasks of the handler.
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    reason: OnceLock<CancelReason>,
    token: CancellationToken,
}

impl Cancellation {
    pub(crate) fn cancel(&self, reason: CancelReason) {
        if self.inner.reason.set(reason).is_ok() {
            self.inner.token.cancel();
        }
    }

    /// Waits until the run is told to stop.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the call is dropped.
    pub async fn cancelled(&self) -> CancelReason {
        self.inner.token.cancelled().await;
        // The reason is set before the token fires.
        self.reason().unwrap_or(CancelReason::Shutdown)
    }

    /// Whether the run was told to stop: for code that polls, such as a thread.
    pub fn is_cancelled(&self) -> bool {
        self.inner.token.is_cancelled()
    }

    /// Why, once it was told.
    pub fn reason(&self) -> Option<CancelReason> {
        self.inner.reason.get().copied()
    }

    /// The same as a token of `tokio-util`, without the reason, for code that takes one.
    /// Cancelling it cancels what was built on it, not the run.
    pub fn token(&self) -> CancellationToken {
        self.inner.token.child_token()
    }
}
