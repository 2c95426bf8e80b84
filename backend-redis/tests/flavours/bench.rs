//! What the tests share: runs of one job, each with a tick of its own.

use std::time::Duration;

use jiff::Timestamp;
use tidelock::{
    AcquireRequest, Acquisition, Backend, BackendError, Fingerprint, Holder, JobId, LockKey,
    NodeId, Occurrence, Record, RecordQuery, RecordStore, RunId, RunState,
};
use tidelock_redis::RedisBackend;

pub(crate) fn ask(number: u128) -> AcquireRequest {
    let node = NodeId::new("node").unwrap();
    AcquireRequest::new(
        LockKey::of(&JobId::new("job {1}:x").unwrap()),
        Holder::new(&node, number),
        RunId::new(number),
        node,
        Occurrence::from_millisecond(i64::try_from(number).unwrap() * 1_000),
        Fingerprint::new(1),
        Duration::from_secs(30),
    )
}

pub(crate) fn record(request: &AcquireRequest, state: RunState) -> Record {
    let (job, node) = (request.key.job().clone(), request.node.clone());
    Record::new(request.run_id, job, node, state, Timestamp::UNIX_EPOCH)
}

pub(crate) async fn begin(
    backend: &RedisBackend,
    number: u128,
) -> Result<Acquisition, BackendError> {
    let request = ask(number);
    let running = record(&request, RunState::Running);
    Ok(backend.begin(&request, &running).await?.value.acquisition)
}

/// A whole run, and its record.
pub(crate) async fn assert_runs(backend: &RedisBackend, number: u128) {
    let Acquisition::Granted(grant) = begin(backend, number).await.unwrap() else {
        panic!("not granted");
    };
    let done = record(&ask(number), RunState::Succeeded);
    let finished = backend.finish(&grant.lease, &done).await.unwrap().value;
    assert!(finished.unsaved.is_none(), "{:?}", finished.unsaved);
    let query = RecordQuery::newest(done.job.clone(), 1);
    let newest = backend.list(&query).await.unwrap();
    assert_eq!((newest[0].run_id, newest[0].state), (done.run_id, done.state));
}

pub(crate) async fn say(url: &str, words: &str) -> redis::RedisResult<redis::Value> {
    let client = redis::Client::open(url)?;
    // A busy machine is no failure.
    let patience = Some(std::time::Duration::from_secs(10));
    let patient = redis::AsyncConnectionConfig::new().set_response_timeout(patience);
    let mut connection = client.get_multiplexed_async_connection_with_config(&patient).await?;
    let mut words = words.split(' ');
    let mut command = redis::cmd(words.next().unwrap());
    words.for_each(|word| {
        command.arg(word);
    });
    command.query_async(&mut connection).await
}
