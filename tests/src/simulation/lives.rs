//! How nodes start and are shut down on a stage.

use std::time::Duration;

use tidelock::{ClockPolicy, Scheduler};
use tokio::time::{Instant, sleep};

use super::event::What;
use super::listen::Listener;
use super::node::Node;
use super::stage::{LAST_DEADLINE, Stage};
use super::way::Way;

impl Stage<'_> {
    /// Starts a node, unless there is one.
    pub(super) async fn join(&mut self, seat: usize) {
        if self.seats[seat].node.as_ref().is_some_and(|node| node.scheduler.is_some()) {
            return;
        }
        if let Some(old) = self.seats[seat].node.take() {
            self.seats[seat].leaving.push(old.way);
        }
        let route = self.venue.route().await;
        let Self { plan, seats, log, ongoing, .. } = self;
        let number = seats[seat].lives;
        seats[seat].lives += 1;
        let called = if number == 0 { format!("n{seat}") } else { format!("n{seat}.{number}") };
        let name = plan.nodes[seat].name(seat, number);
        let life = log.new_life(&called, &name);
        self.lives.push(seat);
        let seed = (plan.seed << 20) ^ ((seat as u64) << 12) ^ number;
        let settings = &plan.nodes[seat];
        let mut way = Way::new((route, plan), life, log, settings.network, seed);
        way.process.blocking_takes(Duration::from_millis(plan.blocking_ms));
        let listener = self.listens.then(|| Listener::new(&way.process, life, log));
        let builder = Scheduler::builder(way.backend()).clock(seats[seat].clock.clone()).seed(seed);
        let mut builder = match &listener {
            Some(listener) => builder.spawner(listener.clone()),
            None => builder.spawner(way.process.clone()),
        };
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
        way.meet(ongoing.trouble(seat));
        if let Ok(scheduler) = builder.start().await {
            if let Some(listener) = listener {
                listener.listen(scheduler.events());
            }
            self.seats[seat].node = Some(Node::new(scheduler, way));
        }
    }

    /// Starts a node where one is gone, unless something else keeps it from that, or none has been
    /// there yet.
    pub(super) async fn follow(&mut self, at: u64, seat: usize) {
        if at >= self.plan.nodes[seat].joins_at && !self.ongoing.keeps_empty(seat) {
            self.join(seat).await;
        }
    }

    #[expect(clippy::disallowed_methods, reason = "an operator is no part of a node")]
    pub(super) fn stop(&mut self, seat: usize, deadline: Duration) {
        let Some(node) = &mut self.seats[seat].node else { return };
        let Some(scheduler) = node.scheduler.take() else { return };
        let (way, log) = (node.way.clone(), self.log.clone());
        // When all is over, what is left of it is no longer than anybody's.
        let last = self.begun + Duration::from_millis(self.plan.end_at) + LAST_DEADLINE;
        let deadline = deadline.min(last.duration_since(Instant::now()));
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
}
