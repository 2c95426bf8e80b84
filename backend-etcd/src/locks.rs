//! Locks that are held: renewing, giving up, looking, and freeing by force.

use std::time::Duration;

use etcd_client::{Compare, CompareOp, DeleteOptions, GetOptions, PutOptions, Txn, TxnOp};
use tidelock::{
    BackendError, Clear, FencingToken, HeldBy, Lease, LockKey, LockState, Release, Renewal,
};

use crate::EtcdBackend;
use crate::calls::Repeat;
use crate::error::{Failure, Reach, malformed};
use crate::keys::{Keys, Part};
use crate::leases::seconds;
use crate::moment::Moment;
use crate::reply::{Entry, Reply};
use crate::state::{LockNow, State, look};
use crate::text;

/// The lock is that lease's: its holder's text, and the revision of its grant. The revision alone
/// would do, unless the store was set back to an older state and counts on from there.
pub(crate) fn is_of(keys: &Keys, lease: &Lease) -> [Compare; 2] {
    let value = text::lock(&lease.holder, lease.run_id);
    [
        Compare::value(keys.lock(), CompareOp::Equal, value),
        Compare::create_revision(keys.lock(), CompareOp::Equal, revision(lease.token)),
    ]
}

pub(crate) fn revision(token: FencingToken) -> i64 {
    i64::try_from(token.get()).unwrap_or(i64::MAX)
}

fn is_entry_of(entry: &Entry, lease: &Lease) -> bool {
    let value = text::lock(&lease.holder, lease.run_id);
    entry.value == value.as_bytes() && entry.created == lease.token.get()
}

impl EtcdBackend {
    /// A keep-alive of the lock's lease and, at the same time, a look at the lock.
    pub(crate) async fn renew_lock(
        &self,
        lease: &Lease,
        ttl: Duration,
    ) -> Result<Renewal, BackendError> {
        let keys = self.namespace.of(lease.key.job());
        let within = self.timeouts().operation.min(ttl / 4);
        let sent = Moment::now();
        let known = self.leases.lent_to(lease);
        let known = known.filter(|lent| lent.lease.asked == seconds(ttl));
        let looking = self.lock_of(&keys, within);
        let (found, kept) = match known {
            Some(lent) => {
                let keeping = self.wire.keep_alive("renew", within, lent.lease.id);
                let (found, kept) = tokio::join!(looking, keeping);
                (found?, Some((lent.lease.id, kept)))
            }
            None => (looking.await?, None),
        };
        let Some(entry) = found.filter(|entry| is_entry_of(entry, lease)) else {
            return Ok(Renewal::Lost);
        };
        match kept {
            Some((id, kept)) if id == entry.lease => match kept {
                Ok(()) => {
                    self.leases.renewed(&lease.holder, id, sent);
                    Ok(Renewal::Renewed)
                }
                Err(failure) if failure.reach == Reach::NoLease => Ok(Renewal::Lost),
                Err(failure) => Err(failure.error),
            },
            _ => self.renew_anew(&keys, lease, ttl, entry.lease, within).await,
        }
    }

    async fn lock_of(&self, keys: &Keys, within: Duration) -> Result<Option<Entry>, Failure> {
        let found = self.wire.get("renew", within, &keys.lock(), GetOptions::new()).await?;
        Ok(found.kvs().first().map(Entry::from))
    }

