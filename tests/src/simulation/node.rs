//! One node of a simulated fleet, and what can happen to it.

use tidelock::Scheduler;

use super::disturbance::Disturbance;
use super::event::What;
use super::stage::Program;
use super::way::Way;

/// One node, from its start to its end.
pub(crate) struct Node {
    /// `None` once it is told to stop.
    pub(crate) scheduler: Option<Scheduler>,
    pub(crate) way: Way,
    /// Its scheduler was dropped without a shutdown.
    pub(crate) dropped: bool,
    removed: Vec<usize>,
}

impl Node {
    pub(crate) fn new(scheduler: Scheduler, way: Way) -> Self {
        Self { scheduler: Some(scheduler), way, dropped: false, removed: Vec::new() }
    }

    /// What is done to it at once, and does not last or is no trouble of its place.
    pub(crate) fn begin(&mut self, what: Disturbance, ids: &[String], program: &Program) {
        let (life, log) = (self.way.life, &self.way.log);
        match (what, &self.scheduler) {
            (Disturbance::LostReplies { count, .. }, _) => self.way.lose_replies(count),
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

    pub(crate) fn put_back(&mut self, job: usize, program: &Program) {
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
        self.way.calm();
        while let Some(&job) = self.removed.last() {
            self.put_back(job, program);
            if self.scheduler.is_none() {
                return;
            }
        }
    }
}
