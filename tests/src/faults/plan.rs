//! Which call meets which fault, and which calls there were.

use tidelock::JobId;
use tokio::time::Instant;

use super::{Chaos, Fault, Op};

/// A call that was made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// What was asked.
    pub op: Op,
    /// For which job.
    pub job: JobId,
    /// When.
    pub at: Instant,
    /// What went wrong on purpose.
    pub fault: Option<Fault>,
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) op: Op,
    /// `None`: any.
    pub(super) job: Option<JobId>,
    pub(super) fault: Fault,
    pub(super) once: bool,
}

#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) rules: Vec<Rule>,
    pub(super) chaos: Option<Chaos>,
    counts: [u64; Op::ALL.len()],
    pub(super) log: Option<Vec<Call>>,
}

impl Plan {
    /// What the next call meets: the oldest rule for one call, else the newest for all, else what
    /// chance says.
    pub(super) fn meet(&mut self, op: Op, job: &JobId) -> Option<Fault> {
        self.counts[op as usize] += 1;
        let is_for = |rule: &Rule| rule.op == op && rule.job.as_ref().is_none_or(|j| j == job);
        let fault = if let Some(at) = self.rules.iter().position(|r| r.once && is_for(r)) {
            Some(self.rules.remove(at).fault)
        } else if let Some(rule) = self.rules.iter().rev().find(|r| is_for(r)) {
            Some(rule.fault)
        } else {
            self.chaos.as_mut().and_then(Chaos::next)
        };
        if let Some(log) = &mut self.log {
            log.push(Call { op, job: job.clone(), at: Instant::now(), fault });
        }
        fault
    }

    pub(super) fn count(&self, op: Op) -> u64 {
        self.counts[op as usize]
    }
}
