//! A backend as a stranger would write it: the first two traits over plain maps, without a clock.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tidelock::{
    AcquireRequest, Acquisition, Answer, BackendError, Clear, Consumed, FencingToken, Grant,
    HeldBy, IfHeld, Intent, JobId, Lease, LockBackend, LockKey, LockState, Mark, Moved, OpenRun,
    Record, RecordQuery, RecordStore, Release, Renewal, SkipReason, Taken, Untold,
};
use tokio::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct StrangersLocks(Mutex<HashMap<LockKey, Entry>>);

#[derive(Debug, Default)]
struct Entry {
    mark: Option<Mark>,
    token: u64,
    lock: Option<(Grant, HeldBy, Instant)>,
    open_runs: Vec<OpenRun>,
}

impl StrangersLocks {
    /// Does something to one key, whose lock is gone if it has expired.
    fn at<T>(&self, key: &LockKey, step: impl FnOnce(&mut Entry) -> T) -> Answer<T> {
        let mut map = unpoisoned(&self.0);
        let entry = map.entry(key.clone()).or_default();
        entry.lock.take_if(|(_, _, until)| *until <= Instant::now());
        Answer::new(step(entry), None)
    }
}

impl Entry {
    fn acquire(&mut self, request: &AcquireRequest) -> Acquisition {
        if let Some((grant, _, until)) = &mut self.lock
            && grant.lease.holder == request.holder
        {
            *until = Instant::now() + request.ttl;
            return Acquisition::Granted(grant.clone());
        }
        let (point, held) = (request.point(), self.held());
        let mark = self.mark.as_ref().filter(|_| point.is_some());
        let previous = mark.map(|mark| mark.point);
        if let (Some(mark), Some(point)) = (mark, point)
            && point.occurrence <= mark.point.occurrence
        {
            let mine = mark.point == point && mark.holder == request.holder;
            return match mark.moved {
                Moved::Granted(token) if mine => Acquisition::Expired(lease(request, token)),
                Moved::Consumed { reason, blocked_by } if mine => {
                    let untold = mark.untold.clone();
                    Acquisition::Consumed(Consumed::new(reason, blocked_by, mark.previous, untold))
                }
                _ => {
                    let running = held.is_some_and(|held| held.holder == mark.holder);
                    Acquisition::AlreadyTaken(Taken::new(mark.clone(), running))
                }
            };
        }
        let skipped = match (request.intent, held) {
            (Intent::Skip(reason), _) => Some((reason, None)),
            (_, None) => None,
            (_, Some(held)) if request.if_held == IfHeld::Consume && point.is_some() => {
                Some((SkipReason::Overlap, Some(held.run_id)))
            }
            (_, Some(held)) => return Acquisition::Held(held),
        };
        let untold = Untold::after(request, self.mark.as_ref(), skipped);
        let mut move_to = |moved, untold| {
            if let Some(point) = point {
                let mut mark = Mark::new(request, point, moved, previous, None);
                mark.untold = untold;
                self.mark = Some(mark);
            }
        };
        if let Some((reason, blocked_by)) = skipped {
            move_to(Moved::Consumed { reason, blocked_by }, untold.clone());
            return Acquisition::Consumed(Consumed::new(reason, blocked_by, previous, untold));
        }
        self.token += 1;
        let token = FencingToken::new(self.token);
        move_to(Moved::Granted(token), Untold::default());
        let open = self.open_runs.clone();
        let grant = Grant::new(lease(request, token), previous, untold.clone(), open);
        let (run_id, node) = (request.run_id, request.node.clone());
        let held = HeldBy::new(request.holder.clone(), run_id, node.clone(), request.ttl);
        self.lock = Some((grant.clone(), held, Instant::now() + request.ttl));
        let mut run = OpenRun::new(run_id, node, request.occurrence, token);
        run.untold = untold;
        self.open_runs.push(run);
        Acquisition::Granted(grant)
    }

    fn held(&self) -> Option<HeldBy> {
        let (_, mut held, until) = self.lock.clone()?;
        held.expires_in = until - Instant::now();
        Some(held)
    }
}

fn lease(request: &AcquireRequest, token: FencingToken) -> Lease {
    let (key, holder) = (request.key.clone(), request.holder.clone());
    Lease::new(key, holder, request.run_id, token)
}

fn released<T>(lock: Option<T>) -> Release {
    lock.map_or(Release::NotHeld, |_| Release::Released)
}

#[async_trait]
impl LockBackend for StrangersLocks {
    fn has_clock(&self) -> bool {
        false
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Answer<Acquisition>, BackendError> {
        Ok(self.at(&request.key, |entry| entry.acquire(request)))
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Answer<Renewal>, BackendError> {
        Ok(self.at(&lease.key, |entry| match &mut entry.lock {
            Some((grant, _, until)) if grant.lease == *lease => {
                *until = Instant::now() + ttl;
                Renewal::Renewed
            }
            _ => Renewal::Lost,
        }))
    }

    async fn release(&self, lease: &Lease) -> Result<Answer<Release>, BackendError> {
        Ok(self.at(&lease.key, |entry| {
            if entry.open_runs.iter().any(|run| run.run_id == lease.run_id) {
                entry.open_runs.retain(|run| run.token > lease.token);
            }
            released(entry.lock.take_if(|(grant, _, _)| grant.lease == *lease))
        }))
    }

    async fn inspect(&self, key: &LockKey) -> Result<Answer<LockState>, BackendError> {
        Ok(self.at(key, |entry| {
            let token = (entry.token > 0).then_some(FencingToken::new(entry.token));
            let (mark, open_runs) = (entry.mark.clone(), entry.open_runs.clone());
            LockState::new(mark, token, entry.held(), open_runs)
        }))
    }

    async fn force_release(
        &self,
        key: &LockKey,
        clear: Clear,
    ) -> Result<Answer<Release>, BackendError> {
        Ok(self.at(key, |entry| {
            entry.mark.take_if(|_| clear == Clear::LockAndMark);
            released(entry.lock.take())
        }))
    }
}

/// Records, oldest first, with the time of their last change.
#[derive(Debug)]
pub(crate) struct StrangersRecords {
    pub(crate) map: Mutex<HashMap<JobId, Vec<(Instant, Record)>>>,
    pub(crate) keep: usize,
    pub(crate) max_age: Duration,
}

#[async_trait]
impl RecordStore for StrangersRecords {
    async fn save(&self, record: &Record) -> Result<(), BackendError> {
        let now = Instant::now();
        let mut map = unpoisoned(&self.map);
        let all = map.entry(record.job.clone()).or_default();
        match all.iter_mut().find(|(_, old)| old.run_id == record.run_id) {
            Some((at, old)) if old.yields_to(record) => {
                (*at, *old) = (now, old.replaced_by(record))
            }
            Some(_) => {}
            None => all.push((now, record.clone())),
        }
        let mut counts = [0, 0];
        let mut newest_first: Vec<_> = all.drain(..).rev().collect();
        newest_first.retain(|(at, record)| {
            let count = &mut counts[usize::from(record.state.is_tick_not_run())];
            *count += 1;
            !record.state.is_final() || *count <= self.keep && now - *at <= self.max_age
        });
        all.extend(newest_first.into_iter().rev());
        Ok(())
    }

    async fn list(&self, query: &RecordQuery) -> Result<Vec<Record>, BackendError> {
        let map = unpoisoned(&self.map);
        let all = map.get(&query.job).into_iter().flatten().rev();
        let records = all.map(|(_, record)| record.clone());
        Ok(records.take(query.limit).collect())
    }
}

pub(crate) fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
