//! What is done to the nodes on a stage.

use std::time::Duration;

use tokio::time::timeout;

use super::disturbance::Disturbance;
use super::event::What;
use super::stage::{Seat, Stage};
use super::way::Way;
use super::when::signed_ms;

/// How long an operator waits for the answer to a manual run.
const PATIENCE: Duration = Duration::from_secs(2);

impl Stage<'_> {
    pub(super) fn begin(&mut self, at: u64, what: Disturbance) {
        self.ongoing.begin(at, what);
        match what {
            Disturbance::Step { node, by_ms } => self.step(node, by_ms),
            Disturbance::Stop { node, deadline_ms, .. } => {
                self.stop(node, Duration::from_millis(deadline_ms));
            }
            Disturbance::Kill { node, .. } => {
                if let Some(node) = self.seats[node].node.take() {
                    node.way.kill();
                }
            }
            // A process, not its place: another one that is started there goes on.
            Disturbance::Freeze { node, for_ms } => {
                if let Some(node) = &mut self.seats[node].node {
                    node.way.freeze(at.saturating_add(for_ms));
                }
            }
            Disturbance::RunNow { node, job } => self.run_now(node, job),
            Disturbance::Server { member, dies, .. } => self.server_away(member, dies),
            Disturbance::Edit { node, job } => self.edit(node, job),
            Disturbance::LostReplies { node, .. }
            | Disturbance::Drop { node, .. }
            | Disturbance::Remove { node, .. }
            | Disturbance::Replace { node, .. } => {
                let Seat { node, program, .. } = &mut self.seats[node];
                if let Some(node) = node {
                    node.begin(what, self.ids, program);
                }
            }
            _ => self.meet(what),
        }
    }

    pub(super) async fn end(&mut self, at: u64, what: Disturbance) {
        self.ongoing.end(at);
        match what {
            Disturbance::Server { member, .. } => self.server_back(member),
            Disturbance::Freeze { node, .. } => {
                self.seats[node].ways().for_each(|way| way.thaw(at));
            }
            Disturbance::Kill { node, .. } | Disturbance::Stop { node, .. } => {
                self.follow(at, node).await;
            }
            Disturbance::Drop { node, .. } => {
                let dropped = self.seats[node].node.take_if(|node| node.dropped);
                if let Some(node) = dropped {
                    node.way.kill();
                }
                self.follow(at, node).await;
            }
            Disturbance::Remove { node: seat, job, .. } => {
                let Seat { node, program, .. } = &mut self.seats[seat];
                if let Some(node) = node.as_mut().filter(|_| !self.ongoing.keeps_out(seat, job)) {
                    node.put_back(job, program);
                }
            }
            _ => self.meet(what),
        }
    }

    /// Has the nodes in a place, or in all, meet what is wrong there now.
    fn meet(&mut self, what: Disturbance) {
        for (at, seat) in self.seats.iter_mut().enumerate() {
            if what.node().is_some_and(|node| node != at) {
                continue;
            }
            let trouble = self.ongoing.trouble(at);
            seat.leaving.retain(|way| way.process.tasks() > 0);
            seat.ways().for_each(|way| way.meet(trouble));
        }
    }

    pub(super) fn step(&mut self, seat: usize, by_ms: i64) {
        self.log.note(What::Stepped(seat, by_ms));
        self.seats[seat].clock.step(signed_ms(by_ms));
    }

    #[expect(clippy::disallowed_methods, reason = "an operator is no part of a node")]
    fn run_now(&mut self, seat: usize, job: usize) {
        let Some(node) = &self.seats[seat].node else { return };
        let Some(scheduler) = &node.scheduler else { return };
        self.log.note(What::RunNow(node.way.life, job));
        let (control, id) = (scheduler.control(), self.ids[job].clone());
        self.asking.push(tokio::spawn(async move {
            // Given up after a while, granted or not.
            let _ = timeout(PATIENCE, control.run_now(&id)).await;
        }));
    }

    pub(super) async fn calm(&mut self) {
        self.servers_back().await;
        self.ongoing.end_all();
        self.edit_everywhere();
        let calm = |seat: &mut Seat| {
            seat.leaving.iter_mut().for_each(Way::calm);
            if let Some(node) = &mut seat.node {
                node.calm(&seat.program);
            }
        };
        self.seats.iter_mut().for_each(calm);
        for seat in 0..self.seats.len() {
            self.join(seat).await;
            calm(&mut self.seats[seat]);
        }
        self.log.note(What::Calm);
    }
}
