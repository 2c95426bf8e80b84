//! Asking for a tick.

use jiff::{SignedDuration, Timestamp};
use tidelock::{
    AcquireRequest, Acquisition, Consumed, FencingToken, Grant, HeldBy, IfHeld, Intent, Lease,
    Mark, MarkPoint, Moved, OpenRun, RunId, SkipReason, Taken, Untold,
};

use crate::locks::{KeyState, Lock};
use crate::moment::Moment;

impl KeyState {
    /// Lines 1 to 7 of the contract, in its order.
    pub(crate) fn acquire(&mut self, request: &AcquireRequest, now: Moment) -> Acquisition {
        self.drop_expired_lock(now);
        if let Some(lock) = &mut self.lock
            && lock.held.holder == request.holder
        {
            (lock.set, lock.ttl) = (now.instant, request.ttl);
            let (token, previous, untold) = (lock.token, lock.previous, lock.untold.clone());
            return self.grant(request, token, previous, untold);
        }
        if let Some(point) = request.point()
            && let Some(refusal) = self.refusal(request, point, now.wall)
        {
            return refusal;
        }
        let previous = request.point().and(self.mark.as_ref()).map(|m| m.point);
        if let Intent::Skip(reason) = request.intent {
            return self.consume(request, reason, None, previous, now);
        }
        if let Some(lock) = &self.lock {
            let due = request.occurrence.is_some_and(|occurrence| occurrence.at() <= now.wall);
            if due && request.if_held == IfHeld::Consume {
                let in_the_way = Some(lock.held.run_id);
                return self.consume(request, SkipReason::Overlap, in_the_way, previous, now);
            }
            return Acquisition::Held(lock.held_by(now));
        }
        let token = self.next_token(now.wall);
        let untold = Untold::after(request, self.mark.as_ref(), None);
        self.take(request, token, previous, &untold, now);
        self.grant(request, token, previous, untold)
    }

    /// Lines 2 to 4: what the mark and the clock say against it.
    fn refusal(
        &self,
        request: &AcquireRequest,
        point: MarkPoint,
        wall: Timestamp,
    ) -> Option<Acquisition> {
        let mark = self.mark.as_ref();
        if let Some(mark) = mark.filter(|mark| mark.point.occurrence >= point.occurrence) {
            let first_answer =
                mark.point.occurrence == point.occurrence && mark.holder == request.holder;
            return Some(match mark.moved {
                Moved::Granted(token) if first_answer => {
                    Acquisition::Expired(lease(request, token))
                }
                Moved::Consumed { reason, blocked_by } if first_answer => {
                    let untold = mark.untold.clone();
                    Acquisition::Consumed(Consumed::new(reason, blocked_by, mark.previous, untold))
                }
                _ => self.taken(mark),
            });
        }
        let ahead = point.occurrence.at().duration_since(wall);
        let allowed = SignedDuration::try_from(request.max_ahead).unwrap_or(SignedDuration::MAX);
        let by = ahead.saturating_sub(allowed);
        (by > SignedDuration::ZERO).then(|| Acquisition::TooEarly { by: by.unsigned_abs() })
    }

    fn taken(&self, mark: &Mark) -> Acquisition {
        let holder = self.lock.as_ref().map(|lock| &lock.held.holder);
        Acquisition::AlreadyTaken(Taken::new(mark.clone(), holder == Some(&mark.holder)))
    }

    fn consume(
        &mut self,
        request: &AcquireRequest,
        reason: SkipReason,
        blocked_by: Option<RunId>,
        previous: Option<MarkPoint>,
        now: Moment,
    ) -> Acquisition {
        let untold = Untold::after(request, self.mark.as_ref(), Some((reason, blocked_by)));
        let moved = Moved::Consumed { reason, blocked_by };
        self.move_mark(request, moved, previous, untold.clone(), now);
        Acquisition::Consumed(Consumed::new(reason, blocked_by, previous, untold))
    }

