//! Asking again: the first answer once more, whatever became of it.

use tidelock::{Acquisition, BackendError, Grant, MarkPoint, Occurrence, Renewal, Untold};

use crate::acquire::{Ask, Told};
use crate::error::Reach;
use crate::keys::Part;
use crate::leases::{EtcdLease, Lent, seconds};
use crate::moment::Moment;
use crate::reply::Found;
use crate::state::{self, LockNow, Says, State};
use crate::text;

impl Ask<'_> {
    /// Finds out what became of an earlier sending of this request, where that is unknown. After
    /// that, it can never arrive any more: its lease is gone.
    pub(crate) async fn settle(&self) -> Result<Option<Told>, BackendError> {
        let holder = &self.request.holder;
        let (leases, doubtful) = (&self.backend.leases, self.backend.leases.doubtful(holder));
        if doubtful.is_empty() {
            return Ok(None);
        }
        let state = self.look().await?;
        let mine = match state.says(self.request) {
            Says::Mine(lock) => Some(lock),
            _ => None,
        };
        let under = mine.as_ref().map(|lock| lock.lease);
        for lease in doubtful.iter().filter(|lease| Some(lease.id) != under) {
            self.backend.wire.revoke_lease(self.operation, lease.id).await?;
            leases.settled(lease.id);
        }
        let Some(lock) = mine else {
            return Ok(None);
        };
        let told = self.granted_again(&state, &lock).await?;
        leases.settled(lock.lease);
        Ok(Some((told, false)))
    }

    /// The lock is this holder's already: its first answer again, and its life anew.
    pub(crate) async fn granted_again(
        &self,
        state: &State,
        lock: &LockNow,
    ) -> Result<Acquisition, BackendError> {
        let (request, leases) = (self.request, &self.backend.leases);
        let known = leases
            .lent(&request.holder)
            .filter(|lent| lent.lease.id == lock.lease && lent.token == lock.token);
        let previous = match (request.occurrence, known) {
            (None, _) => None,
            (Some(_), Some(Lent { previous: Some(previous), .. })) => Some(previous),
            (Some(tick), _) => self.mark_before(tick, state, lock).await?,
        };
        let (sent, asked) = (Moment::now(), seconds(request.ttl));
        let lease =
            known.map_or(EtcdLease { id: lock.lease, asked, seconds: asked, sent }, |lent| {
                EtcdLease { sent, ..lent.lease }
            });
        if lock.lease != 0 {
            leases.lend(&request.holder, Lent { lease, token: lock.token, previous });
            let in_hand = state::lease(request, lock.token);
            let kept = if lease.asked == asked {
                self.keep_alive(lease).await?
            } else {
                // It was renewed with another life since.
                let renewal = self.backend.renew_lock(&in_hand, request.ttl).await?;
                renewal == Renewal::Renewed
            };
            if !kept {
                return Ok(Acquisition::Expired(in_hand));
            }
        }
        let others = state.open.iter().filter(|run| run.run_id != lock.run_id);
        let lease = state::lease(request, lock.token);
        let before = text::before(&state.marks, request.occurrence, lock.token.get());
        let untold = Untold::after(request, before, None);
        Ok(Acquisition::Granted(Grant::new(lease, previous, untold, others.cloned().collect())))
    }

    /// The mark as it was before a grant: others may have moved it since, but the store still knows
    /// its past, unless that was compacted away.
    async fn mark_before(
        &self,
        tick: Occurrence,
        state: &State,
        lock: &LockNow,
    ) -> Result<Option<MarkPoint>, BackendError> {
        let wire = &self.backend.wire;
        let before = i64::try_from(lock.token.get()).unwrap_or(i64::MAX) - 1;
        if before < 1 {
            return Ok(None);
        }
        let options = state::newest_marks_options(&self.keys, 1).with_revision(before);
        let all = self.keys.all(Part::Marks);
        match wire.get(self.operation, wire.timeouts.operation, &all, options).await {
            Ok(found) => {
                let found = Found::from(&found);
                let point = found.entries.first().and_then(text::read_point);
                Ok(point)
            }
            Err(failure) if failure.reach == Reach::Compacted => {
                let mark = state.mark.as_ref();
                let known = mark.map(|mark| mark.point).into_iter();
                let known = known.chain(mark.and_then(|mark| mark.previous));
                Ok(known.filter(|point| point.occurrence < tick).max_by_key(|p| p.occurrence))
            }
            Err(failure) => Err(failure.error),
        }
    }
}
