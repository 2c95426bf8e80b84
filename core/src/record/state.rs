//! What became of a run, or of a tick that did not run.

use std::fmt;
use std::str::FromStr;

/// Why a tick did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkipReason {
    /// Another run of the job held the lock.
    Overlap,
    /// It was found later than the job's misfire policy allows.
    Misfire,
    /// It was granted when its time was over: its successor was due, or `start_within` had passed.
    TooLate,
    /// Too few replicas of the store had its grant in time, where so many were asked for.
    Unreplicated,
}

/// The state of a run, or why a tick was none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunState {
    /// Granted and not ended.
    Running,
    /// The handler returned `Ok`, and had not been told to stop before.
    Succeeded,
    /// The handler returned an error.
    Failed,
    /// The handler panicked.
    Panicked,
    /// The handler went on past its timeout.
    TimedOut,
    /// The run was told to stop: a shutdown, or an operator.
    Cancelled,
    /// The lock was lost, or could not be proved to be held, while the handler ran.
    LockLost,
    /// The run's node died, or lost its lock and never told.
    Abandoned,
    /// A tick that a node moved the mark past on purpose.
    Skipped(SkipReason),
    /// Ticks that nobody asked for in time, found when the mark moved past them.
    Missed,
}

impl RunState {
    /// All states, to read them back by name.
    const ALL: [Self; 13] = [
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Panicked,
        Self::TimedOut,
        Self::Cancelled,
        Self::LockLost,
        Self::Abandoned,
        Self::Skipped(SkipReason::Overlap),
        Self::Skipped(SkipReason::Misfire),
        Self::Skipped(SkipReason::TooLate),
        Self::Skipped(SkipReason::Unreplicated),
        Self::Missed,
    ];

    /// Its name in stores: lower case, fixed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Panicked => "panicked",
            Self::TimedOut => "timed-out",
            Self::Cancelled => "cancelled",
            Self::LockLost => "lock-lost",
            Self::Abandoned => "abandoned",
            Self::Skipped(SkipReason::Overlap) => "skipped-overlap",
            Self::Skipped(SkipReason::Misfire) => "skipped-misfire",
            Self::Skipped(SkipReason::TooLate) => "skipped-too-late",
            Self::Skipped(SkipReason::Unreplicated) => "skipped-unreplicated",
            Self::Missed => "missed",
        }
    }

    /// Whether nothing comes after it (save that `Abandoned`, which others write, yields to the
    /// run's own).
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Running)
    }

    /// Whether it is about ticks that did not run.
    pub const fn is_tick_not_run(self) -> bool {
        matches!(self, Self::Skipped(_) | Self::Missed)
    }

    /// Whether a stored record in this state gives way to a new one of the same run in `new`.
    ///
    /// `Running` gives way to anything, `Abandoned` to the run's own end, and what tells of ticks
    /// that did not run to more of the same.
    pub fn yields_to(self, new: Self) -> bool {
        match self {
            Self::Running => true,
            Self::Abandoned => new.is_final() && new != Self::Abandoned,
            _ => self.is_tick_not_run() && self == new,
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that names no state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a run state")]
pub struct RunStateError(());

impl FromStr for RunState {
    type Err = RunStateError;

    fn from_str(name: &str) -> Result<Self, RunStateError> {
        Self::ALL.into_iter().find(|state| state.as_str() == name).ok_or(RunStateError(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_read_back_from_their_names() {
        for state in RunState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert!("Running".parse::<RunState>().is_err());
    }

    #[test]
    fn a_final_state_yields_to_nothing_but_abandoned_to_the_runs_own() {
        use RunState::{Abandoned, Failed, Missed, Running, Succeeded};
        assert!(Running.yields_to(Running) && Running.yields_to(Failed));
        assert!(Abandoned.yields_to(Succeeded) && !Abandoned.yields_to(Running));
        assert!(!Abandoned.yields_to(Abandoned) && !Failed.yields_to(Succeeded));
        assert!(Missed.yields_to(Missed) && !Missed.yields_to(Abandoned));
    }
}
