//! Records on their way to a store that may be away.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::select;

use super::Core;
use super::backoff::Backoff;
use super::events::EventKind;
use crate::{JobId, Record};

/// How many records wait at most.
const CAPACITY: usize = 10_000;

/// Records that wait, in order for each job. A job whose records cannot be stored holds up no
/// other's: each has a task of its own, while it has any.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queues: Mutex<Queues>,
    /// How many are sent with the ends of runs that were granted and never began: nothing else
    /// tells of those.
    with_ends: Arc<AtomicUsize>,
}

/// Counts a record that is sent with a run's end, until that is done.
#[derive(Debug)]
pub(crate) struct WithEnd(Arc<AtomicUsize>);

impl Drop for WithEnd {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct Queues {
    jobs: HashMap<JobId, VecDeque<(u64, Record)>>,
    /// Whose the oldest are.
    ages: BTreeMap<u64, JobId>,
    next: u64,
    dropped: usize,
}

impl Outbox {
    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.queues().ages.len()
    }

    /// A record is sent with the end of a run that never began.
    pub(crate) fn with_end(&self) -> WithEnd {
        self.with_ends.fetch_add(1, Ordering::Relaxed);
        WithEnd(Arc::clone(&self.with_ends))
    }

    /// How many are not known to be stored, beside those of runs that go on.
    pub(crate) fn unsaved(&self) -> usize {
        self.len() + self.with_ends.load(Ordering::Relaxed)
    }

    /// How many were dropped since the start.
    pub(crate) fn dropped(&self) -> usize {
        self.queues().dropped
    }
}

impl Core {
    /// Saves a record as soon as the store takes it.
    pub(crate) fn save_later(self: &Arc<Self>, record: Record) {
        let job = record.job.clone();
        let (first, dropped) = self.outbox.queues().push(record);
        if dropped > 0 {
            tracing::warn!(node = %self.node, count = dropped, "records dropped: the store is away");
            self.event(None, EventKind::RecordsDropped { count: dropped });
        }
        if first {
            self.spawn(self.clone().drain(job));
        }
    }

    async fn drain(self: Arc<Self>, job: JobId) {
        let mut backoff = Backoff::relaxed();
        let mut hurries = false;
        loop {
            let Some((number, record)) = self.outbox.queues().front(&job) else {
                return;
            };
            match self.save(&record).await {
                Ok(()) => {
                    self.outbox.queues().done(&job, number);
                    backoff = if hurries { Backoff::quick() } else { Backoff::relaxed() };
                }
                Err(error) => {
                    self.failed(Some(&job), &error);
                    let wait = backoff.next(&self);
                    select! {
                        biased;
                        // A shutdown waits for it: the store may be there again by now.
                        () = self.stopping.cancelled(), if !hurries => {
                            (backoff, hurries) = (Backoff::quick(), true);
                        }
                        () = tokio::time::sleep(wait) => {}
                    }
                }
            }
        }
    }
}

impl Queues {
    /// Puts a record behind those of its job. Tells whether it is the job's first, and how many
    /// had to make room.
    fn push(&mut self, record: Record) -> (bool, usize) {
        let number = self.next;
        self.next += 1;
        let job = record.job.clone();
        // While its queue is there, even an empty one, the job's task is at work.
        let first = !self.jobs.contains_key(&job);
        let queue = self.jobs.entry(job.clone()).or_default();
        // A longer record of the same ticks replaces the one that still waits. It has a number of
        // its own: the shorter one may be on its way just now.
        if let Some((last, waiting)) = queue.back()
            && tells_of_more(waiting, &record)
        {
            self.ages.remove(last);
            queue.pop_back();
        }
        queue.push_back((number, record));
        self.ages.insert(number, job);
        let mut dropped = 0;
        while self.ages.len() > CAPACITY {
            let Some((oldest, job)) = self.ages.pop_first() else {
                break;
            };
            self.remove(&job, oldest);
            dropped += 1;
        }
        self.dropped += dropped;
        (first, dropped)
    }

    fn front(&mut self, job: &JobId) -> Option<(u64, Record)> {
        let queue = self.jobs.get(job)?;
        match queue.front() {
            Some(entry) => Some(entry.clone()),
            None => {
                self.jobs.remove(job);
                None
            }
        }
    }

    fn done(&mut self, job: &JobId, number: u64) {
        self.ages.remove(&number);
        self.remove(job, number);
    }

    fn remove(&mut self, job: &JobId, number: u64) {
        if let Some(queue) = self.jobs.get_mut(job) {
            queue.retain(|(n, _)| *n != number);
        }
    }
}

fn tells_of_more(waiting: &Record, new: &Record) -> bool {
    waiting.run_id == new.run_id && waiting.state.is_tick_not_run() && waiting.yields_to(new)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::{NodeId, RunId, RunState};

    fn record(job: &str, run: u128) -> Record {
        let (job, node) = (JobId::new(job).unwrap(), NodeId::new("n").unwrap());
        Record::new(RunId::new(run), job, node, RunState::Failed, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn the_oldest_of_all_jobs_make_room_and_are_counted() {
        let mut queues = Queues::default();
        assert_eq!(queues.push(record("a", 0)), (true, 0));
        assert_eq!(queues.push(record("a", 1)), (false, 0));
        for run in 2..=CAPACITY as u128 {
            queues.push(record("b", run));
        }
        assert_eq!((queues.ages.len(), queues.dropped), (CAPACITY, 1));
        let job = JobId::new("a").unwrap();
        let (number, left) = queues.front(&job).unwrap();
        assert_eq!(left.run_id, RunId::new(1));
        queues.done(&job, number);
        assert!(queues.front(&job).is_none());
        // The empty queue is gone: the next record starts a task again.
        assert_eq!(queues.push(record("a", 9)), (true, 0));
    }
}
