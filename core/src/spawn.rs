//! The seam through which a scheduler starts all its tasks.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

/// A task of a scheduler.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send + 'static>>;

/// Starts the tasks of one scheduler, all of them: whoever replaces it can freeze or kill a node
/// whole.
///
/// A task that is dropped before its end is a task whose node has died: nothing is done for it.
pub trait Spawner: Debug + Send + Sync + 'static {
    /// Runs a future to its end.
    fn spawn(&self, task: Task);

    /// Runs code that blocks, on a thread where that does no harm.
    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send + 'static>);
}

/// Spawns on the tokio runtime that it is called in.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioSpawner;

#[expect(clippy::disallowed_methods, reason = "the one place where tasks are given to tokio")]
impl Spawner for TokioSpawner {
    fn spawn(&self, task: Task) {
        drop(tokio::spawn(task));
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send + 'static>) {
        drop(tokio::task::spawn_blocking(work));
    }
}
