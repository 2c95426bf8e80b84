//! Telling a run to stop, and why.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    reason: Option<CancelReason>,
    /// Made when somebody waits: few runs have anybody who does.
    token: Option<CancellationToken>,
}

impl Cancellation {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn cancel(&self, reason: CancelReason) {
        let mut state = self.state();
        if state.reason.is_some() {
            return;
        }
        state.reason = Some(reason);
        let token = state.token.clone();
        drop(state);
        // What waits is woken with the state given back.
        if let Some(token) = token {
            token.cancel();
        }
    }

    /// Fires with the reason set.
    fn own_token(&self) -> CancellationToken {
        let mut state = self.state();
        let cancelled = state.reason.is_some();
        let token = state.token.get_or_insert_default().clone();
        drop(state);
        if cancelled {
            token.cancel();
        }
        token
    }

    /// Waits until the run is told to stop.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the call is dropped.
    pub async fn cancelled(&self) -> CancelReason {
        self.own_token().cancelled_owned().await;
        // The reason is set before the token fires.
        self.reason().unwrap_or(CancelReason::Shutdown)
    }

    /// Whether the run was told to stop: for code that polls, such as a thread.
    pub fn is_cancelled(&self) -> bool {
        self.reason().is_some()
    }

    /// Why, once it was told.
    pub fn reason(&self) -> Option<CancelReason> {
        self.state().reason
    }

    /// The same as a token of `tokio-util`, without the reason, for code that takes one.
    /// Cancelling it cancels what was built on it, not the run.
    pub fn token(&self) -> CancellationToken {
        self.own_token().child_token()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_before_and_who_asks_after_hears_the_first_reason() {
        let run = Cancellation::default();
        let (before, waiting) = (run.token(), run.clone());
        let heard = async { waiting.cancelled().await };
        let told = async {
            tokio::task::yield_now().await;
            assert!(!run.is_cancelled() && !before.is_cancelled());
            run.cancel(CancelReason::Timeout);
            run.cancel(CancelReason::Shutdown);
        };
        assert_eq!(tokio::join!(heard, told).0, CancelReason::Timeout);
        assert!(before.is_cancelled() && run.token().is_cancelled());

        let run = Cancellation::default();
        run.cancel(CancelReason::Operator);
        assert_eq!(run.cancelled().await, CancelReason::Operator);
        assert!(run.token().is_cancelled() && run.is_cancelled());
        let run = Cancellation::default();
        run.token().cancel();
        assert!(!run.is_cancelled(), "what was built on it is not the run");
    }
}
