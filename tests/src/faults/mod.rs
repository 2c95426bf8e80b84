//! A backend behind a network that fails as a test wants it.

mod chaos;
mod fault;
mod op;
mod plan;
mod through;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidelock::JobId;

pub use chaos::Chaos;
pub use fault::Fault;
pub use op::Op;
pub use plan::Call;

use crate::Link;
use plan::{Plan, Rule};

/// One node's way to a backend, with faults, a switch that cuts it off, and a count of the calls.
///
/// Give each node one of its own, over the same backend; clones share faults, link and counts. It
/// wraps whole backends and either half of one.
///
/// ```
/// use tidelock::{JobId, Record, RecordQuery, RecordStore};
/// use tidelock_memory::MemoryBackend;
/// use tidelock_tests::{Fault, Faults, Op};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let faults = Faults::new(MemoryBackend::new());
/// let query = RecordQuery::newest(JobId::new("settlement").unwrap(), 10);
///
/// faults.next(Op::List, Fault::LoseReply);
/// assert!(faults.list(&query).await.unwrap_err().is_retryable());
/// assert!(faults.list(&query).await.is_ok());
///
/// faults.link().cut();
/// assert!(faults.list(&query).await.is_err());
/// assert_eq!(faults.count(Op::List), 3);
/// # }
/// ```
#[derive(Debug)]
pub struct Faults<B> {
    inner: Arc<B>,
    plan: Arc<Mutex<Plan>>,
    link: Link,
}

impl<B> Clone for Faults<B> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            plan: Arc::clone(&self.plan),
            link: self.link.clone(),
        }
    }
}

impl<B> Faults<B> {
    /// A way to `backend` that works.
    pub fn new(backend: B) -> Self {
        Self { inner: Arc::new(backend), plan: Arc::default(), link: Link::new() }
    }

    /// The next call of `op` meets `fault`. Said twice, the next two calls do, in that order.
    pub fn next(&self, op: Op, fault: Fault) {
        self.rule(op, None, fault, true);
    }

    /// The next call of `op` for `job` meets `fault`.
    pub fn next_of(&self, job: &JobId, op: Op, fault: Fault) {
        self.rule(op, Some(job.clone()), fault, true);
    }

    /// Every call of `op` meets `fault`, until [`clear`](Self::clear). The one set last counts.
    pub fn always(&self, op: Op, fault: Fault) {
        self.rule(op, None, fault, false);
    }

    /// Every call of `op` for `job` meets `fault`.
    pub fn always_of(&self, job: &JobId, op: Op, fault: Fault) {
        self.rule(op, Some(job.clone()), fault, false);
    }

    /// Every call of any operation meets `fault`.
    pub fn everything(&self, fault: Fault) {
        for op in Op::ALL {
            self.always(op, fault);
        }
    }

    /// Calls that no rule is for meet faults by chance.
    pub fn random(&self, chaos: Chaos) {
        self.plan().chaos = Some(chaos);
    }

    /// Forgets all faults, those by chance too. The link stays as it is.
    pub fn clear(&self) {
        let mut plan = self.plan();
        plan.rules.clear();
        plan.chaos = None;
    }

    /// The switch that cuts this node off.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// How many calls of `op` were made, whatever became of them.
    pub fn count(&self, op: Op) -> u64 {
        self.plan().count(op)
    }

    /// Keeps a log of the calls from now on (without it they are only counted).
    #[must_use]
    pub fn logged(self) -> Self {
        self.plan().log = Some(Vec::new());
        self
    }

    /// The calls since [`logged`](Self::logged) or since they were last taken.
    pub fn take_log(&self) -> Vec<Call> {
        let mut plan = self.plan();
        plan.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn rule(&self, op: Op, job: Option<JobId>, fault: Fault, once: bool) {
        self.plan().rules.push(Rule { op, job, fault, once });
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
