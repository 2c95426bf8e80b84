//! Nodes in real time over a real backend, and what their handlers did.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidelock::{
    Backend, Job, Occurrence, Record, RecordQuery, RecordStore, RunContext, RunId, Scheduler,
};
use tokio::time::{Instant, sleep};

/// Schedulers of one process, each with a backend of its own, and what their handlers did.
///
/// For tests in which a server fails under whole schedulers: the checks are those of the promise.
#[derive(Debug)]
pub struct Fleet {
    /// The nodes.
    pub nodes: Vec<Scheduler>,
    /// What the handlers did.
    pub seen: Seen,
}

/// What handlers did, on all nodes.
#[derive(Clone, Debug, Default)]
pub struct Seen(Arc<Mutex<Vec<Start>>>);

/// One call of a handler.
#[derive(Clone, Debug)]
pub struct Start {
    /// Of which job.
    pub job: String,
    /// For which tick.
    pub tick: Option<Occurrence>,
    /// In which run.
    pub run_id: RunId,
    /// When.
    pub at: Instant,
    /// When it returned or was dropped.
    pub ended: Option<Instant>,
}

impl Fleet {
    /// A node for each backend, named `node-0`, `node-1` and so on, with these jobs.
    ///
    /// # Panics
    ///
    /// When a node does not start.
    pub async fn start<B: Backend>(
        backends: impl IntoIterator<Item = B>,
        jobs: impl Fn(&Seen) -> Vec<Job>,
    ) -> Self {
        let mut fleet = Self { nodes: Vec::new(), seen: Seen::default() };
        for (number, backend) in backends.into_iter().enumerate() {
            let mut node = Scheduler::builder(backend)
                .node_id(format!("node-{number}"))
                .expect("a name for a node");
            for job in jobs(&fleet.seen) {
                node = node.job(job).expect("a job");
            }
            fleet.nodes.push(node.start().await.expect("a node starts"));
        }
        fleet
    }

    /// Ends all nodes at once, and gives what their handlers did.
    pub async fn shutdown(self, deadline: Duration) -> Seen {
        let ends: Vec<_> = self.nodes.into_iter().map(|node| node.shutdown(deadline)).collect();
        for end in ends {
            let _ = end.await;
        }
        self.seen
    }
}

impl Seen {
    /// A handler that takes that long.
    pub fn takes(
        &self,
        time: Duration,
    ) -> impl Fn(RunContext) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync + 'static
    {
        let seen = self.clone();
        move |run| {
            let end = seen.starts(&run);
            Box::pin(async move {
                let _end = end;
                sleep(time).await;
            })
        }
    }

    /// Notes that a handler was called; it has ended when what this gives is dropped.
    pub fn starts(&self, run: &RunContext) -> impl Sized + Send + use<> {
        self.all_mut().push(Start {
            job: run.job().to_string(),
            tick: run.occurrence(),
            run_id: run.run_id(),
            at: Instant::now(),
            ended: None,
        });
        End(self.clone(), run.run_id())
    }

    /// The calls of a job's handler so far.
    pub fn of(&self, job: &str) -> Vec<Start> {
        self.all_mut().iter().filter(|start| start.job == job).cloned().collect()
    }

    /// Waits until a job's handler was called `count` times.
    ///
    /// # Panics
    ///
    /// When that takes longer than 30 s.
    pub async fn wait_for(&self, job: &str, count: usize) {
        let begun = Instant::now();
        while self.of(job).len() < count {
            let seen = self.of(job).len();
            assert!(begun.elapsed() < Duration::from_secs(30), "{seen} of {count} runs of {job}");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// No tick was run twice, and no two runs of a job were under way at a time.
    ///
    /// # Panics
    ///
    /// When one was.
    pub fn assert_once_and_apart(&self) {
        let mut ticks = BTreeSet::new();
        let mut last = BTreeMap::<String, Start>::new();
        for start in self.all_mut().iter() {
            if let Some(tick) = start.tick {
                assert!(ticks.insert((start.job.clone(), tick)), "a tick ran twice: {start:?}");
            }
            if let Some(before) = last.insert(start.job.clone(), start.clone()) {
                let apart = before.ended.is_some_and(|ended| ended <= start.at);
                assert!(apart, "{before:?} and {start:?} overlap");
            }
        }
    }

    /// Every run of the job has exactly one record, which is final, and every tick between the
    /// first and the last has a record or is among those told of by one.
    ///
    /// # Panics
    ///
    /// When that is not so.
    pub async fn assert_accounted(&self, store: &dyn RecordStore, job: &str, every: Duration) {
        let id = tidelock::JobId::new(job).expect("a job id");
        let records = store.list(&RecordQuery::newest(id, 1_000)).await.expect("the history");
        for start in self.of(job) {
            let of_it: Vec<_> = records.iter().filter(|r| r.run_id == start.run_id).collect();
            assert!(of_it.len() == 1 && of_it[0].state.is_final(), "{start:?}: {of_it:?}");
        }
        let told = ticks_told_of(&records, every);
        let (Some(&first), Some(&last)) = (told.first(), told.last()) else {
            panic!("{job} has no records");
        };
        let step = usize::try_from(every.as_millis()).expect("a step");
        let silent: Vec<_> = (first..=last).step_by(step).filter(|t| !told.contains(t)).collect();
        assert!(silent.is_empty(), "{job}: nothing tells of {silent:?}: {records:#?}");
    }

    fn all_mut(&self) -> MutexGuard<'_, Vec<Start>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ticks that records tell of, in milliseconds.
pub(crate) fn ticks_told_of(records: &[Record], every: Duration) -> BTreeSet<i64> {
    let step = usize::try_from(every.as_millis()).expect("a step");
    let mut told = BTreeSet::new();
    for record in records {
        told.extend(record.occurrence.map(Occurrence::as_millisecond));
        if let Some(ticks) = record.ticks {
            let (first, last) = (ticks.first.as_millisecond(), ticks.last.as_millisecond());
            told.extend((first..=last).step_by(step));
        }
    }
    told
}

/// Notes the end of a handler.
struct End(Seen, RunId);

impl Drop for End {
    fn drop(&mut self) {
        let now = Instant::now();
        if let Some(start) = self.0.all_mut().iter_mut().rfind(|start| start.run_id == self.1) {
            start.ended = Some(now);
        }
    }
}
