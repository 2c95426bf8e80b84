//! The pool of etcd's leases: what locks expire with.
//!
//! A lease costs the cluster two writes, one when it is granted and one when it ends. A run borrows
//! one instead, for as long as it holds its lock, and gives it back; the next run of a lock of the
//! same life borrows it again. What is lent is kept alive by renewals alone, so that a node that is
//! frozen loses its locks; what is idle is kept alive for a while, and then left to expire.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidelock::{FencingToken, Holder, Lease, MarkPoint, Spawner, TokioSpawner};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::connection::Wire;
use crate::error::Failure;
use crate::loan::Loan;
use crate::moment::Moment;
use crate::warm::keep_warm;

/// The smallest life that every server grants.
const SHORTEST: u64 = 2;
/// The largest that a server takes.
const LONGEST: u64 = 9_000_000_000;

/// A life in whole seconds, as a server grants it.
pub(crate) fn seconds(ttl: Duration) -> u64 {
    let whole = ttl.as_secs().saturating_add(u64::from(ttl.subsec_nanos() > 0));
    whole.clamp(SHORTEST, LONGEST)
}

/// A lease of the cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EtcdLease {
    pub(crate) id: i64,
    /// The life that was asked for: what it is lent by.
    pub(crate) asked: u64,
    /// The life that it has: a server may be set up to give more (its election timeout says).
    pub(crate) seconds: u64,
    /// When what began its life (the grant, a keep-alive) was sent.
    pub(crate) sent: Moment,
}

impl EtcdLease {
    pub(crate) fn life(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// Whether it lives for as long as a lock of that life asks, counted from now.
    ///
    /// The engine drops a handler at 9/10 of the lock's life; this leaves half of what is between.
    pub(crate) fn is_fresh(&self, ttl: Duration, now: Moment) -> bool {
        let left = self.life().saturating_sub(self.sent.until(now));
        left >= ttl.min(self.life()).mul_f64(0.95)
    }

    /// Whether it is surely there for a moment more.
    pub(crate) fn is_usable(&self, now: Moment) -> bool {
        self.sent.until(now) < self.life().mul_f64(0.8)
    }
}

/// A lease that a lock stands under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lent {
    pub(crate) lease: EtcdLease,
    /// Of which grant: a request may be granted twice, when its first lock was taken away.
    pub(crate) token: FencingToken,
    /// The mark as it was: what is older is of no use any more.
    pub(crate) previous: Option<MarkPoint>,
}

#[derive(Debug)]
pub(crate) struct Idle {
    pub(crate) lease: EtcdLease,
    /// When it was last lent.
    pub(crate) used: Instant,
}

#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// Used last at the end.
    pub(crate) idle: Vec<Idle>,
    lent: HashMap<Holder, Lent>,
    /// Leases of requests whose outcome is unknown.
    doubtful: Vec<(Holder, EtcdLease)>,
    /// Whether a task keeps the idle ones alive.
    pub(crate) warming: bool,
}

/// All leases of a backend.
pub(crate) struct Leases {
    pub(crate) wire: Arc<Wire>,
    pool: Mutex<Pool>,
    /// Rung when one comes back, which may need to be kept alive sooner than the others.
    pub(crate) bell: Arc<Notify>,
}

impl Leases {
    pub(crate) fn new(wire: Arc<Wire>) -> Self {
        Self { wire, pool: Mutex::default(), bell: Arc::default() }
    }

    pub(crate) fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A lease for a lock of that life: an idle one, or a new one.
    pub(crate) async fn borrow(
        self: &Arc<Self>,
        operation: &'static str,
        holder: &Holder,
        ttl: Duration,
    ) -> Result<Loan, Failure> {
        let asked = seconds(ttl);
        let idle = self.pool().take(asked, Moment::now());
        let lease = match idle {
            Some(lease) => lease,
            None => {
                let sent = Moment::now();
                let seconds = i64::try_from(asked).unwrap_or(i64::MAX);
                let (id, granted) = self.wire.grant_lease(operation, seconds).await?;
                let seconds = u64::try_from(granted).unwrap_or(asked);
                EtcdLease { id, asked, seconds, sent }
            }
        };
        Ok(Loan::new(self.clone(), holder.clone(), lease))
    }

    /// What the lock of that holder stands under, as far as this backend has lent it.
    pub(crate) fn lent(&self, holder: &Holder) -> Option<Lent> {
        self.pool().lent.get(holder).copied()
    }

    /// The same of one grant.
    pub(crate) fn lent_to(&self, lease: &Lease) -> Option<Lent> {
        self.lent(&lease.holder).filter(|lent| lent.token == lease.token)
    }

    pub(crate) fn lend(&self, holder: &Holder, lent: Lent) {
        self.pool().lent.insert(holder.clone(), lent);
    }

    /// A lent lease has been kept alive, asked at that moment.
    pub(crate) fn renewed(&self, holder: &Holder, id: i64, sent: Moment) {
        if let Some(lent) = self.pool().lent.get_mut(holder)
            && lent.lease.id == id
        {
            lent.lease.sent = lent.lease.sent.max(sent);
        }
    }

