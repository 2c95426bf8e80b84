//! Runs that are over before there is anything to do for them need no watchdog.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::select;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::Run;
use super::watchdog::Watchdog;
use crate::RunId;
use crate::engine::Core;

/// The runs whose watchdog has not begun. Until its first renewal, its timeout, or until it is told
/// to stop, there is nothing to do for a run: most are over by then, and never cost a second task,
/// a timer, and the wait of one task for the other.
#[derive(Debug, Default)]
pub(crate) struct Unwatched {
    waiting: Mutex<Waiting>,
    /// Wakes the task that starts watchdogs before the end of its sleep.
    sooner: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    runs: BTreeMap<(Instant, RunId), Weak<Run>>,
    /// Those that are to be watched at once.
    now: Vec<Weak<Run>>,
    /// All are: runs are being told to stop.
    all: bool,
    /// Until when that task sleeps; `None`: until it is woken.
    planned: Option<Instant>,
}

impl Unwatched {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a run watched from the moment on when there is something to do for it. Tells whether a
    /// task was woken for that, which must have its turn before a handler that may not yield.
    pub(super) fn enter(&self, run: &Arc<Run>) -> bool {
        let from = run.watched_from;
        let mut waiting = self.waiting();
        waiting.runs.insert((from, run.record.run_id), Arc::downgrade(run));
        let sooner = waiting.all || waiting.planned.is_none_or(|planned| from < planned);
        drop(waiting);
        if sooner {
            self.sooner.notify_one();
        }
        sooner
    }

    /// Takes a run out, which is over. Tells whether it was there: else a watchdog has it.
    pub(super) fn leave(&self, run: &Run) -> bool {
        self.waiting().runs.remove(&(run.watched_from, run.record.run_id)).is_some()
    }

    /// Has a run watched at once.
    pub(super) fn watch_now(&self, run: &Run) {
        let mut waiting = self.waiting();
        if let Some(weak) = waiting.runs.remove(&(run.watched_from, run.record.run_id)) {
            run.life.watch();
            waiting.now.push(weak);
            drop(waiting);
            self.sooner.notify_one();
        }
    }

    /// Has all runs watched at once, and those to come: they are told to stop.
    pub(crate) fn watch_all(&self) {
        self.waiting().all = true;
        self.sooner.notify_one();
    }

    /// The runs to be watched from now on.
    fn due(&self, now: Instant) -> (Vec<Arc<Run>>, Option<Instant>) {
        let mut waiting = self.waiting();
        let mut due: Vec<_> = waiting.now.drain(..).filter_map(|run| run.upgrade()).collect();
        let all = waiting.all;
        while let Some(first) = waiting.runs.first_entry()
            && (all || first.key().0 <= now)
        {
            if let Some(run) = first.remove().upgrade() {
                // From here on its task knows that it has to wait for the watchdog.
                run.life.watch();
                due.push(run);
            }
        }
        waiting.planned = waiting.runs.first_key_value().map(|((from, _), _)| *from);
        (due, waiting.planned)
    }
}

impl Core {
    /// Starts the watchdog of each run that is still there when it is needed.
    pub(crate) async fn start_watchdogs(self: Arc<Self>) {
        loop {
            let (due, planned) = self.unwatched.due(Instant::now());
            for run in due {
                self.spawn(Watchdog::new(run).watch());
            }
            let asleep = async {
                match planned {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            select! {
                biased;
                // No run is left, and none will come.
                () = self.tracker.wait() => return,
                () = self.unwatched.sooner.notified() => {}
                () = asleep => {}
            }
        }
    }
}
