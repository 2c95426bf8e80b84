//! What cases do with a backend.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tidelock::{
    AcquireRequest, Acquisition, Answer, Backend, BackendError, Begun, Clear, Clock, Consumed,
    Fingerprint, Finished, Grant, Holder, JobId, Lease, LockBackend, LockKey, LockState, NodeId,
    Occurrence, Record, RecordQuery, RecordStore, Release, Renewal, RunId, RunState, SystemClock,
    Taken,
};

use super::Fresh;

/// A TTL that no case outlives.
const LONG: Duration = Duration::from_secs(300);

/// A fresh backend on the workbench, with short words for what cases do.
///
/// Its methods panic where the backend could not find out: no case here breaks it.
#[derive(Debug)]
pub struct Bench {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) locks: Arc<dyn LockBackend>,
    pub(super) records: Arc<dyn RecordStore>,
    pub(super) slack: Duration,
    ttl: Duration,
    /// The instant of tick 0: an hour ago by the backend's clock.
    base: i64,
    numbers: AtomicU64,
    _guard: Option<Box<dyn Any + Send + Sync>>,
}

impl Bench {
    pub(super) async fn new(
        backend: Arc<dyn Backend>,
        fresh: Fresh,
        ttl: Duration,
        slack: Duration,
    ) -> Self {
        let mut bench = Self {
            backend,
            locks: fresh.locks,
            records: fresh.records,
            slack,
            ttl,
            base: 0,
            numbers: AtomicU64::new(1),
            _guard: fresh.guard,
        };
        bench.base = (bench.now().await.as_second() - 3_600) * 1_000;
        bench
    }

    /// The backend's clock; without one, the machine's.
    pub(super) async fn now(&self) -> Timestamp {
        let answer = must(self.backend.inspect(&key("clock")).await);
        answer.clock.unwrap_or_else(|| SystemClock.now())
    }

    /// The tick that many seconds after the first of the case (which was an hour ago).
    pub(super) fn tick(&self, second: i64) -> Occurrence {
        Occurrence::from_millisecond(self.base + second * 1_000).expect("a tick in range")
    }

    /// The tick that far from the backend's time, in whole milliseconds.
    pub(super) async fn tick_in(&self, from_now: SignedDuration) -> Occurrence {
        let at = (self.now().await + from_now).as_millisecond();
        Occurrence::from_millisecond(at).expect("a tick in range")
    }

    /// A request of `node` for a tick of the case's job, with a TTL that does not matter.
    pub(super) fn ask(&self, node: &str, second: i64) -> AcquireRequest {
        self.ask_for(&key("job"), node, Some(self.tick(second)))
    }

    /// The same with a TTL that [`Suite::expire`](super::Suite::expire) waits for.
    pub(super) fn ask_briefly(&self, node: &str, second: i64) -> AcquireRequest {
        let mut request = self.ask(node, second);
        request.ttl = self.ttl;
        request
    }

    /// A request of `node` for a manual run of the case's job.
    pub(super) fn ask_manually(&self, node: &str) -> AcquireRequest {
        self.ask_for(&key("job"), node, None)
    }

    /// Any request.
    pub(super) fn ask_for(
        &self,
        key: &LockKey,
        node: &str,
        occurrence: Option<Occurrence>,
    ) -> AcquireRequest {
        let node = NodeId::new(node).expect("a node's name");
        AcquireRequest::new(
            key.clone(),
            Holder::new(&node, self.number()),
            RunId::new(self.number()),
            node,
            occurrence,
            Fingerprint::new(0x0123_4567_89ab_cdef),
            LONG,
        )
    }

    /// `begin`, with all that it tells.
    pub(super) async fn begun(&self, request: &AcquireRequest) -> Answer<Begun> {
        must(self.backend.begin(request, &running(request)).await)
    }

    /// `begin`, and its answer to the request.
    pub(super) async fn begin(&self, request: &AcquireRequest) -> Acquisition {
        let begun = self.begun(request).await.value;
        assert!(begun.unsaved.is_none(), "not saved: {:?}", begun.unsaved);
        begun.acquisition
    }

    /// `begin` that has to be granted.
    pub(super) async fn granted(&self, request: &AcquireRequest) -> Grant {
        match self.begin(request).await {
            Acquisition::Granted(grant) => grant,
            other => panic!("expected a grant, got {other:?}"),
        }
    }

