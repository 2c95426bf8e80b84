//! What is compared: everything, save for clocks and the numbers made of them.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use tidelock::{
    Acquisition, FencingToken, LockState, Mark, Moved, OpenRun, Record, Release, RunState, Untold,
};

/// Starts that tests make up are in the first year of the clock.
const YEAR: SignedDuration = SignedDuration::from_hours(365 * 24);

/// Tokens in the order they came, since their numbers are made of a clock, or of a store's count.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    names: BTreeMap<FencingToken, usize>,
    /// Whether both tell their clocks.
    clocks: bool,
    /// Whether an operator has cleared the mark: what is untold of older grants may go with it.
    pub(super) cleared: bool,
}

impl Tokens {
    pub(super) fn new(clocks: bool) -> Self {
        Self { names: BTreeMap::new(), clocks, cleared: false }
    }

    fn name(&mut self, token: FencingToken) -> usize {
        let next = self.names.len();
        *self.names.entry(token).or_insert(next)
    }

    pub(super) fn acquisition(&mut self, acquisition: &Acquisition) -> String {
        match acquisition {
            Acquisition::Granted(grant) => {
                let token = self.name(grant.lease.token);
                let run_id = grant.lease.run_id;
                let others = grant.abandoned.iter().filter(|run| run.run_id != run_id);
                let named = self.open(others);
                let untold = self.untold(&grant.untold);
                format!("granted {token} {:?} {untold} {named:?}", grant.previous)
            }
            Acquisition::Consumed(consumed) => format!("{consumed:?}"),
            Acquisition::AlreadyTaken(taken) => {
                format!("taken {} {}", self.mark(&taken.mark), taken.running)
            }
            Acquisition::TooEarly { by } if self.clocks => {
                format!("early by {} s", by.as_secs() / 10)
            }
            Acquisition::TooEarly { .. } => "early".into(),
            Acquisition::Held(held) => {
                format!("held {} {} {}", held.holder, held.run_id, held.node)
            }
            Acquisition::Expired(lease) => format!("expired {}", self.name(lease.token)),
            other => format!("{other:?}"),
        }
    }

    fn untold(&self, untold: &Untold) -> String {
        if self.cleared { String::new() } else { format!("{untold:?}") }
    }

    fn mark(&mut self, mark: &Mark) -> String {
        let moved = match mark.moved {
            Moved::Granted(token) => format!("granted {}", self.name(token)),
            other => format!("{other:?}"),
        };
        let (point, previous, skew) = (&mark.point, &mark.previous, &mark.skew);
        let untold = &mark.untold;
        format!(
            "{point:?} {moved} {} {} {} {previous:?} {skew:?} {untold:?} {}",
            mark.holder,
            mark.run_id,
            mark.node,
            mark.at.is_some() && self.clocks
        )
    }

    /// A manual run whose first grant is gone may be granted again. Whether that makes one open
    /// run of it or two is the backend's.
    fn open<'a>(&mut self, runs: impl Iterator<Item = &'a OpenRun>) -> Vec<String> {
        let mut newest: Vec<&OpenRun> = Vec::new();
        for run in runs {
            newest.retain(|older| older.run_id != run.run_id);
            newest.push(run);
        }
        let one = |run: &OpenRun| {
            let token = self.name(run.token);
            let untold = self.untold(&run.untold);
            format!("{} {} {:?} {token} {untold}", run.run_id, run.node, run.occurrence)
        };
        newest.into_iter().map(one).collect()
    }

    pub(super) fn state(&mut self, state: &LockState) -> String {
        let mark = state.mark.as_ref().map(|mark| self.mark(mark));
        let token = state.token.map(|token| self.name(token));
        let held = state.held.as_ref().map(|held| format!("{} {}", held.holder, held.run_id));
        format!("{mark:?} {token:?} {held:?} {:?}", self.open(state.open_runs.iter()))
    }

    pub(super) fn history(&mut self, records: &[Record]) -> Vec<String> {
        let one = |record: &Record| {
            let mut record = record.clone();
            let token = record.token.take().map(|token| self.name(token));
            if record.state == RunState::Abandoned {
                // By the server's clock: the end, and the start of a run that had no record.
                record.ended = None;
                record.started = record.started.min(Timestamp::UNIX_EPOCH + YEAR);
            }
            format!("{token:?} {record:?}")
        };
        records.iter().map(one).collect()
    }
}

pub(super) fn release(release: Release) -> String {
    format!("{release:?}")
}
