//! The log of a simulated run, written by all its parts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tidelock::{Fingerprint, JobId, LockState, Record, RunContext, RunId};
use tokio::time::Instant;

use super::event::{Ask, Event, Handler, Life, What};

/// Where everything is noted, in the order in which it happens. Clones are the same log.
#[derive(Clone, Debug)]
pub(crate) struct Log(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    began: Instant,
    events: Vec<Event>,
    lives: Vec<String>,
    /// The names that the nodes bear: two may have one.
    nodes: Vec<String>,
    /// Which node asked for a run.
    askers: HashMap<RunId, Life>,
    jobs: Vec<String>,
    job_of: BTreeMap<String, usize>,
    /// The fingerprint of each job's other schedule.
    edited: Vec<Option<Fingerprint>>,
    /// What the backend has answered first: answers that are repeated are no news.
    answered: BTreeSet<(usize, RunId, u64)>,
    /// The newest token that each job's sink has seen.
    sinks: Vec<u64>,
    terse: bool,
}

/// What happened in a run, and what the backend has of it at the end.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Trace {
    /// The true time at its start.
    pub start: Timestamp,
    /// Everything that happened, in order.
    pub events: Vec<Event>,
    /// What the nodes are called here, one for each life.
    pub lives: Vec<String>,
    /// The names that they bear: two may have one.
    pub nodes: Vec<String>,
    /// The place in the fleet of each life.
    pub seats: Vec<usize>,
    /// The ids of the jobs.
    pub jobs: Vec<String>,
    /// What the backend has of each job at the end.
    pub left: Vec<Left>,
}

/// What is left of a job at the end.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Left {
    /// Its history, newest first.
    pub records: Vec<Record>,
    /// Its mark, token, lock and open runs.
    pub state: LockState,
}

impl Log {
    pub(crate) fn new(jobs: &[String], terse: bool) -> Self {
        let job_of = jobs.iter().cloned().zip(0..).collect();
        Self(Arc::new(Mutex::new(Inner {
            began: Instant::now(),
            events: Vec::with_capacity(if terse { 64 } else { 8_192 }),
            lives: Vec::new(),
            nodes: Vec::new(),
            askers: HashMap::new(),
            jobs: jobs.to_vec(),
            job_of,
            edited: vec![None; jobs.len()],
            answered: BTreeSet::new(),
            sinks: vec![0; jobs.len()],
            terse,
        })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, what: What) {
        let mut inner = self.inner();
        if let What::Asked(ask) = what {
            inner.askers.insert(ask.run, ask.life);
        }
        let small = matches!(what, What::Asked(_) | What::Heard(..));
        if !(small && inner.terse) {
            inner.push(what);
        }
    }

    /// Notes what the backend answered, unless it has said so before.
    pub(crate) fn note_first(&self, ask: Ask, token: u64, what: What) {
        let mut inner = self.inner();
        if inner.answered.insert((ask.job, ask.run, token)) {
            inner.push(what);
        }
    }

    /// Notes that an operator has freed a lock. Without its mark a tick may be consumed again.
    pub(crate) fn forced(&self, job: usize, mark: bool, held: bool) {
        let mut inner = self.inner();
        if mark {
            inner.answered.retain(|&(of, _, token)| of != job || token != 0);
        }
        inner.push(What::Forced { job, mark, held });
    }

    /// Tells jobs with their other schedules from what they were.
    pub(crate) fn edits(&self, edited: Vec<Option<Fingerprint>>) {
        self.inner().edited = edited;
    }

    /// Whether that is the job's other schedule.
    pub(crate) fn is_edited(&self, job: usize, fingerprint: Fingerprint) -> bool {
        self.inner().edited.get(job).is_some_and(|edited| *edited == Some(fingerprint))
    }

    /// A handler writes to a sink that takes nothing under a token older than it has seen.
    pub(crate) fn writes(&self, handler: Handler) {
        let mut inner = self.inner();
        let sink = &mut inner.sinks[handler.job];
        let taken = handler.token >= *sink;
        *sink = handler.token.max(*sink);
        inner.push(What::Worked(handler, taken));
    }

    /// A node starts that is called so here, and bears that name.
    pub(crate) fn new_life(&self, called: &str, name: &str) -> Life {
        let mut inner = self.inner();
        let life = inner.lives.len();
        inner.lives.push(called.to_owned());
        inner.nodes.push(name.to_owned());
        life
    }

    pub(crate) fn job(&self, id: &JobId) -> usize {
        self.inner().job_of.get(id.as_str()).copied().unwrap_or(usize::MAX)
    }

    /// Which node asked for a run: its name may be another's, too.
    pub(crate) fn asker(&self, run: RunId) -> Life {
        self.inner().askers.get(&run).copied().unwrap_or(usize::MAX)
    }

    pub(crate) fn handler(&self, run: &RunContext) -> Handler {
        Handler {
            life: self.asker(run.run_id()),
            job: self.job(run.job()),
            run: run.run_id(),
            token: run.fencing_token().get(),
            tick: run.occurrence(),
        }
    }

    pub(crate) fn into_trace(self, start: Timestamp, seats: Vec<usize>, left: Vec<Left>) -> Trace {
        let mut inner = self.inner();
        Trace {
            start,
            events: std::mem::take(&mut inner.events),
            lives: inner.lives.clone(),
            nodes: inner.nodes.clone(),
            seats,
            jobs: inner.jobs.clone(),
            left,
        }
    }
}

impl Inner {
    fn push(&mut self, what: What) {
        let at = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.events.push(Event { at, what });
    }
}
