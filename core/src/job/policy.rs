//! What becomes of ticks that nobody ran in time.

/// What a node does with ticks that fell due while no node was up, or that a clock jumped over.
///
/// It never depends on how many there are. Ticks older than those that are run are recorded as
/// missed.
///
/// A job of which no tick was ever taken begins when a node registers it: it has missed nothing of
/// what was before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misfire {
    /// Run the newest missed tick once, if it is not later than
    /// [`start_within`](crate::JobBuilder::start_within) (default: 1 h); else skip and record it.
    #[default]
    Once,
    /// Run none of them; record that.
    Skip,
    /// Run the newest `max`, oldest first, one at a time. They wait for the lock rather than being
    /// consumed by a run that is in the way. No limit on their lateness unless
    /// [`start_within`](crate::JobBuilder::start_within) is given.
    All {
        /// How many at most. More than 1,000 are as good as 1,000: a node does not count further.
        max: u32,
    },
}
