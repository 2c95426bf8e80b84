//! Taking ticks and holding locks: the first of the two traits of a backend.

mod acquisition;
mod key;
mod lease;
mod mark;
mod request;
mod state;
mod token;
mod untold;

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;

pub use acquisition::{Acquisition, Consumed, Grant, HeldBy, Taken};
pub use key::LockKey;
pub use lease::{Clear, Lease, Release, Renewal};
pub use mark::{Mark, MarkPoint, Moved};
pub use request::{AcquireRequest, IfHeld, Intent};
pub use state::{LockState, OpenRun};
pub use token::FencingToken;
pub use untold::{PassedOver, SkippedRow, Untold};

use crate::{Answer, BackendError};

/// The lock of each job, its mark and its token, at a store that all nodes share.
///
/// # Contract
///
/// Every method is one atomic step at the store. What a store tells of contention is a value;
/// `Err` means "could not find out" and may leave the step done or not done. Every answer carries
/// the backend's clock, where it has one. The numbers below are those of the conformance suite.
///
/// **[`acquire`](Self::acquire)** looks at these in order; the first that applies answers. A manual
/// run has no occurrence: 2 to 4 and the marks of 5 to 7 do not apply to it, and the mark stays.
///
/// 1. The lock is held by this very holder: `Granted` again with the same token and the same mark
///    as it was, the TTL set anew.
/// 2. The mark is this occurrence and this very holder moved it: its first answer again, or
///    `Expired` where that was a grant whose lock has gone.
/// 3. The occurrence is not newer than the mark: `AlreadyTaken`, with the mark, and whether the run
///    that moved it still holds the lock.
/// 4. It is further ahead of the backend's own clock than `max_ahead`: `TooEarly`. (A backend
///    without a clock answers so only for what is seconds more ahead of a clock that it sees by
///    other ways, or never.)
/// 5. The intent is `Skip`: the mark moves, held lock or not, and nothing else: `Consumed`.
/// 6. The lock is held by another: `Held`, and nothing has changed; with
///    [`IfHeld::Consume`], once the backend's clock has reached the occurrence (a backend without
///    a clock: at once), the mark moves instead: `Consumed`, with [`SkipReason::Overlap`] and the
///    run in the way.
/// 7. Else `Granted`: the token grows, the mark moves to the occurrence, the run joins the open
///    runs, the lock is set with the TTL.
/// 8. Of any number of nodes that ask for one occurrence at once, one hears `Granted`.
/// 9. A token is larger than every earlier one of its key, over expiry, release and forced
///    release. (With a clock: the larger of the last one plus 1 and the clock in microseconds, so
///    that it grows even over data that the store has lost.)
/// 10. `Granted` and `Consumed` carry the mark as it was; a manual run carries none.
/// 11. A grant names every other open run as abandoned, again at each grant, until a run to which
///     it was named is released.
/// 12. Mark and token do not expire.
///
/// **[`renew`](Self::renew)**
///
/// 13. Renews for the holder named in the lease alone, and sets the TTL anew, never adds to it.
/// 14. Never creates a key: an expired lock is `Lost`.
///
/// **[`release`](Self::release)**
///
/// 15. Frees the lock for the holder named in the lease alone; another's stays as it is, TTL too.
/// 16. Removes the run from the open runs, and those named to it, even when the lock has gone.
/// 17. Repeated, it is `NotHeld`.
///
/// **[`inspect`](Self::inspect)**
///
/// 18. Tells mark, token, holder and open runs, and changes nothing; an unknown key is empty.
///
/// **[`force_release`](Self::force_release)**
///
/// 19. Frees the lock whoever holds it. The mark stays, or goes when told so, with what is untold;
///     the token and the open runs stay.
///
/// **Keys**
///
/// 20. What happens to one key changes nothing of another, whatever the ids contain.
///
/// **Ticks that did not run**
///
/// 21. What is [untold](Untold) stays: with the mark while ticks are consumed, then with the open
///     run of the next grant. `Consumed` and `Granted` carry it, a repeated answer too, and
///     abandoned runs are named with theirs. A manual run leaves it with the mark.
///
/// [`SkipReason::Overlap`]: crate::SkipReason::Overlap
#[async_trait]
pub trait LockBackend: Debug + Send + Sync + 'static {
    /// Whether answers carry a clock of the backend's own.
    ///
    /// Without one, little or nothing is ever `TooEarly`, and the scheduler itself waits before it
    /// consumes.
    fn has_clock(&self) -> bool;

    /// Asks for one occurrence.
    ///
    /// # Errors
    ///
    /// Whether the tick was taken is then unknown. Asking again with the very same request is safe
    /// and tells.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been executed, like one that failed.
    async fn acquire(&self, request: &AcquireRequest) -> Result<Answer<Acquisition>, BackendError>;

    /// Sets the lock's life to `ttl` from now.
    ///
    /// # Errors
    ///
    /// Whether the lock was renewed is then unknown; it may be tried again.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been executed, even later than a release sent after it: which is
    /// why it never creates a key.
    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError>;

    /// Gives the lock up.
    ///
    /// # Errors
    ///
    /// Whether it was released is then unknown; it may be tried again.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been executed.
    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError>;

    /// Reads what is known of a key.
    ///
    /// # Errors
    ///
    /// The store could not be read, or holds something that is no lock state.
    async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError>;

    /// Frees a lock whoever holds it: for operators.
    ///
    /// # Errors
    ///
    /// Whether it was freed is then unknown; it may be tried again.
    async fn force_release(
        &self,
        key: &LockKey,
        clear: Clear,
    ) -> Result<Answer<Release>, BackendError>;
}

macro_rules! forward_locks {
    ($pointer:ident) => {
        #[async_trait]
        #[warn(clippy::missing_trait_methods)]
        impl<T: LockBackend + ?Sized> LockBackend for $pointer<T> {
            fn has_clock(&self) -> bool {
                (**self).has_clock()
            }
            async fn acquire(
                &self,
                request: &AcquireRequest,
            ) -> Result<Answer<Acquisition>, BackendError> {
                (**self).acquire(request).await
            }
            async fn renew(
                &self,
                lease: &Lease,
                ttl: Duration,
            ) -> Result<Answer<Renewal>, BackendError> {
                (**self).renew(lease, ttl).await
            }
            async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
                (**self).release(lease).await
            }
            async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError> {
                (**self).inspect(key).await
            }
            async fn force_release(
                &self,
                key: &LockKey,
                clear: Clear,
            ) -> Result<Answer<Release>, BackendError> {
                (**self).force_release(key, clear).await
            }
        }
    };
}

use std::sync::Arc;
forward_locks!(Arc);
forward_locks!(Box);
