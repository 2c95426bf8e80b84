//! Running one case.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tidelock::{Backend, Combined};

use super::{Bench, Factory, Limits};

/// The way that a case goes to the backend. In both, runs begin by `begin` and end by `finish`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Through the backend's own `begin` and `finish`.
    Native,
    /// Through those of [`Combined`] over its two halves, which call its `acquire`, `release` and
    /// `save`.
    Combined,
}

/// What a case gets: it opens the backends that it needs.
#[derive(Clone)]
pub struct Suite {
    factory: Arc<dyn Factory>,
    pass: Pass,
}

impl Suite {
    /// A fresh backend.
    pub async fn fresh(&self) -> Bench {
        self.limited(Limits::default()).await
    }

    /// A fresh backend that keeps no more than that.
    pub async fn limited(&self, limits: Limits) -> Bench {
        let fresh = self.factory.fresh(limits).await;
        let backend: Arc<dyn Backend> = match (self.pass, &fresh.native) {
            (Pass::Native, Some(native)) => Arc::clone(native),
            (Pass::Native, None) => {
                panic!("the factory gives no native backend: say `conformance!(combined: ...)`")
            }
            (Pass::Combined, _) => {
                Arc::new(Combined::new(Arc::clone(&fresh.locks), Arc::clone(&fresh.records)))
            }
        };
        Bench::new(backend, fresh, self.ttl(), self.factory.slack()).await
    }

    /// A TTL that a case can wait for, long enough to tell a late expiry from none.
    pub fn ttl(&self) -> Duration {
        self.factory.shortest_ttl().max(self.factory.slack() * 3)
    }

    /// Waits until what lives for [`ttl`](Self::ttl) has surely expired.
    pub async fn expire(&self) {
        tokio::time::sleep(self.ttl() + self.factory.slack()).await;
    }
}

impl fmt::Debug for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Suite").field("pass", &self.pass).finish_non_exhaustive()
    }
}

/// Longer than any case takes.
const BOUND: Duration = Duration::from_secs(300);

/// Runs one case in a runtime of its own.
///
/// # Panics
///
/// When the case fails.
pub fn check<C, F>(factory: impl Factory, pass: Pass, case: C)
where
    C: FnOnce(Suite) -> F,
    F: Future<Output = ()> + 'static,
{
    let suite = Suite { pass, factory: Arc::new(factory) };
    let paused = suite.factory.in_paused_time();
    run(paused, Box::pin(case(suite)));
}

/// The same for all cases, so that it is compiled once.
fn run(paused: bool, case: Pin<Box<dyn Future<Output = ()>>>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(paused)
        .build()
        .expect("a runtime");
    let ended = runtime.block_on(async { tokio::time::timeout(BOUND, case).await });
    assert!(ended.is_ok(), "the case took longer than {BOUND:?}");
}
