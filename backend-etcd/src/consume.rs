//! Moving the mark past a tick that does not run.

use etcd_client::{Compare, CompareOp, Txn, TxnOp};
use tidelock::{Acquisition, BackendError, Consumed, MarkPoint, Occurrence, SkipReason};

use crate::acquire::{Ask, newer_than_all, older_marks};
use crate::calls::Repeat;
use crate::state::{LockNow, Says, State, look, newest_marks};
use crate::text;

/// So many ticks taken are kept at most without a run that ends and clears the older ones away.
const MARKS: u64 = 16;

impl Ask<'_> {
    /// Moves the mark, lock or no lock.
    pub(crate) async fn skip(
        &self,
        tick: Occurrence,
        why: SkipReason,
    ) -> Result<Acquisition, BackendError> {
        let (keys, request) = (&self.keys, self.request);
        let put = TxnOp::put(keys.mark(tick), text::mark(request, Some((why, None))), None);
        let txn = Txn::new()
            .when([newer_than_all(keys, tick)])
            .and_then([newest_marks(keys, 1), put])
            .or_else(look(keys));
        // Sent twice, the second finds what the first has done.
        let mut reply = self.send(Repeat::Safe, txn).await?;
        if reply.succeeded {
            let marks = reply.found()?;
            let previous = self.previous(&marks);
            if marks.count > MARKS
                && let Some(previous) = previous
            {
                self.clear_marks(previous).await;
            }
            return Ok(Acquisition::Consumed(Consumed::new(why, None, previous)));
        }
        let state = State::read(&request.key, &mut reply)?;
        match state.says(request) {
            Says::Answer(answer) => Ok(answer),
            Says::Mine(lock) => self.granted_again(&state, &lock).await,
            Says::Held(_) | Says::Free => Err(reply.odd("a tick is refused for no reason")),
        }
    }

    /// Moves the mark because that run is in the way. `None`: it is not, by now.
    pub(crate) async fn consume(
        &self,
        tick: Occurrence,
        state: &State,
        lock: &LockNow,
    ) -> Result<Option<Acquisition>, BackendError> {
        let (keys, request) = (&self.keys, self.request);
        let how = (SkipReason::Overlap, Some(lock.run_id));
        let mut then = vec![
            newest_marks(keys, 1),
            TxnOp::put(keys.mark(tick), text::mark(request, Some(how)), None),
        ];
        then.extend(state.mark.as_ref().map(|mark| older_marks(keys, mark.point)));
        let created = i64::try_from(lock.token.get()).unwrap_or(i64::MAX);
        let held = Compare::create_revision(keys.lock(), CompareOp::Equal, created);
        let txn =
            Txn::new().when([held, newer_than_all(keys, tick)]).and_then(then).or_else(look(keys));
        let mut reply = self.send(Repeat::Safe, txn).await?;
        if reply.succeeded {
            let previous = self.previous(&reply.found()?);
            let consumed = Consumed::new(how.0, how.1, previous);
            return Ok(Some(Acquisition::Consumed(consumed)));
        }
        let state = State::read(&request.key, &mut reply)?;
        match state.says(request) {
            Says::Answer(answer) => Ok(Some(answer)),
            Says::Mine(_) | Says::Held(_) | Says::Free => Ok(None),
        }
    }

    async fn clear_marks(&self, before: MarkPoint) {
        let txn = Txn::new().and_then([older_marks(&self.keys, before)]);
        if let Err(failure) = self.send(Repeat::Safe, txn).await {
            tracing::debug!(error = %failure.error, "old marks are left to a later run");
        }
    }
}
