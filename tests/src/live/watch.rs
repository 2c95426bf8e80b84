//! What the runs of jobs did, whichever node ran them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidelock::{Job, Record, RecordStore, RunContext, RunState};
use tokio::time::{Instant, sleep};

use super::history_of;

/// One run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ran {
    /// Its job.
    pub job: String,
    /// Its tick, in milliseconds.
    pub tick: Option<i64>,
    /// Its id, as records show it.
    pub run: String,
    /// When its handler began.
    pub from: Instant,
    /// When its handler ended or was dropped.
    pub to: Option<Instant>,
}

/// Watches the runs of the jobs that it makes, for tests with several nodes in one process.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    runs: Arc<Mutex<Vec<Ran>>>,
}

impl Watch {
    /// Nothing has run yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A job for each node, whose runs take that long and succeed.
    ///
    /// # Panics
    ///
    /// When the expression is none.
    pub fn job(&self, name: &str, cron: &str, ttl: Duration, takes: Duration) -> Job {
        let watch = self.clone();
        let job = Job::new(name).cron(cron).expect("a cron expression").lock_ttl(ttl);
        job.run(move |run| {
            let running = watch.begins(&run);
            async move {
                sleep(takes).await;
                drop(running);
            }
        })
    }

    /// For a handler of one's own: the run lasts until what this gives is dropped.
    pub fn begins(&self, run: &RunContext) -> impl Send + use<> {
        let mut runs = self.lock();
        runs.push(Ran {
            job: run.job().to_string(),
            tick: run.occurrence().map(|tick| tick.as_millisecond()),
            run: run.run_id().to_string(),
            from: Instant::now(),
            to: None,
        });
        Running { watch: self.clone(), number: runs.len() - 1 }
    }

    /// The runs of a job so far.
    pub fn runs(&self, name: &str) -> Vec<Ran> {
        self.lock().iter().filter(|ran| ran.job == name).cloned().collect()
    }

    /// Waits until `count` more runs of a job have begun, and gives the last of them.
    ///
    /// # Panics
    ///
    /// When they do not within `limit`.
    pub async fn next(&self, name: &str, count: usize, limit: Duration) -> Ran {
        let before = self.runs(name).len();
        self.until(name, before + count, limit).await
    }

    /// Waits until `count` runs of a job have begun in all, and gives the last of them.
    ///
    /// # Panics
    ///
    /// When they do not within `limit`.
    pub async fn until(&self, name: &str, count: usize, limit: Duration) -> Ran {
        let waiting = Instant::now();
        loop {
            if let Some(last) = self.runs(name).get(count - 1) {
                return last.clone();
            }
            assert!(waiting.elapsed() < limit, "{name} does not run: {:#?}", self.runs(name));
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// No tick of any job ran twice, and no two runs of a job overlapped.
    ///
    /// # Panics
    ///
    /// When that is not so.
    pub fn assert_once(&self) {
        let runs = self.lock();
        for (number, one) in runs.iter().enumerate() {
            for other in runs.iter().skip(number + 1).filter(|other| other.job == one.job) {
                assert!(one.tick.is_none() || one.tick != other.tick, "twice: {one:?} {other:?}");
                let apart = one.to.is_some_and(|to| to <= other.from)
                    || other.to.is_some_and(|to| to <= one.from);
                assert!(apart, "overlap: {one:?} {other:?}");
            }
        }
    }

    /// Waits until each run of a job has its one final record, and gives the records.
    ///
    /// # Panics
    ///
    /// When one has none within `limit`.
    pub async fn settled(
        &self,
        records: &impl RecordStore,
        name: &str,
        limit: Duration,
    ) -> Vec<Record> {
        let waiting = Instant::now();
        loop {
            let found = history_of(records, name).await;
            let of = |ran: &Ran| {
                let mut of_it = found.iter().filter(|r| r.run_id.to_string() == ran.run);
                of_it.next().map(|record| (record.state, of_it.count()))
            };
            let is_open =
                |ran: &Ran| !of(ran).is_some_and(|(state, more)| state.is_final() && more == 0);
            let open: Vec<_> = self.runs(name).into_iter().filter(is_open).collect();
            if open.is_empty() {
                return found;
            }
            assert!(waiting.elapsed() < limit, "not settled: {open:#?} in {found:#?}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// The states of the records of a job's runs, oldest first, once each has its final one.
    pub async fn states(&self, records: &impl RecordStore, name: &str) -> Vec<RunState> {
        let found = self.settled(records, name, Duration::from_secs(20)).await;
        let runs = self.runs(name);
        let state = |ran: &Ran| found.iter().find(|r| r.run_id.to_string() == ran.run);
        runs.iter().filter_map(state).map(|record| record.state).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Ran>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Running {
    watch: Watch,
    number: usize,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(ran) = self.watch.lock().get_mut(self.number) {
            ran.to = Some(Instant::now());
        }
    }
}