    /// A renewal of a lock whose lease this backend does not know, or whose life changes: it gets
    /// another lease.
    async fn renew_anew(
        &self,
        keys: &Keys,
        lease: &Lease,
        ttl: Duration,
        old: i64,
        within: Duration,
    ) -> Result<Renewal, BackendError> {
        let mut loan = self.leases.borrow("renew", &lease.holder, ttl).await?;
        let sent = Moment::now();
        let under = PutOptions::new().with_lease(loan.lease.id);
        let value = text::lock(&lease.holder, lease.run_id);
        let put = TxnOp::put(keys.lock(), value, Some(under));
        let txn = Txn::new().when(is_of(keys, lease)).and_then([put]);
        // Not in doubt as a grant would be: what arrives late renews this very lock, or nothing.
        // The lease alone is not lent again before it is known.
        loan.sent();
        let renewed = match self.wire.txn("renew", Repeat::Safe, txn).await {
            Ok(response) => response.succeeded(),
            Err(failure) => {
                loan.forget();
                return Err(failure.error);
            }
        };
        if !renewed {
            loan.give_back();
            return Ok(Renewal::Lost);
        }
        let before = self.leases.lent_to(lease);
        let previous = before.and_then(|lent| lent.previous);
        let lent = loan.lend(lease.token, previous);
        if let Some(before) = before.filter(|before| before.lease.id == old) {
            self.leases.give_back(before.lease);
        }
        if lent.lease.is_fresh(ttl, sent) {
            return Ok(Renewal::Renewed);
        }
        let sent = Moment::now();
        match self.wire.keep_alive("renew", within, lent.lease.id).await {
            Ok(()) => {
                self.leases.renewed(&lease.holder, lent.lease.id, sent);
                Ok(Renewal::Renewed)
            }
            Err(failure) if failure.reach == Reach::NoLease => Ok(Renewal::Lost),
            Err(failure) => Err(failure.error),
        }
    }

    /// All that is known, of one moment.
    pub(crate) async fn state(&self, key: &LockKey) -> Result<LockState, BackendError> {
        const INSPECT: &str = "inspect";
        let keys = self.namespace.of(key.job());
        let mut parts = look(&keys).to_vec();
        parts.push(TxnOp::get(keys.token(), None));
        let response = self.wire.txn(INSPECT, Repeat::Safe, Txn::new().and_then(parts)).await?;
        let mut reply = Reply::new(INSPECT, &response);
        let state = State::read(key, &mut reply)?;
        let token = reply.entry()?.map(|entry| FencingToken::new(entry.changed));
        let held = match &state.lock {
            Some(lock) => Some(self.held(INSPECT, &state, lock).await?),
            None => None,
        };
        Ok(LockState::new(state.mark, token, held, state.open))
    }

    /// Who holds a lock, and for how long: the store tells the latter in whole seconds, rounded
    /// down, and apart.
    pub(crate) async fn held(
        &self,
        operation: &'static str,
        state: &State,
        lock: &LockNow,
    ) -> Result<HeldBy, BackendError> {
        let left = if lock.lease == 0 {
            Duration::MAX // not set by this crate; it is held all the same
        } else {
            let left = self.wire.time_to_live(operation, lock.lease).await?;
            let most = left.granted_ttl().max(1);
            Duration::from_secs(u64::try_from((left.ttl() + 1).clamp(1, most)).unwrap_or(1))
        };
        let node = state.node(lock);
        let node = node.ok_or_else(|| malformed(operation, "the lock's holder has no node"))?;
        Ok(HeldBy::new(lock.holder.clone(), lock.run_id, node, left))
    }

    /// Frees the lock whoever holds it. Its lease is its holder's, and stays.
    pub(crate) async fn free(&self, key: &LockKey, clear: Clear) -> Result<Release, BackendError> {
        const FREE: &str = "force-release";
        let keys = self.namespace.of(key.job());
        let mut parts = vec![TxnOp::delete(keys.lock(), None)];
        if clear == Clear::LockAndMark {
            let all = DeleteOptions::new().with_range(keys.end(Part::Marks));
            parts.push(TxnOp::delete(keys.all(Part::Marks), Some(all)));
        }
        let response = self.wire.txn(FREE, Repeat::Safe, Txn::new().and_then(parts)).await?;
        let deleted = Reply::new(FREE, &response).deleted()?;
        Ok(if deleted > 0 { Release::Released } else { Release::NotHeld })
    }
}
