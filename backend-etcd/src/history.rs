//! Histories: saving, listing, and clearing away what is over the limits.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use etcd_client::{SortOrder, Txn, TxnOp};
use tidelock::{BackendError, ErrorKind, JobId, Record, RecordQuery};
use tokio::time::Instant;

use crate::EtcdBackend;
use crate::calls::Repeat;
use crate::config::Limits;
use crate::error::{BACKEND, Odd};
use crate::keys::{Keys, Part};
use crate::records::{self, Stored, count, left, shelf, some, store};
use crate::reply::{Entry, Reply};

/// How often a record is written anew when another writer came between.
const TRIES: u32 = 5;
/// How many keys one transaction deletes: a server takes 128 operations.
const BATCH: usize = 100;
/// How many records one look at what is over the limits reads: the next one goes on.
const MOST: u64 = 500;
/// Records that were moved stand behind their places by at most a few.
const MOVED: u64 = 8;

impl Limits {
    /// A history is trimmed when it is longer than it should be by more than this, so that it takes
    /// no call of its own a run. What is over the limit is not listed.
    fn margin(self) -> u64 {
        self.keep / 10
    }

    /// How many of that many records are to go by now.
    fn over(self, count: u64) -> Option<u64> {
        let over = count.saturating_sub(self.keep);
        (over > self.margin()).then_some(over)
    }

    fn is_too_old(self, stored: &Stored, now: i64) -> bool {
        stored.record.state.is_final() && now.saturating_sub(stored.saved) > self.max_age_ms
    }
}

/// When the old records of each job were last looked for.
#[derive(Debug, Default)]
pub(crate) struct Sweeps(Mutex<HashMap<(JobId, Part), Instant>>);

impl Sweeps {
    /// Whether it is time to look again; whoever is told so does it.
    fn is_due(&self, job: &JobId, part: Part, max_age_ms: i64) -> bool {
        const LEAST: Duration = Duration::from_secs(60);
        const MOST: Duration = Duration::from_secs(6 * 60 * 60);
        let age = Duration::from_millis(u64::try_from(max_age_ms).unwrap_or(0));
        let (every, now) = ((age / 8).clamp(LEAST, MOST), Instant::now());
        let mut sweeps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match sweeps.get_mut(&(job.clone(), part)) {
            Some(last) if now - *last < every => false,
            Some(last) => {
                *last = now;
                true
            }
            None => {
                sweeps.insert((job.clone(), part), now);
                false
            }
        }
    }
}

impl EtcdBackend {
    /// Stores a record by itself.
    pub(crate) async fn save_record(&self, record: &Record) -> Result<(), BackendError> {
        let keys = self.namespace.of(&record.job);
        let saving = store(&keys, record, self.now_ms(), None);
        let mut reply = self.history_call("save", counted(saving, &keys, record)).await?;
        self.conclude("save", record, &mut reply).await
    }

    /// What is left to do about a record once its transaction and the count after it are answered:
    /// it is stored over one that takes a closer look, and what is over the limits is cleared away.
    pub(crate) async fn conclude(
        &self,
        operation: &'static str,
        record: &Record,
        reply: &mut Reply,
    ) -> Result<(), BackendError> {
        let keys = self.namespace.of(&record.job);
        let mut found = left(reply.nested()?)?;
        let mut count = reply.found()?.count;
        let mut tries = 0..TRIES;
        while let Some(txn) = found.and_then(|found| found.resolve(&keys, record, self.now_ms())) {
            if tries.next().is_none() {
                let error = BackendError::new(ErrorKind::Unavailable, BACKEND, operation);
                return Err(error.with_source(Odd("the record changed at each look")));
            }
            let mut reply = self.history_call(operation, counted(txn, &keys, record)).await?;
            found = left(reply.nested()?)?;
            count = reply.found()?.count;
        }
        self.tidy(&record.job, shelf(record.state), count).await;
        Ok(())
    }

    async fn history_call(&self, operation: &'static str, txn: Txn) -> Result<Reply, BackendError> {
        let response = self.wire.txn(operation, Repeat::Safe, txn).await?;
        Ok(Reply::new(operation, &response))
    }

    /// Clears away what is over the limits, once that is worth a call. What fails is left to the
    /// next one.
    pub(crate) async fn tidy(&self, job: &JobId, part: Part, count: u64) {
        let over = self.limits.over(count);
        let aged = self.sweeps.is_due(job, part, self.limits.max_age_ms);
        if over.is_none() && !aged {
            return;
        }
        if let Err(error) = self.trim(job, part, over.unwrap_or(0), aged).await {
            tracing::debug!(%job, %error, "the history is trimmed later");
        }
    }

