//! The log as text.

use std::fmt;

use tidelock::{LockState, Occurrence, Record, RunId};

use super::event::{Ask, Event, Handler, Life, What};
use super::log::Trace;

impl Trace {
    /// The whole log as text, a line for each event.
    pub fn text(&self) -> String {
        self.text_between(0, u64::MAX)
    }

    /// The same for the events between two moments, in microseconds since the start.
    pub fn text_between(&self, from: u64, to: u64) -> String {
        let mut text = String::new();
        for event in self.events.iter().filter(|event| (from..=to).contains(&event.at)) {
            text.push_str(&event.line(&self.lives, &self.jobs));
            text.push('\n');
        }
        text
    }

    /// What the backend has of each job at the end, as text.
    pub fn left_text(&self) -> String {
        let mut text = String::new();
        for (id, left) in self.jobs.iter().zip(&self.left) {
            let LockState { mark, token, held, open_runs, .. } = &left.state;
            let mark = mark.as_ref().map(|mark| (mark.point.occurrence, &mark.node, mark.moved));
            text.push_str(&format!("{id}: {mark:?} {token:?} {held:?} open {open_runs:?}\n"));
            for record in left.records.iter().rev() {
                text.push_str(&format!("  {}\n", record_line(record)));
            }
        }
        text
    }
}

/// A record in a line.
fn record_line(record: &Record) -> String {
    let Record { run_id, node, state, occurrence, token, ticks, .. } = record;
    let tick = occurrence.map_or("none".to_owned(), |tick| tick.to_string());
    let mut line = format!("{} {node} tick {tick} {state}", Short(*run_id));
    if let Some(token) = token {
        line.push_str(&format!(" token {token}"));
    }
    if let Some(ticks) = ticks {
        line.push_str(&format!(" {} ticks {} to {}", ticks.count, ticks.first, ticks.last));
    }
    if let Some(error) = record.error() {
        line.push_str(&format!(" ({error})"));
    }
    line
}

impl Event {
    /// The line, with names for the numbers.
    pub(crate) fn line(&self, lives: &[String], jobs: &[String]) -> String {
        let name = |life: &Life| lives.get(*life).map_or("?", String::as_str);
        let id = |job: &usize| jobs.get(*job).map_or("?", String::as_str);
        let tick = |tick: &Option<Occurrence>| match tick {
            Some(tick) => tick.to_string(),
            None => "none".to_owned(),
        };
        let ask = |a: &Ask| {
            let edited = if a.edited { "*" } else { "" };
            let (life, job) = (name(&a.life), id(&a.job));
            format!("{life} {job}{edited} tick {} run {}", tick(&a.tick), Short(a.run))
        };
        let handler = |h: &Handler| {
            let (life, job) = (name(&h.life), id(&h.job));
            format!("{life} {job} tick {} run {} token {}", tick(&h.tick), Short(h.run), h.token)
        };
        let text = match &self.what {
            What::Up(life) => format!("{} is up", name(life)),
            What::Killed(life) => format!("{} is gone", name(life)),
            What::Stopping(life) => format!("{} is told to shut down", name(life)),
            What::Dropped(life) => format!("{}: its scheduler is dropped", name(life)),
            What::Stopped { life, cancelled, still_running, unsaved } => format!(
                "{} has shut down: {cancelled} cancelled, {still_running} still running, {unsaved} unsaved",
                name(life)
            ),
            What::TasksLeft(life, count) => format!("{} has left {count} tasks", name(life)),
            What::Frozen(life) => format!("{} stands still", name(life)),
            What::Thawed(life) => format!("{} goes on", name(life)),
            What::Cut(life) => format!("{} is cut off", name(life)),
            What::Healed(life) => format!("{} reaches the backend", name(life)),
            What::RecordsAway(life) => format!("{}: no records are taken", name(life)),
            What::Slow(life) => format!("{}: answers come late", name(life)),
            What::LostReplies(life, count) => {
                format!("{}: the next {count} replies are lost", name(life))
            }
            What::ServerAway(member, dies) => {
                format!("server {member} {}", if *dies { "is killed" } else { "stands still" })
            }
            What::ServerBack(member) => format!("server {member} is back"),
            What::Stalled(us) => format!("nothing went on for {} ms", us / 1_000),
            What::AsEver(life) => format!("{}: all comes as ever", name(life)),
            What::Stepped(seat, by) => format!("the clock of n{seat} is set by {by} ms"),
            What::Calm => "all is healed".to_owned(),
            What::Added(life, job) => format!("{} {} added", name(life), id(job)),
            What::Removed(life, job) => format!("{} {} removed", name(life), id(job)),
            What::Replaced(life, job) => format!("{} {} replaced", name(life), id(job)),
            What::Edited(life, job) => format!("{} {} has its other schedule", name(life), id(job)),
            What::Forced { job, mark, held } => format!(
                "    FORCED {}{}{}",
                id(job),
                if *held { ", which was held" } else { "" },
                if *mark { ", and its mark is gone" } else { "" }
            ),
            What::RunNow(life, job) => format!("{} {} is to run now", name(life), id(job)),
            What::Asked(a) => format!("{} asked", ask(a)),
            What::Heard(a, answer) => format!("{} hears {answer:?}", ask(a)),
            What::Granted { ask: a, token, previous } => {
                format!("    GRANTED {} token {token}, mark was {}", ask(a), tick(previous))
            }
            What::Consumed { ask: a, reason, blocked_by, previous } => {
                let by = blocked_by.map_or(String::new(), |run| format!(" behind {}", Short(run)));
                format!("    CONSUMED {} {reason:?}{by}, mark was {}", ask(a), tick(previous))
            }
            What::Released { life, job, run, token } => {
                format!("    RELEASED {} {} run {} token {token}", name(life), id(job), Short(*run))
            }
            What::Saved { life, job, state, count } => {
                format!("    SAVED {} {} {state} of {count} ticks", name(life), id(job))
            }
            What::Started(a) => format!("  > {} starts", ask(a)),
            What::Unheard(life, lost) => format!("  > {} told {lost} things unheard", name(life)),
            What::Finished { life, job, run, state } => {
                format!("  > {} {} run {} ended: {state}", name(life), id(job), Short(*run))
            }
            What::Began(h) => format!("  > {} begins", handler(h)),
            What::Worked(h, taken) => {
                format!("  > {} works{}", handler(h), if *taken { "" } else { ", refused" })
            }
            What::Told(h, reason) => format!("  > {} is told: {reason}", handler(h)),
            What::Ended(h, end) => format!("  > {} ends: {end:?}", handler(h)),
        };
        format!("{:>4}.{:06} {text}", self.at / 1_000_000, self.at % 1_000_000)
    }
}

/// The first digits of a run id: enough to tell runs of one log apart.
#[derive(Clone, Copy)]
pub(crate) struct Short(pub(crate) RunId);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0.get() >> 96)
    }
}
