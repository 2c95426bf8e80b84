//! What one node has of its own: a process, a way to the backend, and what is wrong with either.

use std::sync::Arc;
use std::time::Duration;

use tidelock::{Backend, Combined, ErrorKind};

use super::event::{Life, What};
use super::log::Log;
use super::ongoing::Trouble;
use super::plan::{Network, Plan};
use super::real::Route;
use super::tap::Tap;
use crate::{Chaos, Fault, Faults, NodeSpawner, Op};

/// What one node has of its own: a process and a way to the backend.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) life: Life,
    pub(crate) process: NodeSpawner,
    pub(crate) log: Log,
    faults: Faults<Tap<Arc<dyn Backend>>>,
    route: Arc<dyn Route>,
    trouble: Trouble,
    /// Until when it stands still, in milliseconds since the start.
    frozen: Option<u64>,
    apart: bool,
    network: Network,
    seed: u64,
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
        let (trouble, apart, log) = (Trouble::default(), plan.store.apart, log.clone());
        let frozen = None;
        let way = Self { life, process, log, faults, route, trouble, frozen, apart, network, seed };
        way.chances(network);
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

    /// What becomes of calls by chance, and of none for sure.
    fn chances(&self, network: Network) {
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

    /// Has that trouble from now on, and no other.
    pub(crate) fn meet(&mut self, now: Trouble) {
        let before = std::mem::replace(&mut self.trouble, now);
        if before.cut != now.cut {
            self.cut(before);
        }
        if (before.slow, before.records_away) != (now.slow, now.records_away) {
            self.answers(before);
        }
    }

    fn cut(&self, before: Trouble) {
        let Some(silent) = self.trouble.cut else {
            self.log.note(What::Healed(self.life));
            self.faults.link().heal();
            self.route.open();
            // Which opens it for all that comes through it.
            self.trouble.slow.into_iter().for_each(|by| {
                self.route.slow(by);
            });
            return;
        };
        if before.cut.is_none() {
            self.log.note(What::Cut(self.life));
        }
        if self.route.cut(silent) {
            return;
        }
        if silent {
            self.faults.link().cut_silently();
        } else {
            self.faults.link().cut();
        }
    }

    fn answers(&self, before: Trouble) {
        if (before.slow, before.records_away) != (None, None) {
            self.log.note(What::AsEver(self.life));
        }
        if before.slow.is_some() && self.trouble.cut.is_none() {
            self.route.open();
        }
        self.chances(self.network);
        if let Some(by) = self.trouble.slow {
            self.slow(by);
        }
        if let Some(silent) = self.trouble.records_away {
            self.records_away(silent);
        }
    }

    /// All answers come that late.
    fn slow(&self, by: Duration) {
        self.log.note(What::Slow(self.life));
        if self.route.slow(by) {
            return;
        }
        Op::ALL.into_iter().for_each(|op| self.faults.always(op, Fault::DelayReply(by)));
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

    pub(crate) fn lose_replies(&self, count: usize) {
        self.log.note(What::LostReplies(self.life, count));
        self.route.lose_replies(count);
    }

    /// Stands still until then, or for longer if it does anyway.
    pub(crate) fn freeze(&mut self, until: u64) {
        if self.frozen.is_none() {
            self.log.note(What::Frozen(self.life));
            self.process.freeze();
        }
        self.frozen = self.frozen.max(Some(until));
    }

    /// Goes on, if it is time.
    pub(crate) fn thaw(&mut self, now: u64) {
        if self.frozen.is_some_and(|until| until <= now) {
            self.frozen = None;
            self.log.note(What::Thawed(self.life));
            self.process.thaw();
        }
    }

    pub(crate) fn kill(&self) {
        self.log.note(What::Killed(self.life));
        self.process.kill();
    }

    /// Heals all that is wrong, for good.
    pub(crate) fn calm(&mut self) {
        self.thaw(u64::MAX);
        self.meet(Trouble::default());
        self.route.open();
        self.chances(Network { latency_ms: self.network.latency_ms.min(20), ..Network::default() });
    }
}
