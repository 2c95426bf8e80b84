//! More words for what a fleet's handlers did.

use std::time::Duration;

use tidelock::{Job, Record, RecordStore, RunState};
use tokio::time::{Instant, sleep};

use super::history_of;
use crate::fleet::{Seen, Start};

impl Seen {
    /// A job whose runs take that long and succeed.
    ///
    /// # Panics
    ///
    /// When the expression is none.
    pub fn job(&self, name: &str, cron: &str, ttl: Duration, takes: Duration) -> Job {
        let job = Job::new(name).cron(cron).expect("a cron expression").lock_ttl(ttl);
        job.run(self.takes(takes))
    }

    /// Waits until `count` more runs of a job have begun, and gives the last of them.
    ///
    /// # Panics
    ///
    /// When they do not within `limit`.
    pub async fn next(&self, job: &str, count: usize, limit: Duration) -> Start {
        self.until(job, self.of(job).len() + count, limit).await
    }

    /// Waits until `count` runs of a job have begun in all, and gives the last of them.
    ///
    /// # Panics
    ///
    /// When they do not within `limit`.
    pub async fn until(&self, job: &str, count: usize, limit: Duration) -> Start {
        let waiting = Instant::now();
        loop {
            if let Some(last) = self.of(job).get(count - 1) {
                return last.clone();
            }
            assert!(waiting.elapsed() < limit, "{job} does not run: {:#?}", self.of(job));
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until each run of a job has its one final record, and gives their states, oldest run
    /// first.
    ///
    /// # Panics
    ///
    /// When one has none after long.
    pub async fn states(&self, records: &impl RecordStore, job: &str) -> Vec<RunState> {
        let waiting = Instant::now();
        loop {
            let (found, starts) = (history_of(records, job).await, self.of(job));
            let states: Vec<_> =
                starts.iter().filter_map(|start| final_state(start, &found)).collect();
            if states.len() == starts.len() {
                return states;
            }
            assert!(waiting.elapsed() < Duration::from_secs(20), "{starts:#?} in {found:#?}");
            sleep(Duration::from_millis(50)).await;
        }
    }
}

fn final_state(start: &Start, records: &[Record]) -> Option<RunState> {
    let mut of_it = records.iter().filter(|record| record.run_id == start.run_id);
    let state = of_it.next()?.state;
    assert_eq!(of_it.count(), 0, "{start:?} has two records");
    state.is_final().then_some(state)
}
