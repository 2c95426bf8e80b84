//! The way from one node to the backend.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// What becomes of a request that a node sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Way {
    #[default]
    Open,
    Refused,
    Silent,
}

/// The way from one node to the backend, to be cut and healed by a test. Clones are the same link.
///
/// What was sent before a cut still arrives, and its answer does not come back while the link is
/// cut.
#[derive(Clone, Debug, Default)]
pub struct Link(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    way: Mutex<Way>,
    /// Wakes who waits in the order in which they came, unlike a watch channel.
    changed: Notify,
}

impl Link {
    /// A link that works.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cuts it: every request fails at once.
    pub fn cut(&self) {
        self.set(Way::Refused);
    }

    /// Cuts it so that nothing ever answers: a request hangs until the link is healed, and fails
    /// then.
    pub fn cut_silently(&self) {
        self.set(Way::Silent);
    }

    /// Makes it work again.
    pub fn heal(&self) {
        self.set(Way::Open);
    }

    /// Whether it is cut, in either way.
    pub fn is_cut(&self) -> bool {
        self.way() != Way::Open
    }

    /// Whether a message passes; waits as long as nobody says so.
    pub(crate) async fn passes(&self) -> bool {
        match self.way() {
            Way::Open => return true,
            Way::Refused => return false,
            Way::Silent => {}
        }
        loop {
            let mut changed = pin!(self.0.changed.notified());
            // From here on a change is not overlooked.
            changed.as_mut().enable();
            if self.way() != Way::Silent {
                // What has waited fails.
                return false;
            }
            changed.await;
        }
    }

    fn way(&self) -> Way {
        *self.0.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, way: Way) {
        *self.0.way.lock().unwrap_or_else(PoisonError::into_inner) = way;
        self.0.changed.notify_waiters();
    }
}
