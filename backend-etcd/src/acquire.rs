//! Asking for a tick: one transaction, which looks and takes in one step.

use std::pin::pin;

use etcd_client::{Compare, DeleteOptions, PutOptions, Txn, TxnOp};
use tidelock::{
    AcquireRequest, Acquisition, BackendError, Consumed, ErrorKind, FencingToken, Grant, IfHeld,
    Intent, MarkPoint, Occurrence, Record, Untold,
};
use tokio::select;

use crate::EtcdBackend;
use crate::calls::Repeat;
use crate::error::{BACKEND, Failure, Odd, Reach};
use crate::keys::{Keys, Part, absent};
use crate::leases::{EtcdLease, Lent};
use crate::loan::Loan;
use crate::moment::Moment;
use crate::records::Running;
use crate::reply::{Found, Reply};
use crate::state::{self, Says, State, look, newest_marks, open_runs};
use crate::text::{self, Marked};

/// How often a request is sent anew when the state changed under it, or its lease was gone.
pub(crate) const TRIES: u32 = 4;

/// A request on its way.
pub(crate) struct Ask<'a> {
    pub(crate) backend: &'a EtcdBackend,
    pub(crate) operation: &'static str,
    pub(crate) request: &'a AcquireRequest,
    /// The record that a grant stores.
    pub(crate) running: Option<&'a Record>,
    pub(crate) keys: Keys,
}

/// An answer, and whether the record was stored with it.
pub(crate) type Told = (Acquisition, bool);

