//! Moving the mark past a tick that does not run.

use etcd_client::{Compare, CompareOp, Txn, TxnOp};
use tidelock::{Acquisition, BackendError, Consumed, Moved, SkipReason, Untold};

use crate::acquire::{Ask, TRIES};
use crate::calls::Repeat;
use crate::keys::{Part, absent};
use crate::state::{LockNow, Says, State, look};
use crate::text;

impl Ask<'_> {
    /// Moves the mark, lock or no lock.
    pub(crate) async fn skip(&self, why: SkipReason) -> Result<Acquisition, BackendError> {
        let mut state = self.look().await?;
        for _ in 0..TRIES {
            match state.says(self.request) {
                Says::Answer(answer) => return Ok(*answer),
                Says::Mine(lock) => return self.granted_again(&state, &lock).await,
                Says::Held(_) | Says::Free => {}
            }
            match self.move_past(&state, why, None).await? {
                Ok(answer) => return Ok(answer),
                Err(changed) => state = changed,
            }
        }
        Err(self.restless())
    }

    /// Moves the mark because that run is in the way. `Err` is the state where it is not, by now.
    pub(crate) async fn consume(
        &self,
        state: &State,
        lock: &LockNow,
    ) -> Result<Result<Acquisition, State>, BackendError> {
        Ok(match self.move_past(state, SkipReason::Overlap, Some(lock)).await? {
            Ok(answer) => Ok(answer),
            Err(changed) => match changed.says(self.request) {
                Says::Answer(answer) => Ok(*answer),
                Says::Mine(_) | Says::Held(_) | Says::Free => Err(changed),
            },
        })
    }

    /// Moves the mark on from that state, which tells what was untold before; `Err` is the state as
    /// it is by now, where it is another one.
    async fn move_past(
        &self,
        state: &State,
        why: SkipReason,
        behind: Option<&LockNow>,
    ) -> Result<Result<Acquisition, State>, BackendError> {
        let (keys, request) = (&self.keys, self.request);
        let Some(tick) = request.occurrence else {
            return Err(self.restless());
        };
        let blocked_by = behind.map(|lock| lock.run_id);
        let (old, how) = (state.mark.as_ref(), (why, blocked_by));
        let untold = Untold::after(request, old, Some(how));
        let previous = old.map(|mark| mark.point);
        let mut when = Vec::new();
        let value = text::consumed_mark(request, how, previous, &untold);
        let mut then = vec![TxnOp::put(keys.mark(tick), value, None)];
        match old {
            Some(old) => {
                let (key, end) = (keys.mark(old.point.occurrence), keys.end(Part::Marks));
                let changed = i64::try_from(state.marked).unwrap_or(i64::MAX);
                when.push(Compare::mod_revision(key.clone(), CompareOp::Equal, changed));
                when.push(absent(format!("{key}\0")).with_range(end));
                if matches!(old.moved, Moved::Consumed { .. }) {
                    // All that it says stands in the new one, too.
                    then.push(TxnOp::delete(key, None));
                }
            }
            None => when.push(absent(keys.all(Part::Marks)).with_range(keys.end(Part::Marks))),
        }
        if let Some(lock) = behind {
            let created = i64::try_from(lock.token.get()).unwrap_or(i64::MAX);
            when.push(Compare::create_revision(keys.lock(), CompareOp::Equal, created));
        }
        // Sent twice, the second finds what the first has done.
        let txn = Txn::new().when(when).and_then(then).or_else(look(keys));
        let mut reply = self.send(Repeat::Safe, txn).await?;
        if reply.succeeded {
            let consumed = Consumed::new(why, blocked_by, previous, untold);
            return Ok(Ok(Acquisition::Consumed(consumed)));
        }
        Ok(Err(State::read(&request.key, &mut reply)?))
    }
}
