//! Short words for tests of a backend over a real server: requests, answers, and what runs did.
//!
//! Functions panic where a test could not go on. Requests are for the job `job` unless they say
//! otherwise.

mod seen;

use std::error::Error;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tidelock::{
    AcquireRequest, Acquisition, Backend, BackendError, Clock, Fingerprint, Finished, Grant,
    Holder, JobId, Lease, LockBackend, LockKey, NodeId, Occurrence, Record, RecordQuery,
    RecordStore, RunId, RunState, SystemClock,
};

/// A TTL that no test outlives.
pub const TTL: Duration = Duration::from_secs(30);

/// That many milliseconds.
pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// All that an error says, its causes included: for what it must never say.
pub fn words(error: &dyn Error) -> String {
    let mut words = format!("{error:?} {error}");
    let mut next = error.source();
    while let Some(error) = next {
        words.push_str(&format!(" {error:?} {error}"));
        next = error.source();
    }
    words
}

/// A job's id.
pub fn job(name: &str) -> JobId {
    JobId::new(name).expect("a job's name")
}

/// A request of another holder each time, for the tick `second` seconds after one of an hour ago.
pub fn ask(name: &str, second: i64) -> AcquireRequest {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = u128::from(NEXT.fetch_add(1, Ordering::Relaxed));
    let node = NodeId::new("node-1").expect("a node's name");
    let tick = (hour_ago().as_second() + second) * 1_000;
    AcquireRequest::new(
        LockKey::of(&job(name)),
        Holder::new(&node, number),
        RunId::new(number | 1 << 100),
        node,
        Occurrence::from_millisecond(tick),
        Fingerprint::new(7),
        TTL,
    )
}

fn hour_ago() -> Timestamp {
    static ONCE: OnceLock<Timestamp> = OnceLock::new();
    *ONCE.get_or_init(|| SystemClock.now() - SignedDuration::from_hours(1))
}

/// A record of a request's run.
pub fn record(request: &AcquireRequest, state: RunState) -> Record {
    let (job, node) = (request.key.job().clone(), request.node.clone());
    let mut record = Record::new(request.run_id, job, node, state, SystemClock.now());
    record.occurrence = request.occurrence;
    record.ended = state.is_final().then(|| SystemClock.now());
    record
}

/// `begin`.
///
/// # Errors
///
/// Those of the backend.
pub async fn begin(
    backend: &impl Backend,
    request: &AcquireRequest,
) -> Result<Acquisition, BackendError> {
    let begun = backend.begin(request, &record(request, RunState::Running)).await?;
    Ok(begun.value.acquisition)
}

/// `begin` that has to be granted.
pub async fn granted(backend: &impl Backend, request: &AcquireRequest) -> Grant {
    match begin(backend, request).await {
        Ok(Acquisition::Granted(grant)) => grant,
        other => panic!("expected a grant, got {other:?}"),
    }
}

/// Of a node that asks for the same tick: it must hear that it is taken.
pub async fn assert_taken(backend: &impl Backend, second: i64) {
    let answer = begin(backend, &ask("job", second)).await;
    assert!(matches!(answer, Ok(Acquisition::AlreadyTaken(_))), "{answer:?}");
}

/// `finish` of a run that succeeded.
///
/// # Errors
///
/// Those of the backend.
pub async fn finish(
    backend: &impl Backend,
    request: &AcquireRequest,
    lease: &Lease,
) -> Result<Finished, BackendError> {
    let done = record(request, RunState::Succeeded);
    Ok(backend.finish(lease, &done).await?.value)
}

/// All that is stored of the job.
pub async fn history(records: &impl RecordStore) -> Vec<Record> {
    history_of(records, "job").await
}

/// All that is stored of a job.
pub async fn history_of(records: &impl RecordStore, name: &str) -> Vec<Record> {
    let query = RecordQuery::newest(job(name), 1_000);
    records.list(&query).await.expect("a list of records")
}

/// Whether the job's lock is held.
pub async fn held(locks: &impl LockBackend) -> bool {
    let state = locks.inspect(&LockKey::of(&job("job"))).await;
    state.expect("the state").value.held.is_some()
}
