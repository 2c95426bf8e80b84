//! Records as texts that a person can read: for backends that keep texts.
//!
//! [`RecordText`] is a record in six pieces. A backend puts those that its store has to look into
//! (the state, the count, when it ended) where the store can reach them, and the rest behind. What
//! is written in one release reads in every later one.
//!
//! ```text
//! state     token            count ended  tick                 started   the rest
//! succeeded 1764431132000141 -     +0.101 2025-11-29T15:45:32Z +0.000123 {"node":"a"}
//! ```
//!
//! Both times are the node's: `started` counts from the tick, `ended` from the start, in seconds;
//! `@` before a number: from 1970. None of the pieces but the last has a blank in it; the last is
//! one line of JSON.

use std::borrow::Cow;
use std::fmt::{Display, Write};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::{FencingToken, JobId, NodeId, Occurrence, Record, RunId, RunState, TickSpan};

/// What stands in the place of a piece that is not there.
pub const NONE: &str = "-";

/// A record in pieces. See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordText {
    /// [`RunState::as_str`].
    pub state: Cow<'static, str>,
    /// [`token_text`], or [`NONE`].
    pub token: Cow<'static, str>,
    /// The number of ticks that did not run, 20 digits, or [`NONE`].
    pub count: Cow<'static, str>,
    /// When it ended, or [`NONE`].
    pub ended: Cow<'static, str>,
    /// Tick, start and all else, in this order.
    pub rest: String,
}

/// A token in a width of 16 digits, so that texts sort as numbers do.
pub fn token_text(token: FencingToken) -> String {
    format!("{:016}", token.get())
}

/// A tick as people read it; [`NONE`] for a manual run.
pub fn tick_text(tick: Option<Occurrence>) -> String {
    tick.map_or_else(|| NONE.to_owned(), |tick| tick.to_string())
}

/// Reads what [`tick_text`] wrote; `None` for what it never writes.
pub fn read_tick(text: &str) -> Option<Option<Occurrence>> {
    if text == NONE {
        return Some(None);
    }
    text.parse().ok().and_then(Occurrence::new).map(Some)
}

impl RecordText {
    /// Pieces that were read from a store.
    pub fn new(
        state: impl Into<String>,
        token: impl Into<String>,
        count: impl Into<String>,
        ended: impl Into<String>,
        rest: impl Into<String>,
    ) -> Self {
        Self {
            state: state.into().into(),
            token: token.into().into(),
            count: count.into().into(),
            ended: ended.into().into(),
            rest: rest.into(),
        }
    }

    /// A record in pieces. Its job and its run are not among them: they are in the key.
    pub fn of(record: &Record) -> Self {
        let base = record.occurrence.map(Occurrence::at);
        // Whoever finds a run abandoned keeps the start that was stored, which may be another one.
        let start = (record.state != RunState::Abandoned).then_some(record.started);
        let count = record.ticks.filter(|_| record.state.is_tick_not_run());
        let count = count.map(|ticks| format!("{:020}", ticks.count));
        let ended = record.ended.map(|at| {
            let mut ended = String::with_capacity(24);
            write_time(&mut ended, at, start);
            ended
        });
        // As much as most take, so that none is written twice.
        let mut rest = String::with_capacity(120);
        match base {
            None => rest.push_str(NONE),
            Some(tick) => write_to(&mut rest, tick),
        }
        rest.push(' ');
        write_time(&mut rest, record.started, base);
        rest.push(' ');
        write_rest(&mut rest, record);
        let or_none = |piece: Option<String>| piece.map_or(Cow::Borrowed(NONE), Cow::Owned);
        Self {
            state: Cow::Borrowed(record.state.as_str()),
            token: or_none(record.token.map(token_text)),
            count: or_none(count),
            ended: or_none(ended),
            rest,
        }
    }

    /// The record; `None` where the pieces are those of none.
    pub fn record(&self, job: &JobId, run_id: RunId) -> Option<Record> {
        let mut parts = self.rest.splitn(3, ' ');
        let (tick, started, rest) = (parts.next()?, parts.next()?, parts.next()?);
        let state: RunState = self.state.parse().ok()?;
        let occurrence = read_tick(tick)?;
        let started = read_time(started, occurrence.map(Occurrence::at))?;
        let rest: Map<String, Value> = serde_json::from_str(rest).ok()?;

        let node = NodeId::new(rest.get("node")?.as_str()?).ok()?;
        let mut record = Record::new(run_id, job.clone(), node, state, started);
        record.occurrence = occurrence;
        if self.token != NONE {
            record.token = Some(FencingToken::new(self.token.parse().ok()?));
        }
        if self.ended != NONE {
            record.ended = Some(read_time(&self.ended, Some(started))?);
        }
        if let Some(attempt) = rest.get("attempt") {
            record.attempt = u32::try_from(attempt.as_u64()?).ok()?;
        }
        record.still_running = rest.contains_key("still_running");
        record.overlap = rest.contains_key("overlap");
        if let Some(run) = rest.get("blocked_by") {
            record.blocked_by = Some(run.as_str()?.parse().ok()?);
        }
        if let Some(span) = rest.get("ticks") {
            let tick = |name| read_tick(span.get(name)?.as_str()?)?;
            let count = span.get("count")?.as_u64()?;
            let at_least = span.get("at_least").is_some();
            record.ticks = Some(TickSpan::new(tick("first")?, tick("last")?, count, at_least));
        }
        if let Some(text) = rest.get("error") {
            record = record.with_error(text.as_str()?);
        }
        if let Some(text) = rest.get("note") {
            record = record.with_note(text.as_str()?);
        }
        Some(record)
    }
}