    /// `begin` that has to hear that the tick is taken.
    pub(super) async fn taken(&self, request: &AcquireRequest) -> Taken {
        match self.begin(request).await {
            Acquisition::AlreadyTaken(taken) => taken,
            other => panic!("expected that it is taken, got {other:?}"),
        }
    }

    /// `begin` that has to consume the tick.
    pub(super) async fn consumed(&self, request: &AcquireRequest) -> Consumed {
        match self.begin(request).await {
            Acquisition::Consumed(consumed) => consumed,
            other => panic!("expected that it is consumed, got {other:?}"),
        }
    }

    /// `finish`, with all that it tells.
    pub(super) async fn finished(&self, lease: &Lease, done: &Record) -> Finished {
        must(self.backend.finish(lease, done).await).value
    }

    /// `finish` of a run that succeeded.
    pub(super) async fn finish(&self, lease: &Lease) -> Release {
        let done = record(lease.key.job(), lease.run_id, RunState::Succeeded);
        let finished = self.finished(lease, &done).await;
        assert!(finished.unsaved.is_none(), "{:?}", finished.unsaved);
        finished.release
    }

    /// A granted run that has ended.
    pub(super) async fn run(&self, request: &AcquireRequest) -> Grant {
        let grant = self.granted(request).await;
        assert_eq!(self.finish(&grant.lease).await, Release::Released);
        grant
    }

    /// `renew`, with a TTL that does not matter.
    pub(super) async fn renew(&self, lease: &Lease) -> Renewal {
        must(self.backend.renew(lease, LONG).await).value
    }

    /// `renew`, with a TTL that [`Suite::expire`](super::Suite::expire) waits for.
    pub(super) async fn renew_briefly(&self, lease: &Lease) -> Renewal {
        must(self.backend.renew(lease, self.ttl).await).value
    }

    /// `inspect` of the case's job.
    pub(super) async fn state(&self) -> LockState {
        self.state_of(&key("job")).await
    }

    /// `inspect` of any key.
    pub(super) async fn state_of(&self, key: &LockKey) -> LockState {
        must(self.backend.inspect(key).await).value
    }

    /// `force_release` of the case's job.
    pub(super) async fn force_release(&self, clear: Clear) -> Release {
        must(self.backend.force_release(&key("job"), clear).await).value
    }

    /// `save`.
    pub(super) async fn save(&self, record: &Record) {
        must(self.backend.save(record).await);
    }

    /// `list` of all that is stored of the case's job.
    pub(super) async fn history(&self) -> Vec<Record> {
        self.history_of(&job("job"), 10_000).await
    }

    /// `list` of any job.
    pub(super) async fn history_of(&self, job: &JobId, limit: usize) -> Vec<Record> {
        let query = RecordQuery::newest(job.clone(), limit);
        must(self.backend.list(&query).await)
    }

    /// A record of the case's job with an id of its own.
    pub(super) fn record(&self, state: RunState) -> Record {
        record(&job("job"), RunId::new(self.number()), state)
    }

    /// Waits for seven tenths of the TTL: twice that is more than a TTL and its slack.
    pub(super) async fn most_of_the_ttl(&self) {
        tokio::time::sleep(self.ttl.mul_f64(0.7)).await;
    }

    /// No number comes twice.
    fn number(&self) -> u128 {
        u128::from(self.numbers.fetch_add(1, Ordering::Relaxed)) | (1 << 127)
    }
}

/// A job of that name.
pub(super) fn job(name: &str) -> JobId {
    JobId::new(name).expect("a job's name")
}

/// The key of the job of that name.
pub(super) fn key(name: &str) -> LockKey {
    LockKey::of(&job(name))
}

/// The record that a node would begin a run with.
pub(super) fn running(request: &AcquireRequest) -> Record {
    let mut record = record(request.key.job(), request.run_id, RunState::Running);
    record.node = request.node.clone();
    record.occurrence = request.occurrence;
    record
}

/// A record with nothing in it that matters.
pub(super) fn record(job: &JobId, run_id: RunId, state: RunState) -> Record {
    let node = NodeId::new("node").expect("a node's name");
    let mut record = Record::new(run_id, job.clone(), node, state, Timestamp::UNIX_EPOCH);
    record.ended = state.is_final().then_some(Timestamp::UNIX_EPOCH);
    record
}

pub(super) fn must<T>(result: Result<T, BackendError>) -> T {
    result.unwrap_or_else(|error| panic!("the backend could not find out: {error:?}"))
}
