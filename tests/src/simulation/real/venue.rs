//! Where a plan is played.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tidelock::{Backend, Clock};

/// Servers, and routes to them.
#[async_trait]
pub trait Venue: fmt::Debug + Send + Sync + 'static {
    /// A route for one node, from its start to its end.
    async fn route(&self) -> Arc<dyn Route>;

    /// A backend by a route that nothing happens to, for who looks at what is left.
    fn reader(&self) -> Arc<dyn Backend>;

    /// Stops a server without a word, or kills it. May block: it is called on a thread of its own.
    fn stop(&self, member: usize, dies: bool) {
        let _ = (member, dies);
    }

    /// Lets a server go on that was stopped, or starts one that was killed, and waits until it
    /// answers. May block.
    fn go_on(&self, member: usize, died: bool) {
        let _ = (member, died);
    }
}

/// One node's way to the servers.
pub trait Route: fmt::Debug + Send + Sync + 'static {
    /// A client by this route.
    fn backend(&self) -> Arc<dyn Backend>;

    /// Cuts it: connections are closed, or stay and carry nothing. `false`: it has nothing to cut,
    /// and calls are failed instead.
    fn cut(&self, silent: bool) -> bool {
        let _ = silent;
        false
    }

    /// Makes an answer come so much later in all. `false`: calls are made slow instead.
    fn slow(&self, by: Duration) -> bool {
        let _ = by;
        false
    }

    /// Loses the next replies, and their connections with them.
    fn lose_replies(&self, count: usize) {
        let _ = count;
    }

    /// Opens it again, whatever was done to it.
    fn open(&self) {}
}

/// The true time at a venue: what clocks are compared with.
pub(super) fn true_time() -> jiff::Timestamp {
    tidelock::SystemClock.now()
}
