//! Where a plan is played: the true time, the backend, and the nodes.

use std::time::Duration;

use tidelock::{Clock, ClockPolicy, Job, JobId, LockBackend, LockKey, Scheduler, TestClock};
use tidelock_memory::MemoryBackend;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::action::{Action, actions};
use super::disturbance::Disturbance;
use super::event::What;
use super::listen::listen;
use super::log::{Left, Log, Trace};
use super::node::{Node, Way};
use super::plan::Plan;
use super::when::signed_ms;

/// How long the last shutdown may take.
const LAST_DEADLINE: Duration = Duration::from_secs(120);

/// How long an operator waits for the answer to a manual run.
const PATIENCE: Duration = Duration::from_secs(2);

/// One run of a fleet.
pub(crate) struct Stage<'a> {
    plan: &'a Plan,
    jobs: &'a [Job],
    pub(super) ids: &'a [String],
    pub(super) log: Log,
    begun: Instant,
    clock: TestClock,
    pub(super) backend: MemoryBackend,
    seats: Vec<Seat>,
    /// The place of each life.
    lives: Vec<usize>,
    /// Nodes whose successors have started already.
    leaving: Vec<Way>,
    ending: Vec<JoinHandle<()>>,
    /// Manual runs that are waited for.
    asking: Vec<JoinHandle<()>>,
    /// Whether the nodes are listened to, for handlers that note nothing themselves.
    listens: bool,
}

struct Seat {
    clock: TestClock,
    node: Option<Node>,
    lives: u64,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(plan: &'a Plan, jobs: &'a [Job], ids: &'a [String], log: Log) -> Self {
        let clock = TestClock::new(plan.start);
        let seat = |node: &super::plan::NodePlan| Seat {
            clock: clock.drifting(node.drift_ppm).skewed(signed_ms(node.offset_ms)),
            node: None,
            lives: 0,
        };
        Self {
            plan,
            jobs,
            ids,
            log,
            begun: Instant::now(),
            seats: plan.nodes.iter().map(seat).collect(),
            backend: MemoryBackend::new()
                .keep(usize::MAX)
                .max_age(Duration::MAX)
                .with_clock(clock.clone()),
            clock,
            lives: Vec::new(),
            leaving: Vec::new(),
            ending: Vec::new(),
            asking: Vec::new(),
            listens: false,
        }
    }

    /// The same, with what the nodes tell of their runs in the log.
    pub(crate) fn listening(self) -> Self {
        Self { listens: true, ..self }
    }

    /// Plays the plan to its end.
    pub(crate) async fn play(mut self) -> Trace {
        for (at, action) in actions(self.plan) {
            sleep_until(self.begun + Duration::from_millis(at)).await;
            self.act(action).await;
        }
        sleep_until(self.begun + Duration::from_millis(self.plan.end_at)).await;
        for seat in 0..self.seats.len() {
            self.stop(seat, LAST_DEADLINE);
        }
        for task in std::mem::take(&mut self.ending) {
            // A panic in it is one of the simulator's own.
            let _ = task.await;
        }
        for task in &self.asking {
            task.abort();
        }
        // Locks of nodes that have died go by themselves.
        let longest = self.plan.jobs.iter().map(super::plan::JobPlan::lock_ttl_ms).max();
        sleep(Duration::from_millis(longest.unwrap_or(30_000) + 1_000)).await;
        let left = self.left().await;
        self.log.into_trace(self.plan.start, self.lives, left)
    }

    /// What the backend has of each job.
    async fn left(&self) -> Vec<Left> {
        let reader = Scheduler::builder(self.backend.clone()).clock(self.clock.clone()).seed(0);
        let Ok(reader) = reader.start().await else {
            return Vec::new();
        };
        let mut left = Vec::new();
        for id in self.ids {
            let records = reader.history(id, usize::MAX).await.unwrap_or_default();
            let state = match JobId::new(id) {
                Ok(id) => self.backend.inspect(&LockKey::of(&id)).await.ok(),
                Err(_) => None,
            };
            left.push(Left {
                records,
                state: state.map(|answer| answer.value).unwrap_or_default(),
            });
        }
        left
    }

