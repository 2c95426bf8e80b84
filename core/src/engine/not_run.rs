//! Recording ticks that did not run, and runs that were abandoned.

use std::sync::Arc;

use super::Core;
use super::asking::Asking;
use super::events::EventKind;
use super::table::Registration;
use super::ticks;
use crate::job::Definition;
use crate::lock::{Consumed, MarkPoint, OpenRun};
use crate::{Lease, Occurrence, Record, RunState, TickSpan};

impl Core {
    /// Records the ticks between the mark as it was and the one that this node moved it to: they
    /// were taken by nobody, and never will be.
    pub(crate) fn ticks_passed(self: &Arc<Self>, asking: &Asking, previous: Option<MarkPoint>) {
        let (due, occurrence) = (&asking.due, asking.tick.occurrence);
        let (registration, job) = (due.registration, &due.job);
        let since = self.table().entry(registration).map_or(due.since, |entry| entry.since);
        if previous.is_some_and(|mark| Some(mark.occurrence.at()) > asking.heard) {
            // Others moved the mark without this node's hearing how: to a tick that ran, it may be.
            self.ends_streak(registration);
        }
        let after = match previous {
            Some(mark) if mark.fingerprint == job.fingerprint => {
                if mark.occurrence.at() == due.cursor && occurrence == due.next {
                    // As this node has planned it: there is nothing between them.
                    return;
                }
                mark.occurrence.at()
            }
            // Under another schedule, or none: what counts is from when on this node has watched.
            Some(mark) => since.max(mark.occurrence.at()),
            None => since,
        };
        match ticks::span(job, after, occurrence) {
            Ok(Some(ticks)) => self.not_run(registration, job, RunState::Missed, ticks, None),
            Ok(None) => {}
            Err(fault) => self.schedule_faulted(job, &fault),
        }
    }

    /// The same for a grant whose answer was lost: the mark still tells what it was before.
    pub(crate) async fn ticks_passed_unheard(self: &Arc<Self>, asking: &Asking, lease: &Lease) {
        match self.inspect(&lease.key).await {
            Ok(state) => {
                if let Some(mark) = state.mark.filter(|mark| mark.holder == lease.holder) {
                    self.ticks_passed(asking, mark.previous);
                }
            }
            Err(error) => self.failed(Some(&asking.due.job.id), &error),
        }
    }

    /// Records a tick that this node moved the mark past without running it.
    pub(crate) fn tick_skipped(
        self: &Arc<Self>,
        registration: Registration,
        job: &Definition,
        occurrence: Occurrence,
        consumed: &Consumed,
    ) {
        let state = RunState::Skipped(consumed.reason);
        let ticks = TickSpan::one(occurrence);
        self.not_run(registration, job, state, ticks, consumed.blocked_by);
    }

    fn not_run(
        self: &Arc<Self>,
        registration: Registration,
        job: &Definition,
        state: RunState,
        ticks: TickSpan,
        blocked_by: Option<crate::RunId>,
    ) {
        tracing::info!(
            node = %self.node, job = %job.id, %state,
            first = %ticks.first, last = %ticks.last, count = ticks.count, "ticks did not run"
        );
        self.event(Some(&job.id), EventKind::TicksNotRun { state, ticks });
        let mut table = self.table();
        let entry = table.entry(registration);
        let streak = entry.as_ref().and_then(|entry| entry.streak.as_deref());
        let record = match streak.filter(|streak| streak.state == state) {
            // The same reason in a row is one record that grows.
            Some(streak) => {
                let mut longer = streak.clone();
                longer.ticks = Some(longer.ticks.map_or(ticks, |before| before.and(ticks)));
                longer.occurrence = None;
                longer.ended = Some(self.clock.now());
                longer.blocked_by = blocked_by;
                longer
            }
            None => {
                let (id, at) = (self.new_run_id(), self.clock.now());
                let mut record = Record::new(id, job.id.clone(), self.node.clone(), state, at);
                record.occurrence = (ticks.count == 1).then_some(ticks.first);
                record.attempt = 0;
                record.ended = Some(at);
                record.ticks = Some(ticks);
                record.blocked_by = blocked_by;
                record
            }
        };
        if let Some(entry) = entry {
            entry.streak = Some(Box::new(record.clone()));
        }
        drop(table);
        self.save_later(record);
    }

    /// A tick was run, or may have been: those that do not run after it are told of anew.
    pub(crate) fn ends_streak(&self, registration: Registration) {
        if let Some(entry) = self.table().entry(registration) {
            entry.streak = None;
        }
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
