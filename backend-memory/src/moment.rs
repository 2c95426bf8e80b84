//! When a step happens.

use jiff::Timestamp;
use tokio::time::Instant;

/// The moment of one step: when locks expire, and what the server's clock shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) instant: Instant,
    pub(crate) wall: Timestamp,
}
