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
    pub state: String,
    /// [`token_text`], or [`NONE`].
    pub token: String,
    /// The number of ticks that did not run, 20 digits, or [`NONE`].
    pub count: String,
    /// When it ended, or [`NONE`].
    pub ended: String,
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
            state: state.into(),
            token: token.into(),
            count: count.into(),
            ended: ended.into(),
            rest: rest.into(),
        }
    }

    /// A record in pieces. Its job and its run are not among them: they are in the key.
    pub fn of(record: &Record) -> Self {
        let base = record.occurrence.map(Occurrence::at);
        // Whoever finds a run abandoned keeps the start that was stored, which may be another one.
        let start = (record.state != RunState::Abandoned).then_some(record.started);
        let token = record.token.map(token_text);
        let count = record.ticks.filter(|_| record.state.is_tick_not_run());
        Self {
            state: record.state.as_str().to_owned(),
            token: token.unwrap_or_else(|| NONE.to_owned()),
            count: count.map_or_else(|| NONE.to_owned(), |ticks| format!("{:020}", ticks.count)),
            ended: record.ended.map_or_else(|| NONE.to_owned(), |at| time(at, start)),
            rest: format!(
                "{} {} {}",
                tick_text(record.occurrence),
                time(record.started, base),
                rest(record)
            ),
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

fn rest(record: &Record) -> Value {
    let mut rest = Map::new();
    rest.insert("node".into(), record.node.as_str().into());
    if record.attempt != 1 {
        rest.insert("attempt".into(), record.attempt.into());
    }
    for (name, flag) in [("still_running", record.still_running), ("overlap", record.overlap)] {
        if flag {
            rest.insert(name.into(), true.into());
        }
    }
    if let Some(run) = record.blocked_by {
        rest.insert("blocked_by".into(), run.to_string().into());
    }
    if let Some(ticks) = record.ticks {
        let (first, last) = (ticks.first.to_string(), ticks.last.to_string());
        let mut span = json!({ "first": first, "last": last, "count": ticks.count });
        if ticks.at_least {
            span["at_least"] = true.into();
        }
        rest.insert("ticks".into(), span);
    }
    for (name, text) in [("error", record.error()), ("note", record.note())] {
        if let Some(text) = text {
            rest.insert(name.into(), text.into());
        }
    }
    Value::Object(rest)
}

/// A time in seconds, from `base` where there is one, else from 1970.
fn time(at: Timestamp, base: Option<Timestamp>) -> String {
    let since = at.duration_since(base.unwrap_or(Timestamp::UNIX_EPOCH));
    let sign = match (base, since.is_negative()) {
        (None, false) => "@",
        (None, true) => "@-",
        (Some(_), false) => "+",
        (Some(_), true) => "-",
    };
    let since = since.unsigned_abs();
    let seconds = format!("{}.{:09}", since.as_secs(), since.subsec_nanos());
    format!("{sign}{}", seconds.trim_end_matches('0').trim_end_matches('.'))
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
                let pieces = [&mut text.state, &mut text.token, &mut text.ended, &mut text.rest];
                *pieces[piece] = bad.to_owned();
                assert!(read(&text).is_none(), "{text:?}");
            }
        }
    }
}
