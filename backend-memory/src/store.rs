//! What all clones share of some of the jobs, and the steps on it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tidelock::{
    AcquireRequest, Acquisition, Answer, Clear, Clock, JobId, Lease, LockKey, LockState, Record,
    RecordQuery, Release, Renewal,
};
use tokio::time::Instant;

use crate::config::Limits;
use crate::locks::KeyState;
use crate::moment::Moment;
use crate::records::History;

/// Keys and histories, the limits and the clock.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    /// Boxed, so that a map that grows moves little.
    jobs: HashMap<JobId, Box<Job>>,
}

/// All about one job: a run's begin and end find it once.
#[derive(Debug, Default)]
struct Job {
    key: KeyState,
    history: History,
}

impl Store {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { limits: Limits::default(), clock, jobs: HashMap::new() }
    }

    /// How many jobs there are.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs.len()
    }

    pub(crate) fn acquire(&mut self, request: &AcquireRequest) -> Answer<Acquisition> {
        let now = self.now();
        let acquisition = self.job(request.key.job()).key.acquire(request, now);
        answer(acquisition, now)
    }

    pub(crate) fn begin(
        &mut self,
        request: &AcquireRequest,
        running: &Record,
    ) -> Answer<Acquisition> {
        let (now, limits) = (self.now(), self.limits);
        let job = self.job(request.key.job());
        let acquisition = job.key.acquire(request, now);
        if let Acquisition::Granted(grant) = &acquisition {
            // An older one without a record had one that has gone: it would come back as the newest.
            let gone = (grant.abandoned.len() + 1).saturating_sub(limits.keep);
            for (index, run) in grant.abandoned.iter().enumerate() {
                if index < gone && !job.history.knows(run.run_id) {
                    continue;
                }
                let closed = Record::abandoned(request.key.job().clone(), run, now.wall);
                job.history.save(closed, now.instant, limits);
            }
            let mut running = running.clone();
            running.token = Some(grant.lease.token);
            job.history.save(running, now.instant, limits);
        }
        answer(acquisition, now)
    }

    pub(crate) fn renew(&mut self, lease: &Lease, ttl: Duration) -> Answer<Renewal> {
        let now = self.now();
        let renewal = self.job(lease.key.job()).key.renew(lease, ttl, now);
        answer(renewal, now)
    }

    pub(crate) fn release(&mut self, lease: &Lease) -> Answer<Release> {
        let now = self.now();
        let release = self.job(lease.key.job()).key.release(lease, now);
        answer(release, now)
    }

    pub(crate) fn finish(&mut self, lease: &Lease, done: &Record) -> Answer<Release> {
        let (now, limits) = (self.now(), self.limits);
        let job = self.job(lease.key.job());
        let release = job.key.release(lease, now);
        job.history.save(done.clone(), now.instant, limits);
        answer(release, now)
    }

    pub(crate) fn inspect(&self, key: &LockKey) -> Answer<LockState> {
        let now = self.now();
        let state = self.jobs.get(key.job()).map(|job| job.key.inspect(now));
        answer(state.unwrap_or_default(), now)
    }

    pub(crate) fn force_release(&mut self, key: &LockKey, clear: Clear) -> Answer<Release> {
        let now = self.now();
        let release = self.job(key.job()).key.force_release(clear, now);
        answer(release, now)
    }

    pub(crate) fn save(&mut self, record: &Record) {
        let (now, limits) = (self.now().instant, self.limits);
        let history = &mut self.job(&record.job).history;
        history.save(record.clone(), now, limits);
    }

    pub(crate) fn list(&self, query: &RecordQuery) -> Vec<Record> {
        let (now, max_age) = (self.now().instant, self.limits.max_age);
        let job = self.jobs.get(&query.job);
        job.map_or_else(Vec::new, |job| job.history.newest(query.limit, now, max_age))
    }

    fn now(&self) -> Moment {
        Moment { instant: Instant::now(), wall: self.clock.now() }
    }

    fn job(&mut self, id: &JobId) -> &mut Job {
        self.jobs.entry(id.clone()).or_default()
    }
}

fn answer<T>(value: T, now: Moment) -> Answer<T> {
    Answer::new(value, Some(now.wall))
}