impl Ask<'_> {
    pub(crate) async fn answer(&self) -> Result<Told, BackendError> {
        if let Some(told) = self.settle().await? {
            return Ok(told);
        }
        if let Some(tick) = self.request.occurrence
            && let Some(by) = self.backend.clock.too_early(tick, self.request.max_ahead).await
        {
            let state = self.look().await?;
            return match state.says(self.request) {
                Says::Mine(lock) => {
                    self.granted_again(&state, &lock).await.map(|told| (told, false))
                }
                Says::Answer(answer) => Ok((*answer, false)),
                Says::Held(_) | Says::Free => Ok((Acquisition::TooEarly { by }, false)),
            };
        }
        match (self.request.intent, self.request.occurrence) {
            (Intent::Skip(reason), Some(_)) => Ok((self.skip(reason).await?, false)),
            // A manual run has no tick that could be skipped, but it may have been granted before.
            (Intent::Skip(reason), None) => {
                let state = self.look().await?;
                if let Says::Mine(lock) = state.says(self.request) {
                    return self.granted_again(&state, &lock).await.map(|told| (told, false));
                }
                let consumed = Consumed::new(reason, None, None, Untold::default());
                Ok((Acquisition::Consumed(consumed), false))
            }
            _ => self.take().await,
        }
    }

    pub(crate) async fn look(&self) -> Result<State, BackendError> {
        let txn = Txn::new().and_then(look(&self.keys));
        let mut reply = self.send(Repeat::Safe, txn).await?;
        State::read(&self.request.key, &mut reply)
    }

    pub(crate) async fn send(
        &self,
        repeat: Repeat,
        txn: Txn,
    ) -> Result<Reply, crate::error::Failure> {
        let response = self.backend.wire.txn(self.operation, repeat, txn).await?;
        Ok(Reply::new(self.operation, &response))
    }

    /// Takes the lock and the tick.
    async fn take(&self) -> Result<Told, BackendError> {
        let mut record = self.running.map(|_| Running::First);
        for _ in 0..TRIES {
            let (request, leases) = (self.request, &self.backend.leases);
            let mut loan = leases.borrow(self.operation, &request.holder, request.ttl).await?;
            let sent = Moment::now();
            loan.sent();
            let (answer, kept) = self.send_taking(loan.lease, sent, record).await;
            let mut reply = match answer {
                Ok(reply) => reply,
                Err(failure) => match failure.reach {
                    Reach::NoLease => {
                        loan.gone();
                        continue;
                    }
                    Reach::NotSent | Reach::Passing | Reach::OldToken | Reach::Refused => {
                        loan.give_back();
                        return Err(failure.error);
                    }
                    // The loan is dropped in doubt.
                    Reach::Unknown | Reach::Full | Reach::Compacted => return Err(failure.error),
                },
            };
            if matches!(kept, Some(Ok(()))) {
                loan.lease.sent = sent;
            }
            if reply.succeeded {
                return self.granted(loan, kept, &mut reply).await;
            }
            loan.give_back();
            let state = State::read(&request.key, &mut reply)?;
            match state.says(request) {
                Says::Mine(lock) => {
                    return self.granted_again(&state, &lock).await.map(|told| (told, false));
                }
                Says::Answer(answer) => return Ok((*answer, false)),
                Says::Held(lock) => {
                    if request.occurrence.is_some() && request.if_held == IfHeld::Consume {
                        if let Ok(answer) = self.consume(&state, &lock).await? {
                            return Ok((answer, false));
                        }
                        continue;
                    }
                    let held = self.backend.held(self.operation, &state, &lock).await?;
                    return Ok((Acquisition::Held(held), false));
                }
                // A manual run that was granted before.
                Says::Free if record == Some(Running::First) => record = Some(Running::Again),
                Says::Free => return Err(reply.odd("a tick is refused for no reason")),
            }
        }
        Err(self.restless())
    }

    /// Sends the transaction and, where the lease has aged, a keep-alive at the same time: the lock
    /// then has its whole life ahead, and its handler waits for one round trip. The keep-alive's
    /// answer counts only for a lock that was granted, and is not waited for otherwise.
    async fn send_taking(
        &self,
        lease: EtcdLease,
        sent: Moment,
        record: Option<Running>,
    ) -> (Result<Reply, Failure>, Option<Result<(), Failure>>) {
        let taking = async {
            let make = || self.taking(lease.id, record);
            let response = self.backend.wire.made_txn(self.operation, Repeat::Never, make).await?;
            Ok(Reply::new(self.operation, &response))
        };
        if lease.is_fresh(self.request.ttl, sent) {
            return (taking.await, None);
        }
        let wire = &self.backend.wire;
        let (mut taking, mut keeping) = (
            pin!(taking),
            pin!(wire.keep_alive(self.operation, wire.timeouts.operation, lease.id)),
        );
        let answer = select! {
            biased;
            answer = &mut taking => answer,
            kept = &mut keeping => return (taking.await, Some(kept)),
        };
        let granted = answer.as_ref().is_ok_and(|reply| reply.succeeded);
        let kept = if granted { Some(keeping.await) } else { None };
        (answer, kept)
    }

    /// Lines 3 and 6 stand in what is compared: the tick is newer than all that were taken, and the
    /// lock is free. A job's first tick needs no other way, since there is nothing then.
    fn taking(&self, lease: i64, record: Option<Running>) -> Txn {
        let (request, keys) = (self.request, &self.keys);
        let mut when = vec![absent(keys.lock())];
        let under = Some(PutOptions::new().with_lease(lease));
        let mut then = vec![
            newest_marks(keys),
            open_runs(keys),
            TxnOp::put(keys.lock(), text::lock(&request.holder, request.run_id), under),
            TxnOp::put(keys.token(), request.run_id.to_string(), None),
            TxnOp::put(keys.run(Part::Open, request.run_id), text::open_run(request), None),
        ];
        if let Some(tick) = request.occurrence {
            when.push(newer_than_all(keys, tick));
            then.push(TxnOp::put(keys.mark(tick), text::granted_mark(request), None));
        }
        if let (Some(running), Some(record)) = (self.running, record) {
            let (known, store) = record.store(keys, running, self.backend.now_ms());
            when.extend(known);
            then.push(store);
        }
        Txn::new().when(when).and_then(then).or_else(look(keys))
    }

    async fn granted(
        &self,
        loan: Loan,
        kept: Option<Result<(), Failure>>,
        reply: &mut Reply,
    ) -> Result<Told, BackendError> {
        let (request, stored) = (self.request, self.running.is_some());
        // Lent before anything else can fail: the lock stands.
        let token = FencingToken::new(reply.revision);
        let Lent { lease, .. } = loan.lend(token, None);
        let found = reply.found()?;
        let open = reply.found()?;
        // Mostly there is none, and the older marks tell nothing.
        let needed = if open.entries.is_empty() { 1 } else { usize::MAX };
        let marks = state::marks(&request.key, &found, needed);
        let mut abandoned = state::open(&request.key, &open, &marks);
        abandoned.retain(|run| run.run_id != request.run_id);
        let previous = self.previous(&found, &marks);
        let before = text::before(&marks, request.occurrence, reply.revision);
        let untold = Untold::after(request, before, None);
        self.backend.leases.lend(&request.holder, Lent { lease, token, previous });
        let lease_in_hand = state::lease(request, token);
        let is_there = match kept {
            None | Some(Ok(())) => true,
            Some(Err(failure)) if failure.reach == Reach::NoLease => false,
            // It was not kept alive, as far as is known: once more.
            Some(Err(_)) => self.keep_alive(lease).await?,
        };
        if !is_there {
            return Ok((Acquisition::Expired(lease_in_hand), stored));
        }
        let grant = Grant::new(lease_in_hand, previous, untold, abandoned);
        Ok((Acquisition::Granted(grant), stored))
    }

    /// Whether the lease was there.
    pub(crate) async fn keep_alive(&self, lease: EtcdLease) -> Result<bool, BackendError> {
        let (wire, sent) = (&self.backend.wire, Moment::now());
        match wire.keep_alive(self.operation, wire.timeouts.operation, lease.id).await {
            Ok(()) => {
                self.backend.leases.renewed(&self.request.holder, lease.id, sent);
                Ok(true)
            }
            Err(failure) if failure.reach == Reach::NoLease => Ok(false),
            Err(failure) => Err(failure.error),
        }
    }

    /// The mark as it was; a manual run passes over no ticks.
    pub(crate) fn previous(&self, found: &Found, marks: &[Marked]) -> Option<MarkPoint> {
        let newest = found.entries.first().filter(|_| self.request.occurrence.is_some())?;
        match marks.first() {
            Some(read) if read.at == newest.changed => Some(read.mark.point),
            _ => state::point(newest),
        }
    }

    pub(crate) fn restless(&self) -> BackendError {
        let error = BackendError::new(ErrorKind::Unavailable, BACKEND, self.operation);
        error.with_source(Odd("the lock changed hands at each look"))
    }
}

/// Deletes the ticks taken before that one.
pub(crate) fn older_marks(keys: &Keys, before: MarkPoint) -> TxnOp {
    let until = DeleteOptions::new().with_range(keys.mark(before.occurrence));
    TxnOp::delete(keys.all(Part::Marks), Some(until))
}

/// No tick was taken that is this one or newer.
pub(crate) fn newer_than_all(keys: &Keys, tick: Occurrence) -> Compare {
    absent(keys.mark(tick)).with_range(keys.end(Part::Marks))
}
