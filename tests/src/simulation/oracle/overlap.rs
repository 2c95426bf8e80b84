//! No two runs of a job at a time.

use super::finding::{Finding, Promise};
use super::story::Story;
use crate::simulation::event::{Handler, Life, What};

/// A handler that has not ended.
struct Open {
    handler: Handler,
    /// When another run was granted while its node stood still, or just before a timer of its own
    /// in real time: it may be dropped, and nothing else.
    overtaken: Option<u64>,
}

/// The newest grants, and what goes on, at one moment of the log.
struct Now<'a, 'b> {
    story: &'a Story<'b>,
    open: Vec<Open>,
    /// The newest token of each job.
    newest: Vec<u64>,
    /// The newest token that each job's sink took something under.
    sunk: Vec<u64>,
    frozen: Vec<Option<u64>>,
}

pub(super) fn check(story: &Story<'_>, findings: &mut Vec<Finding>) {
    let jobs = story.trace.jobs.len();
    let mut now = Now {
        story,
        open: Vec::new(),
        newest: vec![0; jobs],
        sunk: vec![0; jobs],
        // Until when a node stands still, or stood just now.
        frozen: vec![None; story.lives.len()],
    };
    for event in &story.trace.events {
        match event.what {
            What::Frozen(life) => now.frozen[life] = Some(u64::MAX),
            What::Thawed(life) => now.frozen[life] = Some(event.at),
            What::Granted { ask, token, .. } => {
                now.granted(event.at, ask.job, token, findings);
            }
            What::Began(handler) => now.began(event.at, handler, findings),
            What::Worked(handler, taken) => now.worked(event.at, handler, taken, findings),
            What::Ended(handler, _) => now.ended(event.at, handler, findings),
            _ => {}
        }
    }
}

impl Now<'_, '_> {
    /// Whether a node stands still, or has been woken at this very moment and had no turn yet.
    fn stands_still(&self, life: Life, at: u64) -> bool {
        let slack = self.story.slack();
        self.frozen[life].is_some_and(|until| until.saturating_add(slack) >= at)
    }

    /// Code on a thread cannot be stopped: its lock may be lost while it goes on.
    fn is_stoppable(&self, handler: Handler) -> bool {
        !self.story.plan.jobs[handler.job].blocking
    }

    /// When an operator freed the lock of a run.
    fn forced(&self, handler: Handler) -> Option<u64> {
        let grants = &self.story.grants[handler.job];
        grants.iter().find(|grant| grant.token == handler.token)?.forced
    }

    /// Whether its lock was taken away: it hears of that by its next renewal, or by its deadline.
    fn may_be_overtaken(&self, at: u64, handler: Handler) -> bool {
        let ttl = self.story.plan.jobs[handler.job].lock_ttl_ms() * 1_000;
        self.forced(handler).is_some_and(|forced| at <= forced + ttl)
            || self.story.may_be_revoked(at, ttl)
    }

    fn granted(&mut self, at: u64, job: usize, token: u64, findings: &mut Vec<Finding>) {
        self.newest[job] = token;
        for index in 0..self.open.len() {
            let handler = self.open[index].handler;
            if handler.job != job || handler.token == token {
                continue;
            }
            if self.stands_still(handler.life, at)
                || (self.story.slack() > 0 && self.is_stoppable(handler))
            {
                self.open[index].overtaken.get_or_insert(at);
            } else if self.is_stoppable(handler) && !self.may_be_overtaken(at, handler) {
                let text = format!("token {token} is granted while {handler:?} is at work");
                findings.push(Finding::new(Promise::NoOverlap, at, text));
            }
        }
    }

    fn began(&mut self, at: u64, handler: Handler, findings: &mut Vec<Finding>) {
        let newest = self.newest[handler.job];
        let stoppable = self.is_stoppable(handler) && !self.may_be_overtaken(at, handler);
        if handler.token != newest && stoppable {
            let text = format!("{handler:?} begins when token {newest} is granted");
            findings.push(Finding::new(Promise::NoOverlap, at, text));
        }
        self.open.push(Open { handler, overtaken: None });
    }

    fn worked(&mut self, at: u64, handler: Handler, taken: bool, findings: &mut Vec<Finding>) {
        let open = self.open.iter().find(|open| open.handler == handler);
        if self.forced(handler).is_some() && !self.may_be_overtaken(at, handler) {
            let text = format!("{handler:?} goes on although its lock was taken away");
            findings.push(Finding::new(Promise::NoOverlap, at, text));
        }
        let overtaken = open.is_none_or(|open| open.overtaken.is_some());
        if overtaken && !self.may_be_overtaken(at, handler) {
            let text = format!("{handler:?} goes on after another run was granted");
            findings.push(Finding::new(Promise::NoOverlap, at, text));
        }
        let sunk = &mut self.sunk[handler.job];
        if taken && handler.token < *sunk {
            let text = format!("a sink took from {handler:?} after token {sunk}");
            findings.push(Finding::new(Promise::TokensGrow, at, text));
        }
        if taken {
            *sunk = handler.token.max(*sunk);
        }
    }

    /// In real time, who has been overtaken is dropped within the slack, once it has its turns.
    fn ended(&mut self, at: u64, handler: Handler, findings: &mut Vec<Finding>) {
        let slack = self.story.slack();
        for open in self.open.iter().filter(|open| open.handler == handler && slack > 0) {
            if open.overtaken.is_some_and(|from| from + slack < at)
                && !self.stands_still(handler.life, at)
                && !self.may_be_overtaken(at, handler)
            {
                let text = format!("{handler:?} is dropped long after another run was granted");
                findings.push(Finding::new(Promise::NoOverlap, at, text));
            }
        }
        self.open.retain(|open| open.handler != handler);
    }
}
