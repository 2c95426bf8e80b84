//! What is wrong at a moment: disturbances overlap, and outlast the nodes that they began with.

use std::time::Duration;

use super::disturbance::Disturbance;

/// The disturbances that have begun and are not over, each until a moment in milliseconds since the
/// start.
#[derive(Debug, Default)]
pub(crate) struct Ongoing(Vec<(u64, Disturbance)>);

/// What is wrong with the way from a place in the fleet to the backend, whoever is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// Whether it is cut off, and then whether calls hang rather than fail.
    pub(crate) cut: Option<bool>,
    /// By how much answers are late.
    pub(crate) slow: Option<Duration>,
    /// Whether records are not taken, and then whether calls hang rather than fail.
    pub(crate) records_away: Option<bool>,
}

impl Ongoing {
    /// One begins, if it is one that lasts.
    pub(crate) fn begin(&mut self, at: u64, mut what: Disturbance) {
        if let Some(&mut lasts) = what.duration_mut() {
            self.0.push((at.saturating_add(lasts), what));
        }
    }

    /// Those end whose time it is.
    pub(crate) fn end(&mut self, at: u64) {
        self.0.retain(|(until, _)| *until > at);
    }

    /// All end.
    pub(crate) fn end_all(&mut self) {
        self.0.clear();
    }

    /// What is wrong there now: of two of a kind, the worse.
    pub(crate) fn trouble(&self, seat: usize) -> Trouble {
        let mut now = Trouble::default();
        for (_, what) in &self.0 {
            match *what {
                Disturbance::Outage { silent, .. } => now.cut = now.cut.max(Some(silent)),
                _ if what.node() != Some(seat) => {}
                Disturbance::Cut { silent, .. } => now.cut = now.cut.max(Some(silent)),
                Disturbance::Slow { by_ms, .. } => {
                    now.slow = now.slow.max(Some(Duration::from_millis(by_ms)));
                }
                Disturbance::RecordsAway { silent, .. } => {
                    now.records_away = now.records_away.max(Some(silent));
                }
                _ => {}
            }
        }
        now
    }

    /// Whether nobody is to start in a place yet.
    pub(crate) fn keeps_empty(&self, seat: usize) -> bool {
        let away = |what: &Disturbance| match what {
            Disturbance::Kill { node, .. }
            | Disturbance::Stop { node, .. }
            | Disturbance::Drop { node, .. } => *node == seat,
            _ => false,
        };
        self.0.iter().any(|(_, what)| away(what))
    }

    /// Whether a job is not to be put back in a place yet.
    pub(crate) fn keeps_out(&self, seat: usize, of: usize) -> bool {
        let out = |what: &Disturbance| match what {
            Disturbance::Remove { node, job, .. } => (*node, *job) == (seat, of),
            _ => false,
        };
        self.0.iter().any(|(_, what)| out(what))
    }
}
