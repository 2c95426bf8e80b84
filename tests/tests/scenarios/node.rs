//! A node of which everything can go wrong: its clock, its way to the backend, its process.

use std::sync::Arc;

use tidelock::{
    Backend, Event, EventKind, EventStream, Job, JobBuilder, JobId, LockBackend, LockKey,
    LockState, Occurrence, Record, RecordQuery, RecordStore, RunContext, RunState, Scheduler,
    SchedulerBuilder, TestClock,
};
use tidelock_tests::{Faults, NodeSpawner};

use crate::fleet::{Diary, Fleet, at};

/// One node of a fleet.
pub(crate) struct Node {
    pub(crate) scheduler: Scheduler,
    /// Its way to the backend.
    pub(crate) faults: Faults<Arc<dyn Backend>>,
    /// Its process.
    pub(crate) spawner: NodeSpawner,
    pub(crate) clock: TestClock,
    events: EventStream,
}

impl Node {
    /// A node with a clock that shows the true time until it is stepped.
    pub(crate) async fn start(fleet: &Fleet, name: &str, jobs: impl Into<Vec<Job>>) -> Self {
        Self::start_with(fleet, name, fleet.clock.skewed(crate::fleet::ahead(0)), jobs).await
    }

    /// A node with a clock of its own.
    pub(crate) async fn start_with(
        fleet: &Fleet,
        name: &str,
        clock: TestClock,
        jobs: impl Into<Vec<Job>>,
    ) -> Self {
        let backend = Arc::new(fleet.backend.clone());
        Self::build(fleet, name, backend, clock, jobs.into(), |node| node).await
    }

    /// A node over another view of the backend.
    pub(crate) async fn start_over(
        fleet: &Fleet,
        name: &str,
        backend: Arc<dyn Backend>,
        jobs: impl Into<Vec<Job>>,
    ) -> Self {
        let clock = fleet.clock.skewed(crate::fleet::ahead(0));
        Self::build(fleet, name, backend, clock, jobs.into(), |node| node).await
    }

    /// A node set up as `settings` says.
    pub(crate) async fn build(
        fleet: &Fleet,
        name: &str,
        backend: Arc<dyn Backend>,
        clock: TestClock,
        jobs: Vec<Job>,
        settings: impl FnOnce(SchedulerBuilder) -> SchedulerBuilder,
    ) -> Self {
        let faults = Faults::new(backend).logged();
        let spawner = NodeSpawner::new().linked(faults.link());
        let mut builder =
            fleet.node_over(faults.clone(), clock.clone(), name).spawner(spawner.clone());
        for job in jobs {
            builder = builder.job(job).unwrap();
        }
        let scheduler = settings(builder).start().await.unwrap();
        let events = scheduler.events();
        Self { scheduler, faults, spawner, clock, events }
    }

    /// What happened on it since it was last asked.
    pub(crate) fn events(&mut self) -> Vec<EventKind> {
        let mut kinds = Vec::new();
        while let Some(Event { kind, .. }) = self.events.try_next() {
            assert!(!matches!(kind, EventKind::Lagged { .. }), "events lost");
            kinds.push(kind);
        }
        kinds
    }
}

/// What the backend knows of a job's lock.
pub(crate) async fn lock(fleet: &Fleet, job: &str) -> LockState {
    let key = LockKey::of(&JobId::new(job).unwrap());
    fleet.backend.inspect(&key).await.unwrap().value
}

/// Nothing is locked and no run is open, and what never goes has stayed.
pub(crate) async fn assert_tidy(fleet: &Fleet, job: &str) {
    let state = lock(fleet, job).await;
    assert_eq!((&state.held, &state.open_runs[..]), (&None, &[][..]));
    assert!(state.mark.is_some() && state.token.is_some(), "{state:?}");
}

/// The records of a job as they are stored, oldest first.
pub(crate) async fn stored(fleet: &Fleet, job: &str) -> Vec<Record> {
    let query = RecordQuery::newest(JobId::new(job).unwrap(), usize::MAX);
    let mut records = fleet.backend.list(&query).await.unwrap();
    records.reverse();
    records
}

/// The states of a job's records as they are stored, oldest first.
pub(crate) async fn states(fleet: &Fleet, job: &str) -> Vec<RunState> {
    let records = stored(fleet, job).await;
    records.iter().map(|record| record.state).collect()
}

/// The tick of that instant.
pub(crate) fn tick(text: &str) -> Occurrence {
    Occurrence::new(at(text)).unwrap()
}

/// A job that notes `start` and, after so long, `end`; or `told` when it is told to stop, and
/// `dropped` when it does not come to its end.
pub(crate) fn noting(builder: JobBuilder, takes: std::time::Duration, diary: &Diary) -> Job {
    let diary = diary.clone();
    builder.run(move |run| {
        let diary = diary.clone();
        async move {
            diary.write(&run, "start");
            let mut notes = NotesDrop { run: run.clone(), diary: diary.clone(), ended: false };
            let work = tokio::time::sleep(takes);
            tokio::pin!(work);
            tokio::select! {
                biased;
                () = &mut work => {}
                _ = run.cancelled() => {
                    diary.write(&run, "told");
                    work.await;
                }
            }
            notes.ended = true;
            diary.write(&run, "end");
        }
    })
}

struct NotesDrop {
    run: RunContext,
    diary: Diary,
    ended: bool,
}

impl Drop for NotesDrop {
    fn drop(&mut self) {
        if !self.ended {
            self.diary.write(&self.run, "dropped");
        }
    }
}

/// What a diary says, each with the seconds since `start`.
pub(crate) fn told(diary: &Diary, start: tokio::time::Instant) -> Vec<(f64, String, &'static str)> {
    let entries = diary.entries();
    let entry = |e: crate::fleet::Entry| ((e.at - start).as_secs_f64(), e.node, e.what);
    entries.into_iter().map(entry).collect()
}
