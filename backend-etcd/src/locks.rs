//! Locks that are held: renewing, giving up, looking, and freeing by force.

use std::time::Duration;

use etcd_client::{Compare, CompareOp, DeleteOptions, GetOptions, PutOptions, Txn, TxnOp};
use tidelock::{
    BackendError, Clear, FencingToken, HeldBy, Lease, LockKey, LockState, OpenRun, Record, Release,
    Renewal,
};
use tokio::time::Instant;

use crate::EtcdBackend;
use crate::acquire::older_marks;
use crate::calls::Repeat;
use crate::error::{Failure, Reach, malformed};
use crate::keys::{Keys, Part};
use crate::leases::{Lent, seconds};
use crate::records::{self, count, shelf, store};
use crate::reply::{Entry, Reply};
use crate::state::{self, LockNow, State, look, open_runs};
use crate::text;

/// How many keys one transaction deletes: a server takes 128 operations.
const BATCH: usize = 100;

/// The lock is that lease's: its holder's text, and the revision of its grant. The revision alone
/// would do, unless the store was set back to an older state and counts on from there.
fn is_of(keys: &Keys, lease: &Lease) -> [Compare; 2] {
    let value = text::lock(&lease.holder, lease.run_id);
    [
        Compare::value(keys.lock(), CompareOp::Equal, value),
        Compare::create_revision(keys.lock(), CompareOp::Equal, revision(lease.token)),
    ]
}

fn revision(token: FencingToken) -> i64 {
    i64::try_from(token.get()).unwrap_or(i64::MAX)
}

fn is_entry_of(entry: &Entry, lease: &Lease) -> bool {
    let value = text::lock(&lease.holder, lease.run_id);
    entry.value == value.as_bytes() && entry.created == lease.token.get()
}

/// What a release had to say, and what came of the record.
pub(crate) struct Released {
    pub(crate) release: Release,
    pub(crate) unsaved: Option<BackendError>,
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
        let sent = Instant::now();
        let known = self.leases.lent(&lease.holder);
        let known = known.filter(|lent| lent.lease.seconds == seconds(ttl));
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
        let sent = Instant::now();
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
        let before = self.leases.lent(&lease.holder);
        let previous = before.and_then(|lent| lent.previous);
        let lent = loan.lend(previous);
        if let Some(before) = before.filter(|before| before.lease.id == old) {
            self.leases.give_back(before.lease);
        }
        if lent.lease.is_fresh(ttl, sent) {
            return Ok(Renewal::Renewed);
        }
        let sent = Instant::now();
        match self.wire.keep_alive("renew", within, lent.lease.id).await {
            Ok(()) => {
                self.leases.renewed(&lease.holder, lent.lease.id, sent);
                Ok(Renewal::Renewed)
            }
            Err(failure) if failure.reach == Reach::NoLease => Ok(Renewal::Lost),
            Err(failure) => Err(failure.error),
        }
    }

    /// Gives the lock up and stores how the run ended, if that is told, in one step.
    pub(crate) async fn release_lock(
        &self,
        operation: &'static str,
        lease: &Lease,
        done: Option<&Record>,
    ) -> Result<Released, BackendError> {
        match self.try_release(operation, lease, done).await {
            Ok(released) => Ok(released),
            // A record that cannot be written, such as into a store that is full, holds up no
            // release: that alone deletes, and is taken.
            Err(failure) if done.is_some() && failure.reach == Reach::Refused => {
                let released = self.try_release(operation, lease, None).await?;
                Ok(Released { unsaved: Some(failure.error), ..released })
            }
            Err(failure) => Err(failure.error),
        }
    }

    async fn try_release(
        &self,
        operation: &'static str,
        lease: &Lease,
        done: Option<&Record>,
    ) -> Result<Released, Failure> {
        let keys = self.namespace.of(lease.key.job());
        let held = self.leases.lent(&lease.holder);
        // Who holds the lock has the newest grant: all other open runs were named to it.
        let all_open = DeleteOptions::new().with_range(keys.end(Part::Open));
        let mut then = vec![
            TxnOp::delete(keys.lock(), None),
            TxnOp::delete(keys.all(Part::Open), Some(all_open)),
        ];
        if let Some(Lent { previous: Some(previous), .. }) = held {
            then.push(older_marks(&keys, previous));
        }
        let mut or_else = vec![open_runs(&keys)];
        let passed = (then.len(), or_else.len());
        if let Some(done) = done {
            let job_keys = self.namespace.of(&done.job);
            let token = Some(lease.token.get());
            for parts in [&mut then, &mut or_else] {
                parts.push(TxnOp::txn(store(&job_keys, done, self.now_ms(), token)));
                parts.push(count(&job_keys, shelf(done.state)));
            }
        }
        let txn = Txn::new().when(is_of(&keys, lease)).and_then(then).or_else(or_else);
        // Sent twice, the second finds what the first has done.
        let response = self.wire.txn(operation, Repeat::Safe, txn).await?;
        let mut reply = Reply::new(operation, &response);
        let release = if reply.succeeded {
            reply.pass(passed.0);
            Release::Released
        } else {
            let open = reply.found().and_then(|found| state::open(&found, &reply));
            self.close(operation, &keys, lease, &open.map_err(as_failure)?).await?;
            Release::NotHeld
        };
        self.leases.take_back(&lease.holder);
        let mut unsaved = None;
        if let Some(done) = done {
            unsaved = self.conclude(operation, done, &mut reply).await.err();
        }
        Ok(Released { release, unsaved })
    }

    /// What is left to do about a record once its transaction is answered.
    async fn conclude(
        &self,
        operation: &'static str,
        done: &Record,
        reply: &mut Reply,
    ) -> Result<(), BackendError> {
        let nested = reply.nested()?;
        let count = reply.found()?.count;
        if let Some(left) = records::left(nested)? {
            let keys = self.namespace.of(&done.job);
            self.resolve(operation, &keys, done, left).await?;
        }
        self.tidy(&done.job, shelf(done.state), count).await;
        Ok(())
    }

    /// Takes a run out of the open ones whose lock has gone, and those that were named to it.
    async fn close(
        &self,
        operation: &'static str,
        keys: &Keys,
        lease: &Lease,
        open: &[OpenRun],
    ) -> Result<(), Failure> {
        let is_this = |run: &OpenRun| run.run_id == lease.run_id && run.token == lease.token;
        if !open.iter().any(is_this) {
            return Ok(());
        }
        // Its own last: until then, it is done again.
        let mut named: Vec<_> =
            open.iter().filter(|run| run.token < lease.token).map(|run| run.run_id).collect();
        named.push(lease.run_id);
        for batch in named.chunks(BATCH) {
            let own = keys.run(Part::Open, lease.run_id);
            let is_open = Compare::create_revision(own, CompareOp::Equal, revision(lease.token));
            let delete = |run: &_| TxnOp::delete(keys.run(Part::Open, *run), None);
            let deletions: Vec<_> = batch.iter().map(delete).collect();
            let txn = Txn::new().when([is_open]).and_then(deletions);
            self.wire.txn(operation, Repeat::Safe, txn).await?;
        }
        Ok(())
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

fn as_failure(error: BackendError) -> Failure {
    Failure { error, reach: Reach::Unknown }
}
