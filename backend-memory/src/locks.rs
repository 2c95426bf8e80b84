//! One key: its mark, its token, its lock and its open runs.

use std::time::Duration;

use tidelock::{
    Clear, FencingToken, HeldBy, Lease, LockState, Mark, MarkPoint, OpenRun, Release, Renewal,
    Untold,
};
use tokio::time::Instant;

use crate::moment::Moment;

/// What the store knows of one key.
#[derive(Debug, Default)]
pub(crate) struct KeyState {
    pub(crate) mark: Option<Mark>,
    pub(crate) token: Option<FencingToken>,
    pub(crate) lock: Option<Lock>,
    /// Oldest grant first.
    pub(crate) open_runs: Vec<OpenRun>,
}

/// A lock, expired or not.
#[derive(Debug)]
pub(crate) struct Lock {
    pub(crate) held: HeldBy,
    pub(crate) token: FencingToken,
    /// The mark as it was before the grant, and what was untold then, to answer a repeated request
    /// alike.
    pub(crate) previous: Option<MarkPoint>,
    pub(crate) untold: Untold,
    pub(crate) set: Instant,
    pub(crate) ttl: Duration,
}

impl Lock {
    fn left(&self, now: Moment) -> Option<Duration> {
        let left = self.ttl.checked_sub(now.instant - self.set)?;
        (!left.is_zero()).then_some(left)
    }

    /// Who holds it, and for how long without renewal.
    pub(crate) fn held_by(&self, now: Moment) -> HeldBy {
        let mut held = self.held.clone();
        held.expires_in = self.left(now).unwrap_or_default();
        held
    }

    fn is_of(&self, lease: &Lease) -> bool {
        self.held.holder == lease.holder && self.token == lease.token
    }
}

impl KeyState {
    pub(crate) fn renew(&mut self, lease: &Lease, ttl: Duration, now: Moment) -> Renewal {
        self.drop_expired_lock(now);
        match &mut self.lock {
            Some(lock) if lock.is_of(lease) => {
                (lock.set, lock.ttl) = (now.instant, ttl);
                Renewal::Renewed
            }
            _ => Renewal::Lost,
        }
    }

    pub(crate) fn release(&mut self, lease: &Lease, now: Moment) -> Release {
        self.drop_expired_lock(now);
        let is_this = |run: &OpenRun| run.run_id == lease.run_id && run.token == lease.token;
        if self.open_runs.iter().any(is_this) {
            // Those with smaller tokens are exactly the ones that were named to it.
            self.open_runs.retain(|run| run.token > lease.token);
        }
        match self.lock.take_if(|lock| lock.is_of(lease)) {
            Some(_) => Release::Released,
            None => Release::NotHeld,
        }
    }

    pub(crate) fn force_release(&mut self, clear: Clear, now: Moment) -> Release {
        self.drop_expired_lock(now);
        if clear == Clear::LockAndMark {
            self.mark = None;
        }
        match self.lock.take() {
            Some(_) => Release::Released,
            None => Release::NotHeld,
        }
    }

    pub(crate) fn inspect(&self, now: Moment) -> LockState {
        let live = self.lock.as_ref().filter(|lock| lock.left(now).is_some());
        LockState::new(
            self.mark.clone(),
            self.token,
            live.map(|lock| lock.held_by(now)),
            self.open_runs.clone(),
        )
    }

    pub(crate) fn drop_expired_lock(&mut self, now: Moment) {
        self.lock.take_if(|lock| lock.left(now).is_none());
    }
}
