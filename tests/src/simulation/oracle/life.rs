//! A node's life, as far as the checks ask for it.

/// A node's life.
#[derive(Default)]
pub(super) struct LifeStory {
    pub(super) seat: usize,
    pub(super) up: u64,
    /// When jobs got their other schedules on it.
    pub(super) edited: Vec<(u64, usize)>,
    /// When jobs were put back on it.
    pub(super) added: Vec<(u64, usize)>,
    /// When jobs were put back on it, or began anew with another schedule.
    pub(super) begun: Vec<(u64, usize)>,
    /// When it first had an answer about a tick.
    pub(super) heard: Option<u64>,
    /// When it was told to stop, or its scheduler was dropped.
    pub(super) stopping: Option<u64>,
    pub(super) dropped: bool,
    /// When it had shut down, with how many records unsaved.
    pub(super) stopped: Option<(u64, usize)>,
    pub(super) killed: Option<u64>,
    /// When it stood still, was cut off, or its records were not taken.
    pub(super) troubles: Vec<(u64, u64)>,
    /// When its records were first not taken.
    pub(super) records_away: Option<u64>,
}

impl LifeStory {
    /// When it had shut down, and was not killed before that.
    pub(super) fn shut_down(&self) -> Option<(u64, usize)> {
        self.stopped.filter(|(end, _)| self.killed.is_none_or(|killed| killed > *end))
    }
}
