//! The loop that finds ticks due.

use std::sync::Arc;
use std::time::Duration;

use tokio::select;
use tokio::time::{Instant, sleep_until};

use super::Core;
use super::clock_watch::Watch;
use super::events::EventKind;
use super::misfire::{self, Moment, Picked};
use super::plan::{Basis, Clocks};
use super::reading::Reading;
use super::table::Due;

/// The longest sleep: a clock that was set, or a machine that slept, is noticed after it.
pub(crate) const NAP: Duration = Duration::from_secs(30);

/// How many ticks are taken from the queue at a time, before other tasks have their turn.
const BATCH: usize = 64;

/// How many of them are started by one reading of the clocks.
const AT_A_READING: usize = 32;

/// One reading of the clocks, and what it means for ticks planned by either.
struct Moments {
    clocks: Clocks,
    basis: Basis,
    wall: Moment,
    server: Moment,
}

impl Moments {
    fn new(core: &Core, watch: &Watch, reading: &Reading) -> Self {
        let clocks = reading.clocks();
        let (wall, server) = watch.moments(core, clocks);
        Self { clocks, basis: reading.basis, wall, server }
    }
}

pub(crate) async fn run(core: Arc<Core>) {
    let mut watch = Watch::new(core.clock.now(), Instant::now());
    let mut planned = Instant::now();
    while !core.stopping.is_cancelled() {
        let reading = core.read();
        core.pulse.looped(reading.at);
        if let Some(by) = watch.wake(reading.wall, reading.at, planned) {
            tracing::warn!(node = %core.node, %by, "the clock was set, or the machine slept");
            core.event(None, EventKind::ClockStepped { by });
            core.tell_skew(&reading);
            if by.is_negative() {
                core.set_back();
            }
            // The reading since the last answer may have stood still.
            core.refresh_meter(Duration::ZERO, &reading);
        }
        // The backend's own clock may have been set.
        core.refresh_meter(NAP, &reading);
        let mut taken = 0;
        let mut moments = Moments::new(&core, &watch, &reading);
        while taken < BATCH {
            let Some(due) = core.table().take_due(moments.clocks) else {
                break;
            };
            if taken > 0 && taken % AT_A_READING == 0 {
                moments = Moments::new(&core, &watch, &core.read());
            }
            taken += 1;
            start(&core, &moments, due);
        }
        if taken == BATCH {
            tokio::task::yield_now().await;
            // Others' turns are no sleep, however long they take: what is due now was watched.
            planned = Instant::now();
            continue;
        }
        let nap = match core.table().next_wake(reading.clocks()) {
            Some(ms) => {
                // The queue is in whole milliseconds, and part of this one has passed.
                let passed = reading.wall.subsec_nanosecond().rem_euclid(1_000_000).unsigned_abs();
                let ms = Duration::from_millis(u64::try_from(ms).unwrap_or(0));
                ms.saturating_sub(Duration::from_nanos(passed.into())).min(NAP)
            }
            None => NAP,
        };
        planned = reading.at + nap;
        if taken > 0 {
            // What was done since then is no sleep, either.
            planned = planned.max(Instant::now());
        }
        select! {
            biased;
            () = core.stopping.cancelled() => break,
            () = core.wake.notified() => planned = Instant::now(),
            () = sleep_until(planned) => {}
        }
    }
}

/// Decides what to ask for, and starts the asking.
fn start(core: &Arc<Core>, moments: &Moments, due: Due) {
    if due.basis != moments.basis {
        // The clock has turned out to be off, or right again, since the tick was queued.
        return core.settle(due.registration, &due.job, due.cursor, moments.basis);
    }
    let moment = match due.basis {
        Basis::Wall => moments.wall.before(due.held_back),
        Basis::Server => moments.server,
    };
    match misfire::pick(&due.job, due.cursor, due.next, moment) {
        Ok(Picked { tick, successor }) => {
            let parked = match core.table().entry(due.registration) {
                Some(entry) => entry.asks(&due.job, tick),
                None => true,
            };
            if !parked {
                let successor = successor.unwrap_or_else(|fault| {
                    core.schedule_faulted(&due.job, &fault);
                    None
                });
                core.spawn(core.clone().ask(due, tick, successor));
            }
        }
        Err(fault) => {
            core.schedule_faulted(&due.job, &fault);
            core.stand_still(due.registration, due.cursor);
        }
    }
}
