//! A node's tasks, to be frozen or killed as one.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tidelock::{Spawner, Task};

use crate::Link;

/// Spawns the tasks of one scheduler so that a test can freeze, thaw or kill the node whole.
/// Clones are the same node.
///
/// - **Frozen** (SIGSTOP, a suspended machine): no task is polled until [`thaw`](Self::thaw), then
///   all are. Time goes by.
/// - **Killed** (SIGKILL): all tasks are dropped at once, in the order they were spawned, and what
///   is spawned later is dropped too. A node [`linked`](Self::linked) to its backend is cut off
///   first, so that what destructors do does not reach it.
/// - **Blocking work** runs on tokio's threads, which mocked time waits for without moving; with
///   [`blocking_takes`](Self::blocking_takes) it takes that much mocked time instead.
///
/// ```
/// use std::time::Duration;
/// use tidelock::Spawner;
/// use tidelock_tests::NodeSpawner;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let node = NodeSpawner::new();
/// node.spawn(Box::pin(async {
///     tokio::time::sleep(Duration::from_secs(60)).await;
///     unreachable!("the node is dead by then");
/// }));
/// tokio::time::sleep(Duration::from_secs(1)).await;
/// node.kill();
/// assert_eq!(node.tasks(), 0);
/// tokio::time::sleep(Duration::from_secs(60)).await;
/// # }
/// ```
#[derive(Clone, Default)]
pub struct NodeSpawner(Arc<Mutex<Node>>);

#[derive(Default)]
struct Node {
    phase: Phase,
    link: Option<Link>,
    blocking: Option<Duration>,
    /// By number, so that they are woken and dropped in the order they were spawned.
    slots: BTreeMap<u64, Slot>,
    next: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Alive,
    Frozen,
    Killed,
}

struct Slot {
    /// Away while it is polled.
    task: Option<Task>,
    waker: Option<Waker>,
}

impl NodeSpawner {
    /// A node that is alive.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same node, with the link that [`kill`](Self::kill) cuts.
    #[must_use]
    pub fn linked(self, link: &Link) -> Self {
        self.node().link = Some(link.clone());
        self
    }

    /// Blocking work takes that much of tokio's time from now on: it is done at the end of it.
    pub fn blocking_takes(&self, duration: Duration) {
        self.node().blocking = Some(duration);
    }

    /// Stops polling the node's tasks. A task that calls it comes to its next await.
    pub fn freeze(&self) {
        let mut node = self.node();
        if node.phase == Phase::Alive {
            node.phase = Phase::Frozen;
        }
    }

    /// Polls the tasks again, all of them.
    pub fn thaw(&self) {
        let mut node = self.node();
        if node.phase == Phase::Frozen {
            node.phase = Phase::Alive;
        }
        let wakers: Vec<_> = node.slots.values_mut().filter_map(|s| s.waker.take()).collect();
        drop(node);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Cuts the link, and drops all tasks. A task that calls it is dropped at its next await.
    pub fn kill(&self) {
        let mut node = self.node();
        node.phase = Phase::Killed;
        if let Some(link) = &node.link {
            link.cut();
        }
        let slots = std::mem::take(&mut node.slots);
        drop(node); // what the tasks' destructors spawn comes back here
        for slot in slots.into_values() {
            drop(slot.task);
            if let Some(waker) = slot.waker {
                waker.wake();
            }
        }
    }

    /// How many tasks have not ended.
    pub fn tasks(&self) -> usize {
        self.node().slots.len()
    }

    fn node(&self) -> MutexGuard<'_, Node> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for NodeSpawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node();
        f.debug_struct("NodeSpawner")
            .field("phase", &node.phase)
            .field("tasks", &node.slots.len())
            .finish_non_exhaustive()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is a spawner: it hands what it was given to tokio"
)]
impl Spawner for NodeSpawner {
    fn spawn(&self, task: Task) {
        let mut node = self.node();
        if node.phase == Phase::Killed {
            drop(node);
            return drop(task);
        }
        let number = node.next;
        node.next += 1;
        let slot = Slot { task: Some(task), waker: None };
        node.slots.insert(number, slot);
        drop(node);
        drop(tokio::spawn(Runner { node: self.clone(), number }));
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send + 'static>) {
        let node = self.node();
        let (takes, dead) = (node.blocking, node.phase == Phase::Killed);
        drop(node);
        match takes {
            Some(duration) => self.spawn(Box::pin(async move {
                tokio::time::sleep(duration).await;
                work();
            })),
            None if dead => drop(work),
            None => drop(tokio::task::spawn_blocking(work)),
        }
    }
}

/// What tokio polls in place of a task.
struct Runner {
    node: NodeSpawner,
    number: u64,
}

impl Future for Runner {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut node = self.node.node();
        let frozen = node.phase == Phase::Frozen;
        let Some(slot) = node.slots.get_mut(&self.number) else {
            return Poll::Ready(());
        };
        if !slot.waker.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            slot.waker = Some(cx.waker().clone());
        }
        if frozen {
            return Poll::Pending;
        }
        let Some(mut task) = slot.task.take() else {
            return Poll::Ready(());
        };
        drop(node);
        if task.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        match self.node.node().slots.get_mut(&self.number) {
            Some(slot) => slot.task = Some(task),
            None => return Poll::Ready(()), // the node was killed by this very task
        }
        Poll::Pending
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let slot = self.node.node().slots.remove(&self.number);
        drop(slot); // with the lock given back: a destructor may spawn
    }
}

#[cfg(test)]
mod tests;
