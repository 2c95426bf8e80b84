//! What is done to the nodes on a stage.

use std::time::Duration;

use tidelock::{ClockPolicy, Scheduler};
use tokio::time::{sleep, timeout};

use super::disturbance::Disturbance;
use super::event::What;
use super::listen::listen;
use super::node::{Node, Way};
use super::stage::{Seat, Stage};
use super::when::signed_ms;

/// How long an operator waits for the answer to a manual run.
const PATIENCE: Duration = Duration::from_secs(2);

impl Stage<'_> {
    /// Starts a node, unless there is one.
    pub(super) async fn join(&mut self, seat: usize) {
        if self.seats[seat].node.as_ref().is_some_and(|node| node.scheduler.is_some()) {
            return;
        }
        if let Some(old) = self.seats[seat].node.take() {
            self.leaving.push(old.way);
        }
        let route = self.venue.route().await;
        let Self { plan, seats, log, .. } = self;
        let number = seats[seat].lives;
        seats[seat].lives += 1;
        let called = if number == 0 { format!("n{seat}") } else { format!("n{seat}.{number}") };
        let name = plan.nodes[seat].name(seat, number);
        let life = log.new_life(&called, &name);
        self.lives.push(seat);
        let seed = (plan.seed << 20) ^ ((seat as u64) << 12) ^ number;
        let settings = &plan.nodes[seat];
        let way = Way::new((route, plan), life, log, settings.network, seed);
        way.process.blocking_takes(Duration::from_millis(plan.blocking_ms));
        let mut builder = Scheduler::builder(way.backend())
            .clock(seats[seat].clock.clone())
            .seed(seed)
            .spawner(way.process.clone());
        if settings.corrects {
            builder = builder.clock_policy(ClockPolicy::Correct);
        }
        if let Some(most) = settings.max_running {
            builder = builder.max_running(most);
        }
        let Ok(mut builder) = builder.node_id(&name) else { return };
        for job in &seats[seat].program.jobs {
            // Jobs that are no jobs were refused when the plan was cast.
            let Ok(with) = builder.job(job.clone()) else { return };
            builder = with;
        }
        log.note(What::Up(life));
        for (job, edited) in seats[seat].program.edited.iter().enumerate() {
            if *edited {
                log.note(What::Edited(life, job));
            }
        }
        if let Ok(scheduler) = builder.start().await {
            if self.listens {
                self.asking.push(listen(life, scheduler.events(), self.log.clone()));
            }
            self.seats[seat].node = Some(Node::new(scheduler, way));
        }
    }

    pub(super) fn begin(&mut self, what: Disturbance) {
        match what {
            Disturbance::Outage { silent, .. } => {
                self.nodes().for_each(|node| node.way.cut(silent));
            }
            Disturbance::Step { node, by_ms } => self.step(node, by_ms),
            Disturbance::Stop { node, deadline_ms, .. } => {
                self.stop(node, Duration::from_millis(deadline_ms));
            }
            Disturbance::Kill { node, .. } => {
                if let Some(node) = self.seats[node].node.take() {
                    node.way.kill();
                }
            }
            Disturbance::RunNow { node, job } => self.run_now(node, job),
            Disturbance::Server { member, dies, .. } => self.server_away(member, dies),
            Disturbance::Edit { node, job } => self.edit(node, job),
            _ => {
                let Some(at) = what.node() else { return };
                let Seat { node, program, .. } = &mut self.seats[at];
                if let Some(node) = node {
                    node.begin(what, self.ids, program);
                }
            }
        }
    }

    pub(super) async fn end(&mut self, what: Disturbance) {
        match what {
            Disturbance::Outage { .. } => self.nodes().for_each(|node| node.way.heal()),
            Disturbance::Server { member, .. } => self.server_back(member),
            Disturbance::Kill { node, .. } | Disturbance::Stop { node, .. } => {
                self.join(node).await;
            }
            Disturbance::Drop { node, .. } => {
                let dropped = self.seats[node].node.take_if(|node| node.dropped);
                if let Some(node) = dropped {
                    node.way.kill();
                }
                self.join(node).await;
            }
            _ => {
                let Some(at) = what.node() else { return };
                let Seat { node, program, .. } = &mut self.seats[at];
                if let Some(node) = node {
                    node.end(what, program);
                }
            }
        }
    }

    fn nodes(&mut self) -> impl Iterator<Item = &mut Node> {
        self.seats.iter_mut().filter_map(|seat| seat.node.as_mut())
    }

    pub(super) fn step(&mut self, seat: usize, by_ms: i64) {
        self.log.note(What::Stepped(seat, by_ms));
        self.seats[seat].clock.step(signed_ms(by_ms));
    }

    #[expect(clippy::disallowed_methods, reason = "an operator is no part of a node")]
    pub(super) fn stop(&mut self, seat: usize, deadline: Duration) {
        let Some(node) = &mut self.seats[seat].node else { return };
        let Some(scheduler) = node.scheduler.take() else { return };
        let (way, log) = (node.way.clone(), self.log.clone());
        self.ending.push(tokio::spawn(async move {
            log.note(What::Stopping(way.life));
            let report = scheduler.shutdown(deadline).await;
            log.note(What::Stopped {
                life: way.life,
                cancelled: report.cancelled,
                still_running: report.still_running.len(),
                unsaved: report.unsaved_records,
            });
            // The task that ends the event streams has its turn after the shutdown.
            sleep(Duration::from_millis(1)).await;
            let tasks = way.process.tasks();
            if tasks > 0 {
                log.note(What::TasksLeft(way.life, tasks));
            }
            way.kill();
        }));
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
        for way in &self.leaving {
            way.calm();
        }
        self.edit_everywhere();
        let calm = |seat: &mut Seat| {
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
