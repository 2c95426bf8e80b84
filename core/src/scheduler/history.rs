//! Reading what has become of a job's ticks.

use super::Control;
use crate::engine::{records_of, skipped};
use crate::{
    BackendError, JobId, LockKey, LockState, OpenRun, Record, RecordQuery, RunId, RunState,
};

impl Control {
    /// The newest `limit` records of a job, of all nodes, newest first.
    ///
    /// A record that says `Running` although its run does not hold the lock is closed as
    /// `Abandoned`, here and in the store: its node has died, or has yet to tell how it ended. So
    /// is a granted run that never came to be recorded; and ticks that did not run, whose node has
    /// not told of them, are recorded. While the locks cannot be looked at, or
    /// the store takes no records, they are shown as they are.
    ///
    /// # Errors
    ///
    /// The id is none, or the records cannot be read.
    pub async fn history(&self, id: &str, limit: usize) -> Result<Vec<Record>, HistoryError> {
        let (core, job) = (&self.core, JobId::new(id)?);
        let query = RecordQuery::newest(job.clone(), limit);
        let records = core.list(&query).await?;
        // The lock is looked at after the records: a run that ends in between is not taken for
        // abandoned, since its own end is final.
        let Ok(state) = core.inspect(&LockKey::of(&job)).await else {
            return Ok(records);
        };
        let mut closed = self.ends_of_abandoned(&job, &records, &state);
        closed.extend(self.untold(&job, &records, &state));
        if closed.is_empty() {
            return Ok(records);
        }
        for record in &closed {
            if core.save(record).await.is_err() {
                break; // and those that come after it would wait as long
            }
        }
        // As the store has them: a run's own end may have come before.
        Ok(core.list(&query).await?)
    }

    /// The records of ticks that did not run which are not there, or tell of fewer.
    fn untold(&self, id: &JobId, records: &[Record], state: &LockState) -> Vec<Record> {
        let now = self.core.clock.now();
        let job = self.core.table().find(id.as_str()).map(|(_, entry)| entry.job.clone());
        let of_mark = state.mark.iter().map(|mark| &mark.untold);
        let all = of_mark.chain(state.open_runs.iter().map(|run| &run.untold));
        let all = all.flat_map(|untold| match &job {
            Some(job) => records_of(job, untold, now).unwrap_or_default(),
            // What lies between two ticks only the schedule tells.
            None => untold.skipped.iter().map(|row| skipped(id, row, now)).collect(),
        });
        let told = |new: &Record| {
            let stored = records.iter().find(|stored| stored.run_id == new.run_id);
            stored.is_some_and(|stored| !stored.yields_to(new))
        };
        all.filter(|record| !told(record)).collect()
    }

    fn ends_of_abandoned(&self, job: &JobId, records: &[Record], state: &LockState) -> Vec<Record> {
        let holds = |run: RunId| state.held.as_ref().is_some_and(|held| held.run_id == run);
        let now = self.core.clock.now();
        let is_known = |run: RunId| records.iter().any(|record| record.run_id == run);
        let unrecorded = |run: &&OpenRun| !holds(run.run_id) && !is_known(run.run_id);
        let open = state.open_runs.iter().filter(unrecorded);
        let mut closed: Vec<_> = open.map(|run| Record::abandoned(job.clone(), run, now)).collect();
        for record in records {
            if record.state == RunState::Running && !holds(record.run_id) {
                let mut end = record.clone();
                end.state = RunState::Abandoned;
                end.ended = Some(now);
                closed.push(end);
            }
        }
        closed
    }
}

/// Why there is no history to show.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The id is none.
    #[error(transparent)]
    Id(#[from] crate::IdError),
    /// The records could not be read.
    #[error("the records could not be read: {0}")]
    Backend(#[from] BackendError),
}
