//! Looking jobs up: first a few at a time, so that a start with many costs no task for each.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::select;
use tokio::task::yield_now;
use tokio::time::sleep;

use super::Core;
use super::backoff::Backoff;
use super::core::MAX_LOOKS;
use super::table::Registration;
use crate::job::Definition;

/// How many jobs a task looks up before others have their turn, where the backend answers at once.
const IN_A_ROW: usize = 32;

/// Jobs that have not been looked up yet.
#[derive(Debug, Default)]
pub(crate) struct Looks(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<(Registration, Arc<Definition>)>,
    /// How many tasks are at work.
    tasks: usize,
}

impl Looks {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next one. Without any, the task that asks is at its end.
    fn next(&self) -> Option<(Registration, Arc<Definition>)> {
        let mut queue = self.queue();
        let next = queue.waiting.pop_front();
        if next.is_none() {
            queue.tasks -= 1;
            queue.waiting = VecDeque::new();
        }
        next
    }
}

impl Core {
    /// Has a job looked up.
    pub(crate) fn look_up_soon(self: &Arc<Self>, registration: Registration, job: Arc<Definition>) {
        let mut queue = self.looks_to_come.queue();
        queue.waiting.push_back((registration, job));
        let first = queue.tasks < MAX_LOOKS;
        if first {
            queue.tasks += 1;
        }
        drop(queue);
        if first {
            self.spawn(self.clone().look_through());
        }
    }

    async fn look_through(self: Arc<Self>) {
        let mut turn = 0_usize;
        while let Some((registration, job)) = self.looks_to_come.next() {
            turn += 1;
            if turn.is_multiple_of(IN_A_ROW) {
                yield_now().await;
            }
            if self.table().entry(registration).is_none() {
                continue;
            }
            let first = select! {
                biased;
                // A shutdown does not wait for looks.
                () = self.stopping.cancelled() => return,
                first = self.inspect(&job.key) => first,
            };
            match first {
                Ok(state) => self.looked_up(registration, Some(&state)),
                Err(error) => {
                    self.failed(Some(&job.id), &error);
                    if error.is_retryable() {
                        // It waits by itself: others may be found all the same.
                        self.spawn(self.clone().look_up_later(registration, job));
                    } else {
                        self.looked_up(registration, None);
                    }
                }
            }
        }
    }

    async fn look_up_later(self: Arc<Self>, registration: Registration, job: Arc<Definition>) {
        let pause = Backoff::relaxed().next(&self);
        select! {
            biased;
            () = self.stopping.cancelled() => return,
            () = sleep(pause) => {}
        }
        self.look_up(registration, job).await;
    }
}
