//! Plans for real time in simulated time: what the oracle makes of them is tried here first.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tidelock::{Backend, Clock};
use tidelock_memory::MemoryBackend;

use super::infer::infer;
use super::venue::{Route, Venue};
use crate::simulation::handler;
use crate::simulation::log::{Log, Trace};
use crate::simulation::plan::Plan;
use crate::simulation::play::in_paused_time;
use crate::simulation::stage::Stage;
use crate::{Fault, Faults, Op};

/// Plays a plan for real time in simulated time, over a memory backend of which no more is known
/// than of a real server: what nodes heard, and what is left. The same plan gives the same trace.
///
/// # Panics
///
/// When called within a tokio runtime, or when a job of the plan is none.
#[must_use]
pub fn rehearse(plan: &Plan) -> Trace {
    let ids = plan.ids();
    in_paused_time(async {
        let log = Log::new(&ids, false);
        let jobs = handler::jobs(plan, &log);
        let stage = Stage::new(plan, &jobs, &ids, log);
        let venue = Wired::new(stage.clock.clone());
        let mut trace = stage.at(Arc::new(venue)).play().await;
        infer(&mut trace);
        trace
    })
}

/// A memory backend behind a network.
#[derive(Debug)]
struct Wired {
    memory: MemoryBackend,
    /// As the server behaves to all.
    server: Faults<MemoryBackend>,
}

impl Wired {
    fn new(clock: impl Clock) -> Self {
        let memory = MemoryBackend::new().keep(usize::MAX).max_age(Duration::MAX).with_clock(clock);
        Self { server: Faults::new(memory.clone()), memory }
    }
}

#[async_trait]
impl Venue for Wired {
    async fn route(&self) -> Arc<dyn Route> {
        Arc::new(Wire(Faults::new(self.server.clone())))
    }

    fn reader(&self) -> Arc<dyn Backend> {
        Arc::new(self.memory.clone())
    }

    fn stop(&self, _member: usize, dies: bool) {
        if dies {
            self.server.link().cut();
        } else {
            self.server.link().cut_silently();
        }
    }

    fn go_on(&self, _member: usize, _died: bool) {
        self.server.link().heal();
    }
}

/// One node's wire.
#[derive(Debug)]
struct Wire(Faults<Faults<MemoryBackend>>);

impl Route for Wire {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::new(self.0.clone())
    }

    fn cut(&self, silent: bool) -> bool {
        if silent {
            self.0.link().cut_silently();
        } else {
            self.0.link().cut();
        }
        true
    }

    fn slow(&self, by: Duration) -> bool {
        self.0.everything(Fault::DelayReply(by));
        true
    }

    fn lose_replies(&self, count: usize) {
        for op in [Op::Begin, Op::Finish, Op::Renew] {
            (0..count).for_each(|_| self.0.next(op, Fault::LoseReply));
        }
    }

    fn open(&self) {
        self.0.clear();
        self.0.link().heal();
    }
}
