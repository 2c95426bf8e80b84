//! Recording ticks that did not run, and runs that were abandoned.

use std::sync::Arc;

use jiff::Timestamp;

use super::Core;
use super::asking::Asking;
use super::events::EventKind;
use super::ticks::{self, Fault};
use crate::job::Definition;
use crate::lock::{Consumed, MarkPoint, OpenRun, PassedOver, SkippedRow, Untold};
use crate::{Lease, NodeId, Record, RunId, RunState, TickSpan};

impl Core {
    /// Records the ticks between the mark as it was and the one that this node moved it to: they
    /// were taken by nobody, and never will be.
    pub(crate) fn ticks_passed(self: &Arc<Self>, asking: &Asking, previous: Option<MarkPoint>) {
        let (due, occurrence) = (&asking.due, asking.tick.occurrence);
        let (registration, job) = (due.registration, &due.job);
        let since = || self.table().entry(registration).map_or(due.since, |entry| entry.since);
        let after = match previous {
            Some(mark) if mark.fingerprint == job.fingerprint => {
                if asking.request.after.is_some_and(|before| before <= mark.occurrence) {
                    // As this node has planned it: there is nothing between them.
                    return;
                }
                mark.occurrence.at()
            }
            // Under another schedule, or none: what counts is from when on this node has watched.
            Some(mark) => since().max(mark.occurrence.at()),
            None => since(),
        };
        // What this node had an answer about is told, even where an operator has taken the mark back.
        let after = asking.heard.map_or(after, |heard| heard.max(after));
        match ticks::span(job, after, occurrence) {
            Ok(Some(ticks)) => {
                self.tell_not_run(job, RunState::Missed, ticks);
                let run = asking.request.run_id;
                let node = self.node.clone();
                self.save_later(missed(job, run, node, ticks, self.clock.now()));
            }
            Ok(None) => {}
            Err(fault) => self.schedule_faulted(job, &fault),
        }
    }

    /// The same for a grant whose answer was lost, and whose lock has gone: its open run still
    /// tells what was named to it. Whether it could be asked.
    pub(crate) async fn tell_unheard(self: &Arc<Self>, asking: &Asking, lease: &Lease) -> bool {
        let job = &asking.due.job;
        let state = match self.inspect(&lease.key).await {
            Ok(state) => state,
            Err(error) => {
                self.failed(Some(&job.id), &error);
                return false;
            }
        };
        // A run that is open no more was named to one that was released since.
        let Some(own) = state.open_runs.iter().find(|run| run.run_id == lease.run_id) else {
            return true;
        };
        // Where the mark has moved on since, its open run is all that tells of them.
        let mark = state.mark.as_ref().filter(|mark| mark.holder == lease.holder);
        if let Some(mark) = mark {
            self.ticks_passed(asking, mark.previous);
        }
        let named = state.open_runs.iter().filter(|run| run.token < own.token);
        let named: Vec<_> = named.cloned().collect();
        self.tell(job, mark.map(|_| lease.run_id), &own.untold, &named);
        self.close_abandoned(job, &named, named.clone());
        true
    }

    /// Tells that this node moved the mark past a tick without running it. (Its record is among
    /// what is untold.)
    pub(crate) fn tick_skipped(&self, asking: &Asking, consumed: &Consumed) {
        let state = RunState::Skipped(consumed.reason);
        self.tell_not_run(&asking.due.job, state, TickSpan::one(asking.tick.occurrence));
    }

    fn tell_not_run(&self, job: &Definition, state: RunState, ticks: TickSpan) {
        tracing::info!(
            node = %self.node, job = %job.id, %state,
            first = %ticks.first, last = %ticks.last, count = ticks.count, "ticks did not run"
        );
        self.event(Some(&job.id), EventKind::TicksNotRun { state, ticks });
    }

    /// Records what is untold, of the mark as it was and of the runs named as abandoned, if this
    /// node has not just done so. What the run `own`, if that is named, passed over is told apart: by this node, which
    /// may know better what lies between.
    pub(crate) fn tell(
        self: &Arc<Self>,
        job: &Definition,
        own: Option<RunId>,
        untold: &Untold,
        named: &[OpenRun],
    ) {
        if untold.is_empty() && named.iter().all(|run| run.untold.is_empty()) {
            return;
        }
        let mut records = Vec::new();
        for untold in named.iter().map(|run| &run.untold).chain([untold]) {
            match records_of(job, untold, self.clock.now()) {
                Ok(of_it) => records.extend(of_it),
                Err(fault) => self.schedule_faulted(job, &fault),
            }
        }
        let mut table = self.table();
        let registration = table.find(job.id.as_str()).map(|(registration, _)| registration);
        let entry = registration.and_then(|registration| table.entry(registration));
        let new = match entry {
            Some(entry) => entry.told.more(&records, own.map(RunId::of_passed)),
            None => records,
        };
        drop(table);
        new.into_iter().for_each(|record| self.save_later(record));
    }

    /// Tells of the abandoned runs that a grant names, and closes those whose records the backend
    /// has not closed itself.
    pub(crate) fn close_abandoned(
        self: &Arc<Self>,
        job: &Definition,
        named: &[OpenRun],
        unclosed: Vec<OpenRun>,
    ) {
        if !named.is_empty() {
            tracing::warn!(node = %self.node, job = %job.id, count = named.len(), "abandoned runs found");
            self.event(Some(&job.id), EventKind::RunsAbandoned { count: named.len() });
        }
        for run in unclosed {
            self.save_later(Record::abandoned(job.id.clone(), &run, self.clock.now()));
        }
    }
}

/// The records of what is untold: the same ones whoever makes them.
pub(crate) fn records_of(
    job: &Definition,
    untold: &Untold,
    now: Timestamp,
) -> Result<Vec<Record>, Fault> {
    let mut records: Vec<_> = untold.skipped.iter().map(|row| skipped(&job.id, row, now)).collect();
    for passed in &untold.passed {
        let PassedOver { run_id, node, since, until, .. } = passed;
        if since.fingerprint == job.fingerprint
            && let Some(ticks) = ticks::span(job, since.occurrence.at(), *until)?
        {
            records.push(missed(job, *run_id, node.clone(), ticks, now));
        }
    }
    Ok(records)
}

/// The record of ticks consumed for one reason.
pub(crate) fn skipped(job: &crate::JobId, row: &SkippedRow, now: Timestamp) -> Record {
    let ticks = TickSpan::new(row.first, row.last, row.count, false);
    let state = RunState::Skipped(row.reason);
    let mut record =
        Record::new(row.run_id.of_skipped(), job.clone(), row.node.clone(), state, now);
    record.blocked_by = row.blocked_by;
    not_run(record, ticks)
}

fn missed(job: &Definition, run: RunId, node: NodeId, ticks: TickSpan, now: Timestamp) -> Record {
    let (id, state) = (run.of_passed(), RunState::Missed);
    not_run(Record::new(id, job.id.clone(), node, state, now), ticks)
}

fn not_run(mut record: Record, ticks: TickSpan) -> Record {
    record.occurrence = (ticks.count == 1).then_some(ticks.first);
    record.attempt = 0;
    record.ended = Some(record.started);
    record.ticks = Some(ticks);
    record
}