    /// The lock of that grant is gone: its lease is free.
    pub(crate) fn take_back(self: &Arc<Self>, holder: &Holder, token: FencingToken) {
        let lent = {
            let mut pool = self.pool();
            let lent = pool.lent.get(holder).copied().filter(|lent| lent.token == token);
            if lent.is_some() {
                pool.lent.remove(holder);
            }
            lent
        };
        if let Some(lent) = lent {
            self.give_back(lent.lease);
        }
    }

    /// Puts a lease that nothing stands under into the pool.
    pub(crate) fn give_back(self: &Arc<Self>, lease: EtcdLease) {
        let now = Moment::now();
        let mut pool = self.pool();
        pool.idle.retain(|idle| idle.lease.is_usable(now));
        if !lease.is_usable(now) {
            return;
        }
        pool.idle.push(Idle { lease, used: now.at });
        let warming = std::mem::replace(&mut pool.warming, true);
        drop(pool);
        if warming {
            self.bell.notify_one();
        } else {
            TokioSpawner.spawn(Box::pin(keep_warm(Arc::downgrade(self))));
        }
    }

    /// A server did not know one of them. What ended that one may have ended all (a suspend, a store
    /// that was set back): none that is idle now is lent again, or each would cost a call to find out.
    pub(crate) fn distrust(&self) {
        self.pool().idle.clear();
    }

    /// The leases of a request whose outcome is unknown: more than one where it was sent more than once
    /// at a time.
    pub(crate) fn doubtful(&self, holder: &Holder) -> Vec<EtcdLease> {
        let pool = self.pool();
        pool.doubtful.iter().filter(|(of, _)| of == holder).map(|(_, lease)| *lease).collect()
    }

    /// The outcome is known: nothing can come under that lease any more, or it holds the lock.
    pub(crate) fn settled(&self, id: i64) {
        self.pool().doubtful.retain(|(_, lease)| lease.id != id);
    }

    /// How many are lent, and how many idle.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let pool = self.pool();
        (pool.lent.len(), pool.idle.len())
    }
}

impl Pool {
    fn take(&mut self, asked: u64, now: Moment) -> Option<EtcdLease> {
        let fits = |idle: &Idle| idle.lease.asked == asked && idle.lease.is_usable(now);
        let at = self.idle.iter().rposition(fits)?;
        Some(self.idle.remove(at).lease)
    }

    pub(crate) fn doubt(&mut self, holder: Holder, lease: EtcdLease) {
        // What nobody came back for has expired at the server, even after a change of leader.
        let now = Instant::now();
        self.doubtful
            .retain(|(_, lease)| now.saturating_duration_since(lease.sent.at) < lease.life() * 3);
        self.doubtful.push((holder, lease));
    }
}

impl fmt::Debug for Leases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lent, idle) = self.counts();
        f.debug_struct("Leases").field("lent", &lent).field("idle", &idle).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(id: i64, sent: Moment) -> EtcdLease {
        EtcdLease { id, asked: 10, seconds: 10, sent }
    }

    #[test]
    fn lives_are_whole_seconds_and_never_shorter_than_asked() {
        for (ms, expected) in [(0, 2), (300, 2), (2_000, 2), (2_001, 3), (30_000, 30)] {
            assert_eq!(seconds(Duration::from_millis(ms)), expected);
        }
        assert_eq!(seconds(Duration::MAX), LONGEST);
    }

    const NONE: Duration = Duration::ZERO;

    #[test]
    fn a_lease_that_has_aged_is_not_fresh() {
        let now = Moment::now();
        let (lease, ttl) = (lease(1, now), Duration::from_secs(10));
        assert!(lease.is_fresh(ttl, now.later(Duration::from_millis(400), NONE)));
        let later = now.later(Duration::from_millis(600), NONE);
        assert!(!lease.is_fresh(ttl, later));
        // A lock of a shorter life leaves more.
        assert!(lease.is_fresh(Duration::from_secs(8), later));
    }

    #[test]
    fn a_lease_ages_while_its_machine_is_suspended() {
        let now = Moment::now();
        let (lease, ttl) = (lease(1, now), Duration::from_secs(10));
        let awake = now.later(Duration::from_millis(100), Duration::from_secs(5));
        assert!(!lease.is_fresh(ttl, awake), "the lock would end before its time");
        assert!(lease.is_usable(awake));
        let awake = now.later(Duration::from_millis(100), Duration::from_secs(9));
        assert!(!lease.is_usable(awake));
        let mut pool = Pool::default();
        pool.idle.push(Idle { lease, used: now.at });
        assert_eq!(pool.take(10, awake).map(|lease| lease.id), None);
    }

    #[test]
    fn the_one_used_last_is_lent_first_and_one_near_its_end_never() {
        let mut pool = Pool::default();
        let now = Moment::now();
        for id in [1, 2] {
            pool.idle.push(Idle { lease: lease(id, now), used: now.at });
        }
        assert_eq!(pool.take(11, now).map(|lease| lease.id), None);
        assert_eq!(pool.take(10, now).map(|lease| lease.id), Some(2));
        let later = now.later(Duration::from_secs(8), NONE);
        assert_eq!(pool.take(10, later).map(|lease| lease.id), None);
    }
}
