//! The loop that finds ticks due.

use std::sync::Arc;
use std::time::Duration;

use tokio::select;
use tokio::time::{Instant, sleep};

use super::Core;
use super::clock_watch::Watch;
use super::events::EventKind;
use super::misfire;
use super::table::Due;

/// The longest sleep: a clock that was set, or a machine that slept, is noticed after it.
pub(crate) const NAP: Duration = Duration::from_secs(30);

/// How many ticks are taken from the queue at a time, before other tasks have their turn.
const BATCH: usize = 1_024;

pub(crate) async fn run(core: Arc<Core>) {
    let mut watch = Watch::new(core.clock.now(), Instant::now());
    let mut planned = Instant::now();
    while !core.stopping.is_cancelled() {
        let now = Instant::now();
        core.pulse.looped(now);
        if let Some(by) = watch.wake(core.clock.now(), now, planned) {
            tracing::warn!(node = %core.node, %by, "the clock was set, or the machine slept");
            core.event(None, EventKind::ClockStepped { by });
            core.tell_skew();
            if by.is_negative() {
                core.set_back();
            }
            // The reading since the last answer may have stood still.
            core.refresh_meter(Duration::ZERO);
        }
        // The backend's own clock may have been set.
        core.refresh_meter(NAP);
        let mut taken = 0;
        while taken < BATCH {
            let Some(due) = core.table().take_due(core.clocks()) else {
                break;
            };
            taken += 1;
            start(&core, &watch, due);
        }
        if taken == BATCH {
            planned = Instant::now();
            tokio::task::yield_now().await;
            continue;
        }
        let nap = match core.table().next_wake(core.clocks()) {
            Some(ms) => Duration::from_millis(u64::try_from(ms).unwrap_or(0)).min(NAP),
            None => NAP,
        };
        planned = Instant::now() + nap;
        select! {
            biased;
            () = core.stopping.cancelled() => break,
            () = core.wake.notified() => planned = Instant::now(),
            () = sleep(nap) => {}
        }
    }
}

/// Decides what to ask for, and starts the asking.
fn start(core: &Arc<Core>, watch: &Watch, due: Due) {
    if due.basis != core.basis() {
        // The clock has turned out to be off, or right again, since the tick was queued.
        return core.settle(due.registration, &due.job, due.cursor);
    }
    let moment = watch.moment(core, due.basis);
    match misfire::pick(&due.job, due.cursor, due.next, moment) {
        Ok(tick) => {
            let parked = match core.table().entry(due.registration) {
                Some(entry) => {
                    entry.asks(tick.occurrence);
                    // A backlog is run from its beginning, which the look-up may still find.
                    entry.awaits_look()
                }
                None => true,
            };
            if !parked {
                core.spawn(core.clone().ask(due, tick));
            }
        }
        Err(fault) => {
            core.schedule_faulted(&due.job, &fault);
            core.stand_still(due.registration, due.cursor);
        }
    }
}