    /// Line 7: everything that a grant changes.
    fn take(
        &mut self,
        request: &AcquireRequest,
        token: FencingToken,
        previous: Option<MarkPoint>,
        untold: &Untold,
        now: Moment,
    ) {
        // What is untold goes on with the open run.
        self.move_mark(request, Moved::Granted(token), previous, Untold::default(), now);
        self.token = Some(token);
        let (run_id, tick) = (request.run_id, request.occurrence);
        let mut open = OpenRun::new(run_id, request.node.clone(), tick, token);
        open.untold = untold.clone();
        if self.open_runs.capacity() == 0 {
            // As a rule there is one at a time, and no room for three others is needed.
            self.open_runs.reserve_exact(1);
        }
        self.open_runs.push(open);
        let (holder, node) = (request.holder.clone(), request.node.clone());
        self.lock = Some(Lock {
            held: HeldBy::new(holder, request.run_id, node, request.ttl),
            token,
            previous,
            untold: untold.clone(),
            set: now.instant,
            ttl: request.ttl,
        });
    }

    fn move_mark(
        &mut self,
        request: &AcquireRequest,
        moved: Moved,
        previous: Option<MarkPoint>,
        untold: Untold,
        now: Moment,
    ) {
        if let Some(point) = request.point() {
            let mut mark = Mark::new(request, point, moved, previous, Some(now.wall));
            mark.untold = untold;
            self.mark = Some(mark);
        }
    }

    fn grant(
        &self,
        request: &AcquireRequest,
        token: FencingToken,
        previous: Option<MarkPoint>,
        untold: Untold,
    ) -> Acquisition {
        let others = self.open_runs.iter().filter(|run| run.token != token);
        let others = others.cloned().collect();
        Acquisition::Granted(Grant::new(lease(request, token), previous, untold, others))
    }

    /// Larger than the last one, and than any from before this store lost its memory.
    fn next_token(&self, wall: Timestamp) -> FencingToken {
        let clock = u64::try_from(wall.as_microsecond()).unwrap_or(0);
        let next = self.token.map_or(0, |last| last.get().saturating_add(1));
        FencingToken::new(clock.max(next))
    }
}

fn lease(request: &AcquireRequest, token: FencingToken) -> Lease {
    Lease::new(request.key.clone(), request.holder.clone(), request.run_id, token)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidelock::{
        AcquireRequest, Acquisition, Fingerprint, Holder, JobId, LockBackend, LockKey, NodeId,
        Occurrence, Release, RunId,
    };

    use crate::MemoryBackend;

    const TTL: Duration = Duration::from_secs(30);

    fn ask(number: u128, second: i64) -> AcquireRequest {
        let node = NodeId::new(format!("node-{number}")).unwrap();
        AcquireRequest::new(
            LockKey::of(&JobId::new("job").unwrap()),
            Holder::new(&node, number),
            RunId::new(number),
            node,
            Occurrence::from_millisecond(second * 1_000),
            Fingerprint::new(0),
            TTL,
        )
    }

    async fn acquire(backend: &MemoryBackend, request: &AcquireRequest) -> Acquisition {
        backend.acquire(request).await.unwrap().value
    }

    #[tokio::test(start_paused = true)]
    async fn a_tick_is_granted_once_even_after_its_lock_was_released() {
        let backend = MemoryBackend::new();
        let Acquisition::Granted(grant) = acquire(&backend, &ask(1, 60)).await else {
            panic!("the first asks in vain");
        };
        let released = backend.release(&grant.lease).await.unwrap().value;
        assert_eq!(released, Release::Released);
        let late = acquire(&backend, &ask(2, 60)).await;
        assert!(matches!(&late, Acquisition::AlreadyTaken(t) if !t.running), "{late:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_is_held_for_its_ttl_by_tokios_time_and_not_longer() {
        let backend = MemoryBackend::new();
        assert!(matches!(acquire(&backend, &ask(1, 60)).await, Acquisition::Granted(_)));
        tokio::time::sleep(TTL - Duration::from_millis(1)).await;
        let held = acquire(&backend, &ask(2, 120)).await;
        assert!(
            matches!(&held, Acquisition::Held(h) if h.expires_in == Duration::from_millis(1)),
            "{held:?}"
        );
        tokio::time::sleep(Duration::from_millis(1)).await;
        let Acquisition::Granted(grant) = acquire(&backend, &ask(2, 120)).await else {
            panic!("an expired lock is still held");
        };
        assert_eq!(grant.abandoned.len(), 1);
        assert!(matches!(acquire(&backend, &ask(1, 60)).await, Acquisition::AlreadyTaken(_)));
    }
}
