//! What the scenarios share: one memory backend with its clock, and nodes over it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tidelock::{
    Backend, Clock, Job, Occurrence, Record, RunContext, RunId, RunState, Scheduler,
    SchedulerBuilder, TestClock,
};
use tidelock_memory::MemoryBackend;

/// Where the scenarios begin: half a second before a full minute.
pub(crate) const START: &str = "2026-01-01T11:59:59.5Z";

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn ahead(ms: i64) -> SignedDuration {
    SignedDuration::from_millis(ms)
}

/// One backend and the true time.
pub(crate) struct Fleet {
    pub(crate) backend: MemoryBackend,
    pub(crate) clock: TestClock,
}

impl Fleet {
    pub(crate) fn new() -> Self {
        Self::starting(START)
    }

    pub(crate) fn starting(start: &str) -> Self {
        let clock = TestClock::new(at(start));
        let backend = MemoryBackend::new().keep(100_000).with_clock(clock.clone());
        Self { backend, clock }
    }

    /// A node with a true clock.
    pub(crate) fn node(&self, name: &str) -> SchedulerBuilder {
        self.node_over(self.backend.clone(), self.clock.clone(), name)
    }

    /// A node over a backend of its own (wrapped in faults, say) and with a clock of its own.
    pub(crate) fn node_over(
        &self,
        backend: impl Backend,
        clock: impl Clock,
        name: &str,
    ) -> SchedulerBuilder {
        // Each node of a test has its own seed, the same at each run.
        let seed = name.bytes().fold(7, |seed: u64, byte| seed * 31 + u64::from(byte));
        Scheduler::builder(backend).node_id(name).unwrap().clock(clock).seed(seed)
    }
}

/// What handlers did, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Diary(Arc<Mutex<Vec<Entry>>>);

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) at: tokio::time::Instant,
    pub(crate) node: String,
    pub(crate) run_id: RunId,
    pub(crate) occurrence: Option<Occurrence>,
    pub(crate) token: u64,
    pub(crate) what: &'static str,
}

impl Diary {
    pub(crate) fn write(&self, run: &RunContext, what: &'static str) {
        let entry = Entry {
            at: tokio::time::Instant::now(),
            node: run.node().to_string(),
            run_id: run.run_id(),
            occurrence: run.occurrence(),
            token: run.fencing_token().get(),
            what,
        };
        self.0.lock().unwrap().push(entry);
    }

    /// Notes `start` now, and `end` when the handler ends or is dropped.
    pub(crate) fn open(&self, run: &RunContext) -> Open {
        self.write(run, "start");
        Open(self.clone(), run.clone())
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|entry| entry.what == what).count()
    }
}

/// Notes `end` when it is dropped.
#[derive(Debug)]
pub(crate) struct Open(Diary, RunContext);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.write(&self.1, "end");
    }
}

/// A job that notes `start`, takes so long, and notes `end`.
pub(crate) fn job(id: &str, expression: &str, takes: Duration, diary: &Diary) -> Job {
    let diary = diary.clone();
    Job::new(id).cron(expression).unwrap().run(move |run| {
        let diary = diary.clone();
        async move {
            diary.write(&run, "start");
            tokio::time::sleep(takes).await;
            diary.write(&run, "end");
        }
    })
}

/// Records in state `state`.
pub(crate) fn in_state(records: &[Record], state: RunState) -> Vec<&Record> {
    records.iter().filter(|record| record.state == state).collect()
}
