//! The jobs whose runs are measured, and the requests and records of a node for them.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use tidelock::{
    AcquireRequest, Acquisition, Backend, Clock, FencingToken, Fingerprint, Holder, JobId, Lease,
    LockKey, NodeId, Occurrence, Record, RecordStore, RunId, RunState, SystemClock,
};

use super::{Runs, Ticks};

/// How long a lock lives without renewal: the default.
pub(crate) const TTL: Duration = Duration::from_secs(30);

#[derive(Debug)]
struct Job {
    id: JobId,
    key: LockKey,
    /// The newest tick that was asked for.
    last: AtomicI64,
}

/// What an engine does for a run over a backend: `begin`, and `finish`.
#[derive(Debug)]
pub(crate) struct Jobs<B> {
    pub(crate) backend: B,
    node: NodeId,
    jobs: Vec<Job>,
    ticks: Ticks,
}

impl<B: Backend> Jobs<B> {
    /// That many jobs, seen by a node of that name.
    pub(crate) fn new(backend: B, jobs: usize, node: &str) -> Self {
        let id = |number| JobId::new(format!("job-{number}")).expect("a job's id");
        let job = |id| Job { key: LockKey::of(&id), id, last: AtomicI64::new(0) };
        let jobs = (0..jobs).map(id).map(job).collect();
        let node = NodeId::new(node).expect("a node's id");
        Self { backend, node, jobs, ticks: Ticks::new() }
    }

    pub(crate) fn id(&self, job: usize) -> JobId {
        self.jobs[job].id.clone()
    }

    /// The request for a tick later than all before, and the record of its run.
    pub(crate) fn ask(&self, job: usize) -> (AcquireRequest, Record) {
        let (tick, number) = self.ticks.next();
        self.ask_for(job, tick, number)
    }

    /// The request for that tick, by a holder and for a run of that number.
    pub(crate) fn ask_for(&self, job: usize, tick: i64, number: u128) -> (AcquireRequest, Record) {
        let Job { id, key, last } = &self.jobs[job];
        let (run, node) = (RunId::new(number), self.node.clone());
        let mut request = AcquireRequest::new(
            key.clone(),
            Holder::new(&node, number),
            run,
            node.clone(),
            Occurrence::from_millisecond(tick),
            Fingerprint::new(7),
            TTL,
        );
        // The job's tick before this one: none was passed over.
        request.after = Occurrence::from_millisecond(last.swap(tick, Ordering::Relaxed));
        let mut record = Record::new(run, id.clone(), node, RunState::Running, now());
        record.occurrence = request.occurrence;
        (request, record)
    }

    pub(crate) async fn begin(&self, request: &AcquireRequest, running: &Record) -> Acquisition {
        let begun = self.backend.begin(request, running).await.expect("an answer").value;
        assert!(begun.unsaved.is_none(), "{begun:?}");
        begun.acquisition
    }

    pub(crate) async fn finish(&self, lease: &Lease, mut record: Record) {
        end(&mut record, lease);
        let finished = self.backend.finish(lease, &record).await.expect("an answer").value;
        assert!(finished.unsaved.is_none(), "{finished:?}");
    }

    /// One whole run of the job of that number, with that to do in it.
    pub(crate) async fn run_with(&self, job: usize, what: impl FnOnce()) {
        let (request, record) = self.ask(job);
        let Acquisition::Granted(grant) = self.begin(&request, &record).await else {
            panic!("a tick that nobody else asks for is granted");
        };
        what();
        self.finish(&grant.lease, record).await;
    }

    /// A run that has ended, for a history, by itself.
    pub(crate) async fn save(&self, job: usize) {
        let (request, mut record) = self.ask(job);
        let lease = Lease::new(
            request.key.clone(),
            request.holder,
            request.run_id,
            FencingToken::new(1_764_431_132_000_141),
        );
        end(&mut record, &lease);
        RecordStore::save(&self.backend, &record).await.expect("saved");
    }
}

fn end(record: &mut Record, lease: &Lease) {
    record.state = RunState::Succeeded;
    record.token = Some(lease.token);
    record.ended = Some(now());
}

impl<B: Backend> Runs for Jobs<B> {
    async fn run(&self, job: usize) {
        self.run_with(job, || {}).await;
    }
}

/// The machine's clock, as an engine reads it.
pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

/// A number that no other one makes, spread over all bits as a random one is.
pub(crate) fn random(number: i64) -> u128 {
    u128::from(number.unsigned_abs()).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}
