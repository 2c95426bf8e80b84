//! The way from one node to the backend.

use std::sync::Arc;

use tokio::sync::watch;

/// What becomes of a request that a node sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Open,
    Refused,
    Silent,
}

/// The way from one node to the backend, to be cut and healed by a test. Clones are the same link.
///
/// What was sent before a cut still arrives, and its answer does not come back while the link is
/// cut.
#[derive(Clone, Debug)]
pub struct Link(Arc<watch::Sender<Way>>);

impl Default for Link {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Way::Open)))
    }
}

impl Link {
    /// A link that works.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cuts it: every request fails at once.
    pub fn cut(&self) {
        self.0.send_replace(Way::Refused);
    }

    /// Cuts it so that nothing ever answers: a request hangs until the link is healed, and fails
    /// then.
    pub fn cut_silently(&self) {
        self.0.send_replace(Way::Silent);
    }

    /// Makes it work again.
    pub fn heal(&self) {
        self.0.send_replace(Way::Open);
    }

    /// Whether it is cut, in either way.
    pub fn is_cut(&self) -> bool {
        *self.0.borrow() != Way::Open
    }

    /// Whether a message passes; waits as long as nobody says so.
    pub(crate) async fn passes(&self) -> bool {
        let way = *self.0.borrow();
        if way == Way::Silent {
            let mut changes = self.0.subscribe();
            // The sender lives as long as this link.
            let _ = changes.wait_for(|way| *way != Way::Silent).await;
        }
        way == Way::Open
    }
}
