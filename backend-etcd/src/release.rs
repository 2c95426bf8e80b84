//! Giving a lock up.

use etcd_client::{Compare, CompareOp, DeleteOptions, Txn, TxnOp};
use tidelock::{BackendError, Lease, OpenRun, Record, Release, RunState};

use crate::EtcdBackend;
use crate::acquire::older_marks;
use crate::calls::Repeat;
use crate::error::{Failure, Reach};
use crate::keys::{Keys, Part};
use crate::leases::Lent;
use crate::locks::{is_of, revision};
use crate::records::{count, shelf, store, store_end};
use crate::reply::Reply;
use crate::state::{self, open_runs};

/// How many keys one transaction deletes: a server takes 128 operations.
const BATCH: usize = 100;

/// What a release had to say, and what came of the record.
pub(crate) struct Released {
    pub(crate) release: Release,
    pub(crate) unsaved: Option<BackendError>,
}

impl EtcdBackend {
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
            Err(failure)
                if done.is_some() && matches!(failure.reach, Reach::Refused | Reach::Full) =>
            {
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
        if let Some(done) = done.filter(|done| is_end_of(done, lease))
            && self.finish_untouched(operation, &keys, lease, done).await?
        {
            return Ok(Released { release: Release::Released, unsaved: None });
        }
        let mut then = self.releasing(&keys, lease);
        let writes = then.len();
        let mut or_else = vec![open_runs(&keys)];
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
            reply.pass(writes);
            Release::Released
        } else {
            let open = state::open(&lease.key, &reply.found().map_err(as_failure)?, &[]);
            self.close(operation, &keys, lease, &open).await?;
            Release::NotHeld
        };
        self.leases.take_back(&lease.holder, lease.token);
        let mut unsaved = None;
        if let Some(done) = done {
            unsaved = self.conclude(operation, done, &mut reply).await.err();
        }
        Ok(Released { release, unsaved })
    }

    /// Does all of it where nothing came between grant and end, as a rule. Tells whether it was so;
    /// if not, nothing is done. (A transaction within another costs the servers as much as two.)
    async fn finish_untouched(
        &self,
        operation: &'static str,
        keys: &Keys,
        lease: &Lease,
        done: &Record,
    ) -> Result<bool, Failure> {
        let make = || {
            let (untouched, store) = store_end(keys, done, self.now_ms(), lease);
            let [held, since] = is_of(keys, lease);
            let mut then = vec![count(keys, Part::Runs), store];
            then.extend(self.releasing(keys, lease));
            Txn::new().when([held, since, untouched]).and_then(then)
        };
        let response = self.wire.made_txn(operation, Repeat::Safe, make).await?;
        let mut reply = Reply::new(operation, &response);
        if !reply.succeeded {
            return Ok(false);
        }
        self.leases.take_back(&lease.holder, lease.token);
        let count = reply.found().map_err(as_failure)?.count;
        self.tidy(&done.job, Part::Runs, count).await;
        Ok(true)
    }

    /// What goes with the lock.
    fn releasing(&self, keys: &Keys, lease: &Lease) -> Vec<TxnOp> {
        // Who holds the lock has the newest grant: all other open runs were named to it.
        let all_open = DeleteOptions::new().with_range(keys.end(Part::Open));
        let mut writes = vec![
            TxnOp::delete(keys.lock(), None),
            TxnOp::delete(keys.all(Part::Open), Some(all_open)),
        ];
        if let Some(Lent { previous: Some(previous), .. }) = self.leases.lent_to(lease) {
            writes.push(older_marks(keys, previous));
        }
        writes
    }

    /// Takes a run out of the open ones whose lock has gone, and those that were named to it.
    async fn close(
        &self,
        operation: &'static str,
        keys: &Keys,
        lease: &Lease,
        open: &[OpenRun],
    ) -> Result<(), Failure> {
        let own = open.iter().find(|run| run.run_id == lease.run_id);
        let Some(own) = own.filter(|own| own.token >= lease.token) else {
            return Ok(());
        };
        // Its own last: until then, it is done again. (A manual run that was granted once more
        // since is open for that.)
        let mut named: Vec<_> =
            open.iter().filter(|run| run.token < lease.token).map(|run| run.run_id).collect();
        named.extend((own.token == lease.token).then_some(own.run_id));
        for batch in named.chunks(BATCH) {
            let key = keys.run(Part::Open, own.run_id);
            let is_open = Compare::mod_revision(key, CompareOp::Equal, revision(own.token));
            let delete = |run: &_| TxnOp::delete(keys.run(Part::Open, *run), None);
            let deletions: Vec<_> = batch.iter().map(delete).collect();
            let txn = Txn::new().when([is_open]).and_then(deletions);
            self.wire.txn(operation, Repeat::Safe, txn).await?;
        }
        Ok(())
    }
}

/// Whether a record tells how that lease's run ended.
fn is_end_of(done: &Record, lease: &Lease) -> bool {
    let ended = done.state.is_final() && done.state != RunState::Abandoned;
    let ran = ended && shelf(done.state) == Part::Runs;
    ran && done.run_id == lease.run_id && done.job == *lease.key.job()
}

fn as_failure(error: BackendError) -> Failure {
    Failure { error, reach: Reach::Unknown }
}
