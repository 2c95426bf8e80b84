//! Which records the reference has dropped: another backend may still have a few of them.

use std::collections::BTreeSet;

use tidelock::{Record, RunId};

/// The runs that the reference lists, and those that it listed once.
#[derive(Debug, Default)]
pub(super) struct History {
    listed: BTreeSet<RunId>,
    dropped: BTreeSet<RunId>,
}

impl History {
    /// Takes note of what the reference lists by now.
    pub(super) fn look(&mut self, records: &[Record]) {
        let listed = records.iter().map(|record| record.run_id).collect();
        self.dropped.extend(self.listed.difference(&listed));
        self.listed = listed;
    }

    /// `None` for a run whose record was dropped: where it is stored all the same, one that is saved
    /// yields to it.
    pub(super) fn may_save(&self, run: RunId) -> Option<()> {
        (!self.dropped.contains(&run)).then_some(())
    }

    /// Leaves out what the reference has dropped: at the other one it comes back where one that was
    /// newer has gone, and at the reference where a run that was abandoned is named once more.
    pub(super) fn pass_over(&self, records: &mut Vec<Record>) {
        records.retain(|record| !self.dropped.contains(&record.run_id));
    }
}
