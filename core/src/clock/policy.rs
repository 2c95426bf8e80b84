//! What a node does about its own skew.

/// What a node does about the difference between its clock and the backend's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClockPolicy {
    /// Tells of it, and goes by its own clock. A node that is ahead by `max_ahead` or more goes by
    /// the backend's, which would refuse its ticks as too early.
    #[default]
    Warn,
    /// Goes by the backend's clock. An error at start where the backend has none.
    Correct,
}