/// All else, as an object of JSON.
fn write_rest(out: &mut String, record: &Record) {
    let mut before = '{';
    let mut put = |name: &str, value: &dyn Display| {
        write_to(out, format_args!("{before}\"{name}\":{value}"));
        before = ',';
    };
    put("node", &json_text(record.node.as_str()));
    if record.attempt != 1 {
        put("attempt", &record.attempt);
    }
    for (name, flag) in [("still_running", record.still_running), ("overlap", record.overlap)] {
        if flag {
            put(name, &true);
        }
    }
    if let Some(run) = record.blocked_by {
        put("blocked_by", &json_text(&run.to_string()));
    }
    if let Some(ticks) = record.ticks {
        let (first, last) = (ticks.first.to_string(), ticks.last.to_string());
        let mut span = json!({ "first": first, "last": last, "count": ticks.count });
        if ticks.at_least {
            span["at_least"] = true.into();
        }
        put("ticks", &span);
    }
    for (name, text) in [("error", record.error()), ("note", record.note())] {
        if let Some(text) = text {
            put(name, &json_text(text));
        }
    }
    out.push('}');
}

/// A text as JSON has it.
pub fn json_text(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default() // a text can always be written
}

/// A time in seconds, from `base` where there is one, else from 1970.
fn write_time(out: &mut String, at: Timestamp, base: Option<Timestamp>) {
    let since = at.duration_since(base.unwrap_or(Timestamp::UNIX_EPOCH));
    let sign = match (base, since.is_negative()) {
        (None, false) => "@",
        (None, true) => "@-",
        (Some(_), false) => "+",
        (Some(_), true) => "-",
    };
    let since = since.unsigned_abs();
    write_to(out, format_args!("{sign}{}", since.as_secs()));
    if since.subsec_nanos() > 0 {
        write_to(out, format_args!(".{:09}", since.subsec_nanos()));
        out.truncate(out.trim_end_matches('0').len());
    }
}

fn write_to(out: &mut String, what: impl Display) {
    let _ = write!(out, "{what}"); // into a String it never fails
}

fn read_time(text: &str, base: Option<Timestamp>) -> Option<Timestamp> {
    let (base, text) = match text.strip_prefix('@') {
        Some(text) => (Timestamp::UNIX_EPOCH, text),
        None => (base?, text),
    };
    let digits = text.trim_start_matches(['+', '-']);
    let (seconds, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let nanoseconds: i32 = format!("{fraction:0<9}").parse().ok()?;
    let since = SignedDuration::new(seconds.parse().ok()?, nanoseconds);
    let since = if text.starts_with('-') { -since } else { since };
    base.checked_add(since).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SkipReason;

    fn record(state: RunState) -> Record {
        let started = "2025-11-29T15:45:32.000123Z".parse().unwrap();
        let (job, node) = (JobId::new("j").unwrap(), NodeId::new("node \"1\"").unwrap());
        let mut record = Record::new(RunId::new(7), job, node, state, started);
        record.occurrence = Occurrence::new("2025-11-29T15:45:32Z".parse().unwrap());
        record
    }

    fn assert_reads_back(record: &Record) {
        let text = RecordText::of(record);
        let read = text.record(&record.job, record.run_id);
        assert_eq!(read.as_ref(), Some(record), "{text:?}");
        for piece in [&text.state, &text.token, &text.count, &text.ended] {
            assert!(!piece.is_empty() && !piece.contains(' '), "{text:?}");
        }
    }

    #[test]
    fn a_record_is_readable_and_short() {
        let mut record = record(RunState::Succeeded);
        record.token = Some(FencingToken::new(1_764_431_132_000_141));
        record.ended = Some("2025-11-29T15:45:32.101123Z".parse().unwrap());
        let text = RecordText::of(&record);
        let first = [&*text.state, &text.token, &text.count, &text.ended];
        assert_eq!(first, ["succeeded", "1764431132000141", "-", "+0.101"]);
        assert_eq!(text.rest, r#"2025-11-29T15:45:32Z +0.000123 {"node":"node \"1\""}"#);
    }

    #[test]
    fn everything_reads_back() {
        let mut full = record(RunState::Skipped(SkipReason::Overlap));
        let tick = full.occurrence.unwrap();
        full.ticks = Some(TickSpan::new(tick, Occurrence::MAX, u64::MAX, true));
        full.blocked_by = Some(RunId::new(u128::MAX));
        full.attempt = 0;
        full.still_running = true;
        full.overlap = true;
        full.ended = Some(Timestamp::MIN);
        let full = full.with_error("\0 \" \\ \u{2028} \u{202e} 😀\r\n").with_note(" {} - ");
        assert_reads_back(&full);

        let mut manual = record(RunState::Abandoned);
        manual.occurrence = None;
        for started in [Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
            manual.started = started;
            for ended in [None, Some(Timestamp::MIN), Some(Timestamp::MAX)] {
                manual.ended = ended;
                assert_reads_back(&manual);
            }
        }
        manual.state = RunState::Failed;
        assert_reads_back(&manual);
    }

    #[test]
    fn what_is_no_record_is_none() {
        let good = RecordText::of(&record(RunState::Running));
        let read = |text: &RecordText| text.record(&JobId::new("j").unwrap(), RunId::new(7));
        assert!(read(&good).is_some());
        for end in 0..good.rest.len() {
            let mut cut = good.clone();
            cut.rest.truncate(end);
            assert!(read(&cut).is_none());
        }
        for bad in ["", "- - -", "{}"] {
            for piece in 0..4 {
                let mut text = good.clone();
                match piece {
                    0 => text.state = bad.into(),
                    1 => text.token = bad.into(),
                    2 => text.ended = bad.into(),
                    _ => text.rest = bad.into(),
                }
                assert!(read(&text).is_none(), "{text:?}");
            }
        }
    }
}
