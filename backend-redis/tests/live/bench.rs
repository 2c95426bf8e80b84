//! What the tests share: short words for requests, and for the server's own side.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use redis::aio::MultiplexedConnection;
use tidelock::{
    AcquireRequest, Acquisition, Backend, BackendError, Clock, Fingerprint, Grant, Holder, JobId,
    Lease, LockBackend, LockKey, NodeId, Occurrence, Record, RecordQuery, RecordStore, RunId,
    RunState, SystemClock,
};
use tidelock_redis::{RedisBackend, RedisBackendBuilder};
use tidelock_tests::servers::namespace;

pub(crate) const TTL: Duration = Duration::from_secs(30);

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn job(name: &str) -> JobId {
    JobId::new(name).unwrap()
}

/// A builder with a fresh namespace.
pub(crate) fn fresh() -> RedisBackendBuilder {
    RedisBackend::builder(namespace())
}

pub(crate) fn at(url: &str) -> RedisBackend {
    fresh().connect_lazy(url).unwrap()
}

/// A connection of the test's own.
pub(crate) async fn admin(url: &str) -> MultiplexedConnection {
    let client = redis::Client::open(url).unwrap();
    client.get_multiplexed_async_connection().await.unwrap()
}

/// Sends a command of the test's own, given as words.
pub(crate) async fn say(connection: &mut MultiplexedConnection, words: &str) -> redis::Value {
    let mut words = words.split(' ');
    let mut command = redis::cmd(words.next().unwrap());
    for word in words {
        command.arg(word);
    }
    command.query_async(connection).await.unwrap()
}

/// A request of another holder each time, for the tick `second` seconds after one of an hour ago.
pub(crate) fn ask(name: &str, second: i64) -> AcquireRequest {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = u128::from(NEXT.fetch_add(1, Ordering::Relaxed));
    let node = NodeId::new("node-1").unwrap();
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
    use std::sync::OnceLock;
    static ONCE: OnceLock<Timestamp> = OnceLock::new();
    *ONCE.get_or_init(|| SystemClock.now() - jiff::SignedDuration::from_hours(1))
}

pub(crate) fn record(request: &AcquireRequest, state: RunState) -> Record {
    let (job, node) = (request.key.job().clone(), request.node.clone());
    let mut record = Record::new(request.run_id, job, node, state, SystemClock.now());
    record.occurrence = request.occurrence;
    record.ended = state.is_final().then(|| SystemClock.now());
    record
}

pub(crate) async fn begin(
    backend: &RedisBackend,
    request: &AcquireRequest,
) -> Result<Acquisition, BackendError> {
    let begun = backend.begin(request, &record(request, RunState::Running)).await?;
    Ok(begun.value.acquisition)
}

pub(crate) async fn granted(backend: &RedisBackend, request: &AcquireRequest) -> Grant {
    match begin(backend, request).await {
        Ok(Acquisition::Granted(grant)) => grant,
        other => panic!("expected a grant, got {other:?}"),
    }
}

/// Of a node that asks for the same tick: it must hear that it is taken.
pub(crate) async fn assert_taken(backend: &RedisBackend, second: i64) {
    let answer = begin(backend, &ask("job", second)).await.unwrap();
    assert!(matches!(answer, Acquisition::AlreadyTaken(_)), "{answer:?}");
}

pub(crate) async fn finish(
    backend: &RedisBackend,
    request: &AcquireRequest,
    lease: &Lease,
) -> Result<tidelock::Finished, BackendError> {
    let done = record(request, RunState::Succeeded);
    Ok(backend.finish(lease, &done).await?.value)
}

pub(crate) async fn history(backend: &RedisBackend) -> Vec<Record> {
    let query = RecordQuery::newest(job("job"), 1_000);
    backend.list(&query).await.unwrap()
}

pub(crate) async fn held(backend: &RedisBackend) -> bool {
    let state = backend.inspect(&LockKey::of(&job("job"))).await.unwrap();
    state.value.held.is_some()
}
