//! What an assertion fails with: short, however much went wrong.

use jiff::Timestamp;
use tidelock::Record;

use super::log::Trace;
use super::timeline::Short;

/// How many lines tell of what is wrong.
const FIRST: usize = 5;

/// How many events before and after a moment are told.
const EVENTS: usize = 12;

/// How many characters of an error are.
const ERROR: usize = 160;

/// Something that is wrong.
#[derive(Debug)]
pub(super) struct Wrong<'a> {
    pub(super) job: usize,
    pub(super) what: Fact<'a>,
}

/// What is known of it.
#[derive(Debug)]
pub(super) enum Fact<'a> {
    /// A record, of a run or of ticks that did not run.
    Record(&'a Record),
    /// A tick that left none.
    Lost(Timestamp),
    /// A tick that was granted and not started, and the record of its run, if there is one.
    NotStarted(Timestamp, Option<&'a Record>),
}

impl Wrong<'_> {
    fn tick(&self) -> Option<Timestamp> {
        match self.what {
            Fact::Record(record) => {
                let first = record.ticks.map(|ticks| ticks.first);
                record.occurrence.or(first).map(tidelock::Occurrence::at)
            }
            Fact::Lost(tick) | Fact::NotStarted(tick, _) => Some(tick),
        }
    }

    /// When it was, by the schedule where there is a tick.
    fn at(&self) -> Timestamp {
        let started = match self.what {
            Fact::Record(record) => record.started,
            Fact::Lost(tick) | Fact::NotStarted(tick, _) => tick,
        };
        self.tick().unwrap_or(started)
    }

    fn line(&self, trace: &Trace) -> String {
        let id = trace.jobs.get(self.job).map_or("?", String::as_str);
        match self.what {
            Fact::Record(record) => format!("{id} {}", record_line(record)),
            Fact::Lost(tick) => {
                format!("{id} tick {tick}: nobody took it, and no record tells why")
            }
            Fact::NotStarted(tick, record) => {
                let told = record.map_or_else(|| format!("tick {tick}"), record_line);
                format!("{id} {told}: granted, and its handler was never called")
            }
        }
    }
}

impl Trace {
    /// How many things went wrong, the first of them, and what happened around that.
    pub(super) fn failure(&self, what: &str, count: u64, mut wrong: Vec<Wrong<'_>>) -> String {
        wrong.sort_by_key(Wrong::at);
        let mut text = format!("{what}: {count}");
        text.push_str(if wrong.len() > FIRST { "; the first are\n" } else { "\n" });
        for line in wrong.iter().take(FIRST).map(|wrong| wrong.line(self)) {
            text.push_str(&format!("  {line}\n"));
        }
        if let Some(first) = wrong.first() {
            let since = first.at().duration_since(self.start).as_micros();
            text.push_str(&self.around(u64::try_from(since).unwrap_or(0)));
        }
        text
    }

    /// What happened next before and after a moment, in microseconds since the start.
    pub(super) fn around(&self, at: u64) -> String {
        let middle = self.events.partition_point(|event| event.at < at);
        let (from, to) = (middle.saturating_sub(EVENTS), middle.saturating_add(EVENTS));
        let to = to.min(self.events.len());
        let (seconds, after) = (at / 1_000_000, self.events.len() - to);
        let mut text = format!(
            "around second {seconds} since {} (left out, see `trace`: {from} events before and {after} after)\n",
            self.start
        );
        for event in &self.events[from..to] {
            text.push_str(&event.line(&self.lives, &self.jobs));
            text.push('\n');
        }
        text
    }
}

/// A record in a line.
pub(super) fn record_line(record: &Record) -> String {
    let Record { node, state, occurrence, ticks, blocked_by, .. } = record;
    let mut line = match (ticks, occurrence) {
        (Some(ticks), _) if ticks.count > 1 => {
            format!("ticks {} to {}, {} in all,", ticks.first, ticks.last, ticks.count)
        }
        (Some(ticks), _) => format!("tick {}", ticks.first),
        (None, Some(tick)) => format!("tick {tick}"),
        (None, None) => format!("manual run at {}", record.started),
    };
    line.push_str(&format!(" on {node}: {state}"));
    if let Some(run) = blocked_by {
        line.push_str(&format!(" behind run {}", Short(*run)));
    }
    if record.overlap {
        line.push_str(", beside code of an earlier run");
    }
    if record.still_running {
        line.push_str(", and its code went on");
    }
    if let Some(error) = record.error() {
        let first = error.lines().next().unwrap_or_default();
        let short: String = first.chars().take(ERROR).collect();
        let cut = if short.len() < error.len() { ".." } else { "" };
        line.push_str(&format!(" ({short}{cut})"));
    }
    line
}