    async fn trim(
        &self,
        job: &JobId,
        part: Part,
        over: u64,
        aged: bool,
    ) -> Result<(), BackendError> {
        let keys = self.namespace.of(job);
        let moved = if part == Part::Skipped { MOVED } else { 0 };
        let limit = if aged { over + BATCH as u64 } else { over + moved };
        let limit = limit.min(MOST);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let txn = Txn::new().and_then([some(&keys, part, SortOrder::Ascend, limit)]);
        let mut reply = self.history_call("trim", txn).await?;
        let now = self.now_ms();
        let found = reply.found()?;
        // Counted again with what was read: another node may have trimmed since the save.
        let over = found.count.saturating_sub(self.limits.keep).min(over);
        let mut entries = placed(job, found.entries);
        entries.sort_by_key(|(place, ..)| *place);
        let mut doomed = Vec::new();
        for (number, (_, entry, stored)) in (0..).zip(&entries) {
            let droppable = stored.as_ref().is_none_or(|stored| stored.record.state.is_final());
            let old = stored.as_ref().is_some_and(|stored| self.limits.is_too_old(stored, now));
            if droppable && (number < over || old) {
                doomed.push(TxnOp::delete(entry.key.clone(), None));
            }
        }
        for batch in doomed.chunks(BATCH) {
            self.history_call("trim", Txn::new().and_then(batch)).await?;
        }
        Ok(())
    }

    /// The newest records, newest first.
    pub(crate) async fn newest(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        const LIMIT: u64 = 1_000_000;
        let wanted = u64::try_from(query.limit).unwrap_or(u64::MAX).min(LIMIT);
        if wanted == 0 {
            return Ok(Vec::new());
        }
        let keys = self.namespace.of(&query.job);
        // Behind the newest `keep` there are those alone that are still running, and a few too many.
        let mut limit = wanted + MOVED;
        if wanted > self.limits.keep {
            limit += self.limits.margin();
        }
        loop {
            let read = i64::try_from(limit).unwrap_or(i64::MAX);
            let parts = [Part::Runs, Part::Skipped];
            let txn = parts.map(|part| some(&keys, part, SortOrder::Descend, read));
            let mut reply = self.history_call("list", Txn::new().and_then(txn)).await?;
            let (mut all, mut more) = (Vec::new(), false);
            for _ in parts {
                let found = reply.found()?;
                more |= found.count > limit;
                all.extend(self.shown(&query.job, found.entries));
            }
            all.sort_by_key(|stored| std::cmp::Reverse(stored.place));
            // Too old ones may have taken the places of others.
            if all.len() < query.limit && more && limit < LIMIT {
                limit *= 4;
                continue;
            }
            all.truncate(query.limit);
            return Ok(all.into_iter().map(|stored| stored.record).collect());
        }
    }

    /// Those of a part that are within the limits.
    fn shown(&self, job: &JobId, entries: Vec<Entry>) -> Vec<Stored> {
        let now = self.now_ms();
        let mut entries = placed(job, entries);
        entries.sort_by_key(|(place, ..)| std::cmp::Reverse(*place));
        let mut shown = Vec::new();
        for (rank, (_, entry, stored)) in (0..).zip(entries) {
            let Some(stored) = stored else {
                let key = String::from_utf8_lossy(&entry.key);
                tracing::warn!(%job, %key, "an entry of the history is no record");
                continue;
            };
            let kept = rank < self.limits.keep || !stored.record.state.is_final();
            if kept && !self.limits.is_too_old(&stored, now) {
                shown.push(stored);
            }
        }
        shown
    }
}

/// Stores a record, and counts those of its part after that.
fn counted(storing: Txn, keys: &Keys, record: &Record) -> Txn {
    Txn::new().and_then([TxnOp::txn(storing), count(keys, shelf(record.state))])
}

/// Entries with their places in the order of the history.
fn placed(job: &JobId, entries: Vec<Entry>) -> Vec<(u64, Entry, Option<Stored>)> {
    let place = |entry: Entry| {
        let stored = records::read(job, &entry);
        let place = stored.as_ref().map_or(entry.created, |stored| stored.place);
        (place, entry, stored)
    };
    entries.into_iter().map(place).collect()
}
