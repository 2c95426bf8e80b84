//! The floor: two bare transactions, with the same reads and writes as ours (lock under a lease that
//! stays, mark, token, open run, record, how many records there are, and the oldest one of a full
//! history), and nothing else: no answers but yes and no, no care for what makes no sense, for limits
//! of age, for what a record replaces, or for a call that is made again.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use etcd_client::{
    Compare, CompareOp, DeleteOptions, GetOptions, KvClient, PutOptions, SortOrder, SortTarget,
    Txn, TxnOp, TxnOpResponse,
};

use super::Etcd;
use crate::load::{Runs, Ticks, now};

/// How many runs are kept: the default of ours.
const KEEP: usize = 100;

pub(crate) struct Floor {
    kv: KvClient,
    lease: i64,
    jobs: Vec<Job>,
    ticks: Ticks,
}

/// The keys of a job; and its records, which the one who writes them knows, oldest first.
pub(crate) struct Job {
    prefix: String,
    records: Mutex<VecDeque<String>>,
}

impl Floor {
    pub(crate) async fn new(etcd: &Etcd, namespace: &str, jobs: usize) -> Self {
        let lease = etcd.client().await.lease_grant(3_600, None).await.expect("a lease").id();
        let jobs = (0..jobs).map(|job| Job::new(namespace, job)).collect();
        Self { kv: etcd.kv().await, lease, jobs, ticks: Ticks::new() }
    }
}

impl Runs for Floor {
    async fn run(&self, job: usize) {
        self.jobs[job].run(&self.kv, self.lease, &self.ticks).await;
    }
}

impl Job {
    pub(crate) fn new(namespace: &str, job: usize) -> Self {
        Self { prefix: format!("floor/{namespace}/job-{job}/"), records: Mutex::default() }
    }

    fn key(&self, part: &str) -> String {
        format!("{}{part}", self.prefix)
    }

    /// A run whose lock goes with that lease.
    pub(crate) async fn run(&self, kv: &KvClient, lease: i64, ticks: &Ticks) {
        let mut kv = kv.clone();
        let (tick, number) = ticks.next();
        let (run, started) = (format!("{number:032x}"), now().as_microsecond());
        let record = self.key(&format!("runs/{run}"));
        let (begin, lock) = self.begin(tick, &run, lease, &record, started);
        let answer = kv.txn(begin).await.expect("an answer");
        assert!(answer.succeeded());
        let token = answer.header().map_or(0, etcd_client::ResponseHeader::revision);
        let parts = answer.op_responses();
        let Some(TxnOpResponse::Get(marks)) = parts.first() else { panic!("a range") };
        let previous = marks.kvs().first().map(|mark| mark.key().to_vec());
        let oldest = {
            let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
            records.push_back(record.clone());
            if records.len() > KEEP { records.pop_front() } else { None }
        };
        let finish = self.finish(lock, token, previous, oldest, &record, (tick, started));
        assert!(kv.txn(finish).await.expect("an answer").succeeded());
    }

    /// The transaction, and what stands in the lock.
    fn begin(&self, tick: i64, run: &str, lease: i64, record: &str, started: i64) -> (Txn, String) {
        let lock = format!(r#"{{"holder":"node-1/{run}","run":"{run}"}}"#);
        let mark = self.key(&format!("mark/{tick:015}"));
        let newest = GetOptions::new()
            .with_range(self.key("mark0"))
            .with_sort(SortTarget::Key, SortOrder::Descend)
            .with_limit(1);
        let free = Compare::create_revision(self.key("lock"), CompareOp::Equal, 0);
        let newer = Compare::create_revision(mark.clone(), CompareOp::Equal, 0)
            .with_range(self.key("mark0"));
        let txn = Txn::new().when([free, newer]).and_then([
            TxnOp::get(self.key("mark/"), Some(newest)),
            TxnOp::get(self.key("open/"), Some(GetOptions::new().with_range(self.key("open0")))),
            TxnOp::put(self.key("lock"), lock.clone(), Some(PutOptions::new().with_lease(lease))),
            TxnOp::put(self.key("token"), run, None),
            TxnOp::put(self.key(&format!("open/{run}")), format!("node-1 {tick}"), None),
            TxnOp::put(mark, format!("granted node-1/{run} {run} node-1 0000000000000007"), None),
            TxnOp::put(record, format!("running {tick} {started} node-1"), None),
            TxnOp::get(
                self.key("runs/"),
                Some(GetOptions::new().with_range(self.key("runs0")).with_count_only()),
            ),
        ]);
        (txn, lock)
    }

    fn finish(
        &self,
        lock: String,
        token: i64,
        previous: Option<Vec<u8>>,
        oldest: Option<String>,
        record: &str,
        (tick, started): (i64, i64),
    ) -> Txn {
        let ended = now().as_microsecond();
        let mut then = vec![
            TxnOp::delete(self.key("lock"), None),
            TxnOp::delete(
                self.key("open/"),
                Some(DeleteOptions::new().with_range(self.key("open0"))),
            ),
            TxnOp::put(
                record,
                format!("succeeded - - {ended} {token:016} {tick} {started} node-1"),
                None,
            ),
        ];
        if let Some(previous) = previous {
            let until = DeleteOptions::new().with_range(previous);
            then.push(TxnOp::delete(self.key("mark/"), Some(until)));
        }
        if let Some(oldest) = oldest {
            then.push(TxnOp::delete(oldest, None));
        }
        let mine = Compare::create_revision(self.key("lock"), CompareOp::Equal, token);
        let mine = [mine, Compare::value(self.key("lock"), CompareOp::Equal, lock)];
        Txn::new().when(mine).and_then(then)
    }
}
