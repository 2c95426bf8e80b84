//! What must be true of one key, worked out from the calls and their answers alone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tidelock::{
    AcquireRequest, Acquisition, Clear, FencingToken, Holder, Lease, LockState, Occurrence,
    Release, Renewal, RunId,
};
use tokio::time::Instant;

/// One key.
#[derive(Debug, Default)]
pub(crate) struct Model {
    /// Whose each tick is since the mark was last cleared: granted or consumed.
    taken: BTreeMap<Occurrence, Holder>,
    lock: Option<(Lease, Instant)>,
    last_token: Option<FencingToken>,
    open: BTreeSet<(FencingToken, RunId)>,
}

impl Model {
    fn holder(&self) -> Option<&Holder> {
        let now = Instant::now();
        let live = self.lock.as_ref().filter(|(_, until)| *until > now);
        live.map(|(lease, _)| &lease.holder)
    }

    /// A manual run that is asked for again after its lock has gone is granted anew, to the same
    /// holder: the token tells its leases apart.
    fn is_of(&self, lease: &Lease) -> bool {
        self.holder().is_some() && self.lock.as_ref().map(|(held, _)| held) == Some(lease)
    }

    fn mark(&self) -> Option<Occurrence> {
        self.taken.last_key_value().map(|(occurrence, _)| *occurrence)
    }

    pub(crate) fn acquired(&mut self, request: &AcquireRequest, answer: &Acquisition) {
        let newer = request.occurrence > self.mark() || request.occurrence.is_none();
        let mine = self.holder() == Some(&request.holder);
        let was_mine =
            request.occurrence.is_some_and(|tick| self.taken.get(&tick) == Some(&request.holder));
        match answer {
            Acquisition::Granted(grant) if mine => {
                let (lease, until) = self.lock.as_mut().unwrap();
                assert_eq!(grant.lease, *lease, "granted again, and not the same");
                *until = Instant::now() + request.ttl;
            }
            Acquisition::Granted(grant) => {
                assert_eq!(self.holder(), None, "granted while held by another");
                assert!(newer, "granted behind the mark");
                let token = Some(grant.lease.token);
                assert!(token > self.last_token, "{token:?} after {:?}", self.last_token);
                let named: BTreeSet<_> =
                    grant.abandoned.iter().map(|r| (r.token, r.run_id)).collect();
                assert_eq!(named, self.open, "abandoned");
                self.last_token = token;
                self.open.insert((grant.lease.token, request.run_id));
                self.lock = Some((grant.lease.clone(), Instant::now() + request.ttl));
                self.take(request);
            }
            Acquisition::Consumed(_) if was_mine => {}
            Acquisition::Consumed(_) => {
                assert!(newer, "consumed behind the mark");
                self.take(request);
            }
            Acquisition::AlreadyTaken(taken) => {
                assert!(!newer && !mine, "refused what is free or its own");
                assert!(!was_mine || request.occurrence < self.mark(), "no first answer");
                assert_eq!(Some(taken.mark.point.occurrence), self.mark());
                assert_eq!(taken.running, self.holder() == Some(&taken.mark.holder));
            }
            Acquisition::Held(held) => {
                assert!(newer, "held, though it is taken");
                assert_eq!(Some(&held.holder), self.holder());
            }
            Acquisition::Expired(lease) => {
                assert!(was_mine && !mine && request.occurrence == self.mark());
                assert_eq!(lease.run_id, request.run_id);
            }
            Acquisition::TooEarly { .. } => assert!(newer && !mine),
            other => panic!("no such answer: {other:?}"),
        }
    }

    fn take(&mut self, request: &AcquireRequest) {
        if let Some(tick) = request.occurrence {
            let before = self.taken.insert(tick, request.holder.clone());
            assert_eq!(before, None, "the tick was another's");
        }
    }

    pub(crate) fn renewed(&mut self, lease: &Lease, ttl: Duration, answer: Renewal) {
        let mine = self.is_of(lease);
        assert_eq!(answer == Renewal::Renewed, mine, "renewal");
        if let Some((_, until)) = self.lock.as_mut().filter(|_| mine) {
            *until = Instant::now() + ttl;
        }
    }

    pub(crate) fn released(&mut self, lease: &Lease, answer: Release) {
        let mine = self.is_of(lease);
        assert_eq!(answer == Release::Released, mine, "release");
        if mine {
            self.lock = None;
        }
        if self.open.contains(&(lease.token, lease.run_id)) {
            self.open.retain(|(token, _)| *token > lease.token);
        }
    }

    pub(crate) fn forced(&mut self, clear: Clear, answer: Release) {
        assert_eq!(answer == Release::Released, self.holder().is_some());
        self.lock = None;
        if clear == Clear::LockAndMark {
            self.taken.clear();
        }
    }

    pub(crate) fn inspected(&self, state: &LockState) {
        let mark = state.mark.as_ref().map(|mark| mark.point.occurrence);
        assert_eq!(mark, self.mark(), "the mark");
        assert_eq!(state.token, self.last_token, "the token");
        let holder = state.held.as_ref().map(|held| &held.holder);
        assert_eq!(holder, self.holder(), "the holder");
        let open: Vec<_> = state.open_runs.iter().map(|r| (r.token, r.run_id)).collect();
        assert_eq!(open, self.open.iter().copied().collect::<Vec<_>>(), "open runs");
    }
}
