//! A node's life, as far as the checks ask for it.

/// What may be wrong of a node for a while.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    Frozen,
    Cut,
    /// Its answers come late, its records are not taken, or replies to it are lost.
    Answers,
}

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
    /// How many runs went on when it had shut down.
    pub(super) still_running: usize,
    pub(super) killed: Option<u64>,
    /// When it stood still, was cut off, or its records were not taken.
    pub(super) troubles: Vec<(Trouble, u64, u64)>,
    /// When its records were first not taken.
    pub(super) records_away: Option<u64>,
}

impl LifeStory {
    pub(super) fn trouble(&mut self, what: Trouble, from: u64, to: Option<u64>) {
        self.troubles.push((what, from, to.unwrap_or(u64::MAX)));
    }

    /// What is over now, if it was wrong: it may have begun in the life before.
    pub(super) fn ends(&mut self, what: Trouble, at: u64) {
        let open = self.troubles.iter_mut().filter(|(of, _, to)| *of == what && *to == u64::MAX);
        open.for_each(|(_, _, to)| *to = at);
    }

    /// When something was wrong of it.
    pub(super) fn troubles(&self) -> impl Iterator<Item = (u64, u64)> {
        self.troubles.iter().map(|&(_, from, to)| (from, to))
    }

    /// When it had shut down, and was not killed before that.
    pub(super) fn shut_down(&self) -> Option<(u64, usize)> {
        self.stopped.filter(|(end, _)| self.killed.is_none_or(|killed| killed > *end))
    }
}
