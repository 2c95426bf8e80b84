//! Where a plan is played: the true time, the backend, and the nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tidelock::{Clear, Clock, Job, JobId, LockBackend, LockKey, Release, TestClock};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::action::{Action, actions};
use super::disturbance::Disturbance;
use super::log::{Log, Trace};
use super::node::Node;
use super::ongoing::Ongoing;
use super::plan::Plan;
use super::real::Venue;
use super::store::Store;
use super::way::Way;
use super::when::signed_ms;

/// How long runs may go on when all is over.
pub(super) const LAST_DEADLINE: Duration = Duration::from_secs(120);

/// One run of a fleet.
pub(crate) struct Stage<'a> {
    pub(super) plan: &'a Plan,
    /// The jobs with their other schedules, where they have one.
    others: Vec<Option<Job>>,
    /// Those that have it somewhere.
    edited: BTreeSet<usize>,
    pub(super) ids: &'a [String],
    pub(super) log: Log,
    pub(super) begun: Instant,
    pub(super) clock: TestClock,
    pub(super) venue: Arc<dyn Venue>,
    pub(super) seats: Vec<Seat>,
    /// The place of each life.
    pub(super) lives: Vec<usize>,
    pub(super) ongoing: Ongoing,
    pub(super) ending: Vec<JoinHandle<()>>,
    /// Manual runs that are waited for.
    pub(super) asking: Vec<JoinHandle<()>>,
    /// Servers that are away, and whether they were killed.
    pub(super) away: BTreeMap<usize, bool>,
    /// What is being done to servers: one thing after the other.
    pub(super) serving: Option<JoinHandle<()>>,
    /// Whether the nodes are listened to, for handlers that note nothing themselves.
    pub(super) listens: bool,
}

pub(super) struct Seat {
    pub(super) program: Program,
    pub(super) clock: TestClock,
    pub(super) node: Option<Node>,
    /// Nodes whose successors have started already.
    pub(super) leaving: Vec<Way>,
    pub(super) lives: u64,
}

impl Seat {
    pub(super) fn ways(&mut self) -> impl Iterator<Item = &mut Way> {
        self.leaving.iter_mut().chain(self.node.as_mut().map(|node| &mut node.way))
    }
}

/// The jobs as one place in the fleet has them.
#[derive(Clone)]
pub(crate) struct Program {
    pub(super) jobs: Vec<Job>,
    /// Which of them have their other schedule.
    pub(super) edited: Vec<bool>,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(plan: &'a Plan, jobs: &'a [Job], ids: &'a [String], log: Log) -> Self {
        let clock = TestClock::new(plan.start);
        let program = Program { jobs: jobs.to_vec(), edited: vec![false; jobs.len()] };
        let seat = |node: &super::plan::NodePlan| Seat {
            program: program.clone(),
            clock: clock.drifting(node.drift_ppm).skewed(signed_ms(node.offset_ms)),
            node: None,
            leaving: Vec::new(),
            lives: 0,
        };
        Self {
            plan,
            others: vec![None; jobs.len()],
            edited: BTreeSet::new(),
            ids,
            log,
            begun: Instant::now(),
            seats: plan.nodes.iter().map(seat).collect(),
            venue: Arc::new(Store::new(plan.store, &clock)),
            clock,
            lives: Vec::new(),
            ongoing: Ongoing::default(),
            ending: Vec::new(),
            asking: Vec::new(),
            away: BTreeMap::new(),
            serving: None,
            listens: false,
        }
    }

    /// The same, with what the nodes tell of their runs in the log.
    pub(crate) fn listening(self) -> Self {
        Self { listens: true, ..self }
    }

    /// The same, elsewhere.
    pub(crate) fn at(self, venue: Arc<dyn Venue>) -> Self {
        Self { venue, ..self }
    }

    /// The same, with the other schedules that jobs may get.
    pub(crate) fn with_others(self, others: Vec<Option<Job>>) -> Self {
        Self { others, ..self }
    }

    /// Gives a job its other schedule in one place.
    pub(super) fn edit(&mut self, seat: usize, job: usize) {
        let Some(Some(other)) = self.others.get(job) else { return };
        self.edited.insert(job);
        let Seat { program, node, .. } = &mut self.seats[seat];
        if std::mem::replace(&mut program.edited[job], true) {
            return;
        }
        program.jobs[job] = other.clone();
        if let Some(node) = node {
            node.edit(job, program);
        }
    }

    /// What some places have, all have in the end.
    pub(super) fn edit_everywhere(&mut self) {
        for job in self.edited.clone() {
            (0..self.seats.len()).for_each(|seat| self.edit(seat, job));
        }
    }

    /// Frees a lock as an operator does.
    async fn force(&self, job: usize, mark: bool) {
        let Ok(id) = JobId::new(&self.ids[job]) else { return };
        let clear = if mark { Clear::LockAndMark } else { Clear::Lock };
        let freed = self.venue.reader().force_release(&LockKey::of(&id), clear).await;
        let held = freed.is_ok_and(|answer| answer.value == Release::Released);
        self.log.forced(job, mark, held);
    }

    /// Plays the plan to its end.
    pub(crate) async fn play(mut self) -> Trace {
        for (at, action) in actions(self.plan) {
            sleep_until(self.begun + Duration::from_millis(at)).await;
            self.act(at, action).await;
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
        self.outlast_locks().await;
        let left = self.left().await;
        self.log.into_trace(self.plan.start, self.lives, left)
    }

    async fn act(&mut self, at: u64, action: Action) {
        match action {
            Action::Join(seat) if self.ongoing.keeps_empty(seat) => {}
            Action::Join(seat) => self.join(seat).await,
            Action::Begin(Disturbance::Force { job, mark }) => self.force(job, mark).await,
            Action::Begin(what) => self.begin(at, what),
            Action::End(what) => self.end(at, what).await,
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
}
