use std::time::Duration;

use tidelock::{
    AcquireRequest, Acquisition, Backend, ErrorKind, Fingerprint, Holder, LockBackend, LockKey,
    NodeId, Occurrence, Record, RecordQuery, RecordStore, RunId, RunState,
};
use tidelock_memory::MemoryBackend;
use tokio::time::{sleep, timeout};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn record(number: u128, job: &JobId) -> Record {
    let (id, node) = (RunId::new(number), NodeId::new("node").unwrap());
    let started = jiff::Timestamp::UNIX_EPOCH;
    Record::new(id, job.clone(), node, RunState::Running, started)
}

async fn saved(backend: &impl RecordStore, job: &JobId) -> usize {
    let query = RecordQuery::newest(job.clone(), 100);
    backend.list(&query).await.unwrap().len()
}

fn setting() -> (Faults<MemoryBackend>, MemoryBackend, JobId) {
    let backend = MemoryBackend::new();
    let faults = Faults::new(backend.clone());
    (faults, backend, JobId::new("job").unwrap())
}

#[tokio::test(start_paused = true)]
async fn what_is_lost_on_the_way_there_is_not_done_and_what_is_lost_on_the_way_back_is() {
    let (faults, backend, job) = setting();
    for (number, fault, done) in [
        (1, Fault::LoseRequest, 0),
        (2, Fault::Fail(ErrorKind::Denied), 0),
        (3, Fault::LoseReply, 1),
        (4, Fault::ArriveLate(SECOND), 1),
    ] {
        faults.next(Op::Save, fault);
        assert!(faults.save(&record(number, &job)).await.is_err());
        assert_eq!(saved(&backend, &job).await, done, "{fault:?}");
    }
    sleep(SECOND * 2).await;
    assert_eq!(saved(&backend, &job).await, 2);
    assert!(faults.save(&record(5, &job)).await.is_ok());
    assert_eq!((faults.count(Op::Save), faults.count(Op::List)), (5, 0));
}

#[tokio::test(start_paused = true)]
async fn a_slow_request_arrives_even_when_its_caller_gave_up() {
    let (faults, backend, job) = setting();
    faults.always(Op::Save, Fault::Delay(SECOND * 2));
    let record = record(1, &job);
    assert!(timeout(SECOND, faults.save(&record)).await.is_err());
    assert_eq!(saved(&backend, &job).await, 0);
    sleep(SECOND * 2).await;
    assert_eq!(saved(&backend, &job).await, 1);
    faults.always(Op::Save, Fault::Hang);
    assert!(timeout(SECOND * 999, faults.save(&record)).await.is_err());
    faults.clear();
    assert!(faults.save(&record).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn one_jobs_faults_are_no_other_jobs() {
    let (faults, _, job) = setting();
    let other = JobId::new("other").unwrap();
    faults.next_of(&job, Op::Save, Fault::Fail(ErrorKind::Denied));
    faults.always_of(&job, Op::Save, Fault::LoseRequest);
    assert!(faults.save(&record(1, &other)).await.is_ok());
    let denied = faults.save(&record(2, &job)).await.unwrap_err();
    let lost = faults.save(&record(2, &job)).await.unwrap_err();
    assert_eq!((denied.kind, lost.kind), (ErrorKind::Denied, ErrorKind::Timeout));
}

#[tokio::test(start_paused = true)]
async fn a_cut_link_refuses_or_hangs_until_it_is_healed_and_cuts_one_node_alone() {
    let (faults, backend, job) = setting();
    let neighbour = Faults::new(backend);
    faults.link().cut();
    assert!(faults.save(&record(1, &job)).await.is_err());
    faults.link().cut_silently();
    assert!(timeout(SECOND * 999, faults.save(&record(1, &job))).await.is_err());
    assert_eq!(saved(&neighbour, &job).await, 0);
    faults.link().heal();
    assert!(faults.save(&record(1, &job)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_answer_on_its_way_while_the_link_is_cut_does_not_come_and_the_request_was_done() {
    let (faults, backend, job) = setting();
    faults.next(Op::Save, Fault::DelayReply(SECOND * 2));
    let record = record(1, &job);
    let (saving, ()) = tokio::join!(faults.save(&record), async {
        sleep(SECOND).await;
        faults.link().cut();
    });
    assert_eq!(saving.unwrap_err().kind, ErrorKind::Timeout);
    assert_eq!(saved(&backend, &job).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_record_leaves_the_grant_and_is_told() {
    let (faults, backend, job) = setting();
    let node = NodeId::new("node").unwrap();
    let request = AcquireRequest::new(
        LockKey::of(&job),
        Holder::new(&node, 1),
        RunId::new(1),
        node,
        Occurrence::from_millisecond(0),
        Fingerprint::new(0),
        SECOND,
    );
    faults.next(Op::Begin, Fault::RefuseRecord);
    let begun = faults.begin(&request, &record(1, &job)).await.unwrap();
    assert!(matches!(begun.value.acquisition, Acquisition::Granted(_)));
    assert!(begun.value.unsaved.is_some());
    let state = backend.inspect(&request.key).await.unwrap().value;
    assert!(state.held.is_some() && saved(&backend, &job).await == 0);
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_faults() {
    let job = JobId::new("job").unwrap();
    let mut logs = Vec::new();
    for _ in 0..2 {
        let faults = Faults::new(MemoryBackend::new()).logged();
        let chaos = Chaos::seeded(7).fail(0.2).lose_request(0.2).lose_reply(0.2);
        faults.random(chaos.arrive_late(0.2, SECOND).delay(0.2, SECOND));
        for number in 0..100 {
            let _ = faults.save(&record(number, &job)).await;
        }
        let log = faults.take_log();
        logs.push(log.iter().map(|call| call.fault).collect::<Vec<_>>());
    }
    assert_eq!(logs[0], logs[1]);
    assert!(logs[0].contains(&None) && logs[0].contains(&Some(Fault::LoseReply)));
}