    async fn act(&mut self, action: Action) {
        match action {
            Action::Join(seat) => self.join(seat).await,
            Action::Begin(what) => self.begin(what),
            Action::End(what) => self.end(what).await,
            Action::SetClocksRight => {
                let now = self.clock.now();
                for seat in 0..self.seats.len() {
                    let off = now.duration_since(self.seats[seat].clock.now()).as_millis();
                    let off = i64::try_from(off).unwrap_or(0);
                    if off.abs() > 400 {
                        self.step(seat, off);
                    }
                }
            }
            Action::Calm => self.calm().await,
        }
    }

    /// Starts a node, unless there is one.
    async fn join(&mut self, seat: usize) {
        if self.seats[seat].node.as_ref().is_some_and(|node| node.scheduler.is_some()) {
            return;
        }
        if let Some(old) = self.seats[seat].node.take() {
            self.leaving.push(old.way);
        }
        let Self { plan, seats, log, .. } = self;
        let number = seats[seat].lives;
        seats[seat].lives += 1;
        let name = if number == 0 { format!("n{seat}") } else { format!("n{seat}.{number}") };
        let life = log.new_life(&name);
        self.lives.push(seat);
        let seed = (plan.seed << 20) ^ ((seat as u64) << 12) ^ number;
        let settings = &plan.nodes[seat];
        let way = Way::new(self.backend.clone(), life, log, settings.network, seed);
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
        for job in self.jobs {
            // Jobs that are no jobs were refused when the plan was cast.
            let Ok(with) = builder.job(job.clone()) else { return };
            builder = with;
        }
        log.note(What::Up(life));
        if let Ok(scheduler) = builder.start().await {
            if self.listens {
                self.asking.push(listen(life, scheduler.events(), self.log.clone()));
            }
            self.seats[seat].node = Some(Node::new(scheduler, way));
        }
    }

    fn begin(&mut self, what: Disturbance) {
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
            _ => {
                let jobs = self.jobs;
                let Some(at) = what.node() else { return };
                if let Some(node) = &mut self.seats[at].node {
                    node.begin(what, self.ids, jobs);
                }
            }
        }
    }

    async fn end(&mut self, what: Disturbance) {
        match what {
            Disturbance::Outage { .. } => self.nodes().for_each(|node| node.way.heal()),
            Disturbance::Kill { node, .. } | Disturbance::Stop { node, .. } => {
                self.join(node).await;
            }
            Disturbance::Drop { node, .. } => {
                let dropped = self.seats[node].node.take_if(|node| node.scheduler.is_none());
                if let Some(node) = dropped {
                    node.way.kill();
                }
                self.join(node).await;
            }
            _ => {
                let jobs = self.jobs;
                let Some(at) = what.node() else { return };
                if let Some(node) = &mut self.seats[at].node {
                    node.end(what, jobs);
                }
            }
        }
    }

    fn nodes(&mut self) -> impl Iterator<Item = &mut Node> {
        self.seats.iter_mut().filter_map(|seat| seat.node.as_mut())
    }

    fn step(&mut self, seat: usize, by_ms: i64) {
        self.log.note(What::Stepped(seat, by_ms));
        self.seats[seat].clock.step(signed_ms(by_ms));
    }

    #[expect(clippy::disallowed_methods, reason = "an operator is no part of a node")]
    fn stop(&mut self, seat: usize, deadline: Duration) {
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

    async fn calm(&mut self) {
        for way in &self.leaving {
            way.calm();
        }
        let jobs = self.jobs;
        self.nodes().for_each(|node| node.calm(jobs));
        for seat in 0..self.seats.len() {
            self.join(seat).await;
            if let Some(node) = &mut self.seats[seat].node {
                node.calm(jobs);
            }
        }
        self.log.note(What::Calm);
    }
}
