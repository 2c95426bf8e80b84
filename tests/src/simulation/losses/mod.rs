//! What a node may have taken with it when it died.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tidelock::{Occurrence, RunId};

use super::event::{Ask, Life, What};
use super::life::{LifeStory, lives};
use super::log::Trace;
use super::plan::Plan;

/// How long a node needs at most to store what it has to tell, when nothing is in its way.
const TO_TELL_US: u64 = 15_000_000;

/// The same where some calls are in vain.
const TO_TELL_ON_A_BAD_WAY_US: u64 = 1_800_000_000;

/// Which nodes died with what in hand.
#[derive(Debug)]
pub(super) struct Losses {
    lives: Vec<LifeStory>,
    /// The grants of each job's ticks, in order.
    grants: Vec<Vec<(u64, Ask)>>,
    released: BTreeSet<RunId>,
    /// When runs ended.
    ended: BTreeMap<RunId, u64>,
    to_tell_us: u64,
    apart: bool,
}

impl Losses {
    pub(super) fn of(trace: &Trace, plan: &Plan) -> Self {
        let mut losses = Self {
            lives: lives(trace),
            grants: vec![Vec::new(); trace.jobs.len()],
            released: BTreeSet::new(),
            ended: BTreeMap::new(),
            to_tell_us: to_tell_us(plan),
            apart: plan.store.apart,
        };
        for event in &trace.events {
            match event.what {
                What::Granted { ask, .. } if ask.tick.is_some() => {
                    losses.grants[ask.job].push((event.at, ask));
                }
                What::Released { run, .. } => {
                    losses.released.insert(run);
                }
                What::Finished { run, .. } => {
                    losses.ended.entry(run).or_insert(event.at);
                }
                _ => {}
            }
        }
        losses
    }

    /// Whether the record of a run that was started then may be lost. Its node died before it had
    /// it stored, which is done in one step with the grant and the release where the store takes
    /// records and has them in one place with locks. A run that had not ended is left open by that,
    /// and whoever is granted the next one closes it.
    pub(super) fn excuse_run(&self, at: u64, ask: Ask) -> bool {
        let life = &self.lives[ask.life];
        let Some(death) = life.killed else { return false };
        let withheld = || life.withheld().any(|(from, to)| from <= death && to >= at);
        if !(self.apart || withheld()) {
            return false;
        }
        match self.ended.get(&ask.run) {
            Some(&ended) => self.took(ask.life, ended),
            None => {
                let own = self.grants[ask.job].iter().position(|(_, it)| it.run == ask.run);
                let (named, settled) = self.named(ask.job, own.map_or(0, |own| own + 1));
                !life.ended_in_order() && (!settled || self.took_one_of(named))
            }
        }
    }

    /// The first tick of a job that nothing tells of although the mark was moved past it, and when
    /// that was.
    ///
    /// What lies before the first mark is nobody's. Who moves a mark tells of what it passed, or
    /// the next one does: unless it dies with that in hand, or there is no next one.
    pub(super) fn silent(
        &self,
        trace: &Trace,
        job: usize,
        lost: &[Timestamp],
    ) -> Option<(u64, Timestamp)> {
        let state = &trace.left[job].state;
        let of_mark = state.mark.iter().map(|mark| &mark.untold);
        let untold = of_mark.chain(state.open_runs.iter().map(|run| &run.untold));
        let kept: Vec<RunId> =
            untold.flat_map(|untold| &untold.passed).map(|passed| passed.run_id).collect();
        trace.events.iter().find_map(|event| {
            let (ask, previous, consumed) = match event.what {
                What::Granted { ask, previous, .. } => (ask, previous, false),
                What::Consumed { ask, previous, .. } => (ask, previous, true),
                _ => return None,
            };
            let through = ask.tick.filter(|_| ask.job == job)?.at();
            let passed = |tick: &Timestamp| {
                let between = previous.is_some_and(|mark| mark.at() < *tick && *tick < through);
                between || (consumed && *tick == through)
            };
            // A binary search first: there may be a year of ticks.
            let from = previous.map_or(through, Occurrence::at);
            let begin = lost.partition_point(|tick| *tick < from);
            let near = lost[begin..].iter().take_while(|tick| **tick <= through);
            let tick = near.copied().find(passed)?;
            let excused = kept.contains(&ask.run) || self.excuse_move(event.at, ask);
            (!excused).then_some((event.at, tick))
        })
    }

    /// Whether what was passed by a move of the mark may be lost: with the node that moved it, or
    /// with one to which it was named, up to the first that released its run and had it forgotten
    /// by that.
    fn excuse_move(&self, at: u64, ask: Ask) -> bool {
        let begin = self.grants[ask.job].partition_point(|(granted, _)| *granted < at);
        self.took(ask.life, at) || self.took_one_of(self.named(ask.job, begin).0)
    }

    /// The grants, from that one on, to which is named what is open, and whether the last of them has
    /// had it forgotten.
    fn named(&self, job: usize, begin: usize) -> (&[(u64, Ask)], bool) {
        let later = &self.grants[job][begin..];
        let settles = |(_, ask): &(u64, Ask)| self.released.contains(&ask.run);
        match later.iter().position(settles) {
            Some(last) => (&later[..=last], true),
            None => (later, false),
        }
    }

    fn took_one_of(&self, named: &[(u64, Ask)]) -> bool {
        named.iter().any(|&(at, ask)| self.took(ask.life, at))
    }

    /// Whether a node may have died before it had told what it had to tell from a moment on.
    fn took(&self, life: Life, from: u64) -> bool {
        let life = &self.lives[life];
        let mut told = from.saturating_add(self.to_tell_us);
        for (begin, end) in life.troubles() {
            let since = told.saturating_sub(self.to_tell_us);
            if begin < told && end > since {
                told = end.saturating_add(self.to_tell_us);
            }
        }
        !life.ended_in_order() && life.killed.is_some_and(|death| death < told)
    }
}

/// How long a node needs at most to store what it has to tell, when it is not in trouble.
fn to_tell_us(plan: &Plan) -> u64 {
    let of = |node: &super::plan::NodePlan| {
        let (latency, lose) = (node.network.latency_ms, node.network.lose_request);
        match (latency, lose) {
            (..=500, 0) => TO_TELL_US,
            // A call is given up after two seconds: half of them, or half of half, come through.
            (..=4_000, ..=300) => TO_TELL_ON_A_BAD_WAY_US,
            _ => u64::MAX,
        }
    };
    plan.nodes.iter().map(of).max().unwrap_or(TO_TELL_US)
}

#[cfg(test)]
mod tests;
