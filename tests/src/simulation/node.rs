//! One node of a simulated fleet, and what can happen to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidelock::{Backend, Combined, ErrorKind, Scheduler};

use super::disturbance::Disturbance;
use super::event::{Life, What};
use super::log::Log;
use super::plan::{Network, Plan};
use super::real::Route;
use super::stage::Program;
use super::tap::Tap;
use crate::{Chaos, Fault, Faults, NodeSpawner, Op};

/// What one node has of its own: a process and a way to the backend.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) life: Life,
    pub(crate) process: NodeSpawner,
    faults: Faults<Tap<Arc<dyn Backend>>>,
    route: Arc<dyn Route>,
    cut: Arc<AtomicBool>,
    apart: bool,
    network: Network,
    seed: u64,
    log: Log,
}

impl Way {
    pub(crate) fn new(
        (route, plan): (Arc<dyn Route>, &Plan),
        life: Life,
        log: &Log,
        network: Network,
        seed: u64,
    ) -> Self {
        let tap = Tap::at_store(route.backend(), life, log.clone());
        let faults = Faults::new(tap.learning(plan.real.is_some()));
        let process = NodeSpawner::new().linked(faults.link());
        let (cut, apart, log) = (Arc::default(), plan.store.apart, log.clone());
        let way = Self { life, process, faults, route, cut, apart, network, seed, log };
        way.meets(network);
        way
    }

    /// The backend as the node sees it.
    pub(crate) fn backend(&self) -> Arc<dyn Backend> {
        let (life, log, way) = (self.life, self.log.clone(), self.faults.clone());
        if self.apart {
            Arc::new(Tap::at_node(Combined::new(way.clone(), way), life, log))
        } else {
            Arc::new(Tap::at_node(way, life, log))
        }
    }

    fn meets(&self, network: Network) {
        self.faults.clear();
        let chance = |per_mille: u16| f64::from(per_mille) / 1_000.0;
        if network == Network::default() {
            return;
        }
        let chaos = Chaos::seeded(self.seed)
            .fail(chance(network.fail))
            .lose_request(chance(network.lose_request))
            .lose_reply(chance(network.lose_reply))
            .arrive_late(chance(network.late), Duration::from_millis(network.late_ms))
            .delay_reply(chance(network.slow_reply), Duration::from_millis(network.slow_ms));
        let latency = Duration::from_millis(network.latency_ms);
        self.faults.random(chaos.delay(if latency.is_zero() { 0.0 } else { 1.0 }, latency));
    }

    pub(crate) fn cut(&self, silent: bool) {
        self.log.note(What::Cut(self.life));
        self.cut.store(true, Ordering::Relaxed);
        if self.route.cut(silent) {
            return;
        }
        if silent {
            self.faults.link().cut_silently();
        } else {
            self.faults.link().cut();
        }
    }

    pub(crate) fn heal(&self) {
        if self.cut.swap(false, Ordering::Relaxed) {
            self.log.note(What::Healed(self.life));
            self.route.open();
            self.faults.link().heal();
        }
    }

    pub(crate) fn kill(&self) {
        self.log.note(What::Killed(self.life));
        self.process.kill();
    }

    /// All answers come that late.
    fn slow(&self, by: Duration) {
        self.log.note(What::Slow(self.life));
        if self.route.slow(by) {
            return;
        }
        Op::ALL.into_iter().for_each(|op| self.faults.always(op, Fault::DelayReply(by)));
    }

    fn lose_replies(&self, count: usize) {
        self.log.note(What::LostReplies(self.life, count));
        self.route.lose_replies(count);
    }

    fn records_away(&self, silent: bool) {
        self.log.note(What::RecordsAway(self.life));
        for op in [Op::Begin, Op::Finish, Op::Save] {
            self.faults.always(op, Fault::RefuseRecord);
        }
        self.faults.always(Op::List, Fault::Fail(ErrorKind::Unavailable));
        if silent {
            [Op::Save, Op::List].into_iter().for_each(|op| self.faults.always(op, Fault::Hang));
        }
    }

