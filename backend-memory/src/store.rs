//! What all clones share, and the steps on it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tidelock::{
    AcquireRequest, Acquisition, Answer, Clear, Clock, JobId, Lease, LockKey, LockState, Record,
    RecordQuery, Release, Renewal, SystemClock, TestClock,
};
use tokio::time::Instant;

use crate::config::Limits;
use crate::locks::KeyState;
use crate::records::History;

/// The moment of one step: when locks expire, and what the server's clock shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) instant: Instant,
    pub(crate) wall: Timestamp,
}

/// All keys and histories, the limits and the clock.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    keys: HashMap<LockKey, KeyState>,
    histories: HashMap<JobId, History>,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            clock: Arc::new(TestClock::new(SystemClock.now())),
            keys: HashMap::new(),
            histories: HashMap::new(),
        }
    }
}

impl Store {
    /// How many keys there are.
    pub(crate) fn keys(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn acquire(&mut self, request: &AcquireRequest) -> Answer<Acquisition> {
        let now = self.now();
        answer(self.acquire_at(request, now), now)
    }

    pub(crate) fn begin(
        &mut self,
        request: &AcquireRequest,
        running: &Record,
    ) -> Answer<Acquisition> {
        let now = self.now();
        let acquisition = self.acquire_at(request, now);
        if let Acquisition::Granted(grant) = &acquisition {
            for run in &grant.abandoned {
                let job = request.key.job().clone();
                self.save_at(Record::abandoned(job, run, now.wall), now);
            }
            let mut running = running.clone();
            running.token = Some(grant.lease.token);
            self.save_at(running, now);
        }
        answer(acquisition, now)
    }

    pub(crate) fn renew(&mut self, lease: &Lease, ttl: Duration) -> Answer<Renewal> {
        let now = self.now();
        let renewal = self
            .keys
            .get_mut(&lease.key)
            .map_or(Renewal::Lost, |key| key.renew(lease, ttl, now));
        answer(renewal, now)
    }

    pub(crate) fn release(&mut self, lease: &Lease) -> Answer<Release> {
        let now = self.now();
        answer(self.release_at(lease, now), now)
    }

    pub(crate) fn finish(&mut self, lease: &Lease, done: &Record) -> Answer<Release> {
        let now = self.now();
        let release = self.release_at(lease, now);
        self.save_at(done.clone(), now);
        answer(release, now)
    }

    pub(crate) fn inspect(&self, key: &LockKey) -> Answer<LockState> {
        let now = self.now();
        let state = self.keys.get(key).map(|key| key.inspect(now));
        answer(state.unwrap_or_default(), now)
    }

    pub(crate) fn force_release(&mut self, key: &LockKey, clear: Clear) -> Answer<Release> {
        let now = self.now();
        let release = self
            .keys
            .get_mut(key)
            .map_or(Release::NotHeld, |key| key.force_release(clear, now));
        answer(release, now)
    }

    pub(crate) fn save(&mut self, record: &Record) {
        let now = self.now();
        self.save_at(record.clone(), now);
    }

    pub(crate) fn list(&self, query: &RecordQuery) -> Vec<Record> {
        let now = self.now().instant;
        self.histories.get(&query.job).map_or_else(Vec::new, |all| {
            all.newest(query.limit, now, self.limits.max_age)
        })
    }

    fn now(&self) -> Moment {
        Moment {
            instant: Instant::now(),
            wall: self.clock.now(),
        }
    }

    fn acquire_at(&mut self, request: &AcquireRequest, now: Moment) -> Acquisition {
        self.keys
            .entry(request.key.clone())
            .or_default()
            .acquire(request, now)
    }

    fn release_at(&mut self, lease: &Lease, now: Moment) -> Release {
        self.keys
            .get_mut(&lease.key)
            .map_or(Release::NotHeld, |key| key.release(lease, now))
    }

    fn save_at(&mut self, record: Record, now: Moment) {
        self.histories.entry(record.job.clone()).or_default().save(
            record,
            now.instant,
            self.limits,
        );
    }
}

fn answer<T>(value: T, now: Moment) -> Answer<T> {
    Answer::new(value, Some(now.wall))
}