    fn as_ever(&self) {
        self.log.note(What::AsEver(self.life));
        if !self.cut.load(Ordering::Relaxed) {
            self.route.open();
        }
        self.meets(self.network);
    }

    /// Heals all that is wrong.
    pub(crate) fn calm(&self) {
        self.heal();
        self.process.thaw();
        self.route.open();
        self.meets(Network { latency_ms: self.network.latency_ms.min(20), ..Network::default() });
    }
}

/// One node, from its start to its end.
pub(crate) struct Node {
    /// `None` once it is told to stop.
    pub(crate) scheduler: Option<Scheduler>,
    pub(crate) way: Way,
    /// Its scheduler was dropped without a shutdown.
    pub(crate) dropped: bool,
    frozen: bool,
    removed: Vec<usize>,
}

impl Node {
    pub(crate) fn new(scheduler: Scheduler, way: Way) -> Self {
        Self { scheduler: Some(scheduler), way, dropped: false, frozen: false, removed: Vec::new() }
    }

    pub(crate) fn begin(&mut self, what: Disturbance, ids: &[String], program: &Program) {
        let (life, log) = (self.way.life, self.way.log.clone());
        match (what, &self.scheduler) {
            (Disturbance::Cut { silent, .. }, _) => self.way.cut(silent),
            (Disturbance::Slow { by_ms, .. }, _) => self.way.slow(Duration::from_millis(by_ms)),
            (Disturbance::LostReplies { count, .. }, _) => self.way.lose_replies(count),
            (Disturbance::RecordsAway { silent, .. }, _) => self.way.records_away(silent),
            (Disturbance::Freeze { .. }, _) if !self.frozen => {
                self.frozen = true;
                log.note(What::Frozen(life));
                self.way.process.freeze();
            }
            (Disturbance::Drop { .. }, Some(_)) => {
                log.note(What::Dropped(life));
                (self.scheduler, self.dropped) = (None, true);
            }
            (Disturbance::Remove { job, .. }, Some(scheduler)) if scheduler.remove(&ids[job]) => {
                log.note(What::Removed(life, job));
                self.removed.push(job);
            }
            (Disturbance::Replace { job, .. }, Some(scheduler))
                if !self.removed.contains(&job)
                    && scheduler.replace(program.jobs[job].clone()).is_ok() =>
            {
                log.note(What::Replaced(life, job));
            }
            _ => {}
        }
    }

    pub(crate) fn end(&mut self, what: Disturbance, program: &Program) {
        match what {
            Disturbance::Cut { .. } => self.way.heal(),
            Disturbance::Slow { .. } | Disturbance::RecordsAway { .. } => self.way.as_ever(),
            Disturbance::Freeze { .. } => self.thaw(),
            Disturbance::Remove { job, .. } => self.put_back(job, program),
            _ => {}
        }
    }

    fn thaw(&mut self) {
        if std::mem::take(&mut self.frozen) {
            self.way.log.note(What::Thawed(self.way.life));
            self.way.process.thaw();
        }
    }

    fn put_back(&mut self, job: usize, program: &Program) {
        let Some(scheduler) = &self.scheduler else { return };
        let Some(at) = self.removed.iter().position(|removed| *removed == job) else { return };
        self.removed.swap_remove(at);
        if scheduler.add(program.jobs[job].clone()).is_ok() {
            self.way.log.note(What::Added(self.way.life, job));
            if program.edited[job] {
                self.way.log.note(What::Edited(self.way.life, job));
            }
        }
    }

    /// A job has its other schedule from now on.
    pub(crate) fn edit(&mut self, job: usize, program: &Program) {
        let Some(scheduler) = &self.scheduler else { return };
        let replaced =
            !self.removed.contains(&job) && scheduler.replace(program.jobs[job].clone()).is_ok();
        if replaced {
            self.way.log.note(What::Edited(self.way.life, job));
        }
    }

    /// Heals all that is wrong.
    pub(crate) fn calm(&mut self, program: &Program) {
        self.thaw();
        self.way.calm();
        while let Some(&job) = self.removed.last() {
            self.put_back(job, program);
            if self.scheduler.is_none() {
                return;
            }
        }
    }
}
