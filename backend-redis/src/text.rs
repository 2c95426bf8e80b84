//! Records as texts, that a person can read.
//!
//! ```text
//! saved         state     token            count ended  tick                 started   the rest
//! 1764431132123 succeeded 1764431132000141 -     +0.101 2025-11-29T15:45:32Z +0.000123 {"node":"a"}
//! ```
//!
//! The first five are read by scripts too. Both times are the node's: `started` counts from the
//! tick, `ended` from the start, in seconds; `@` before a number: from 1970.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use tidelock::{FencingToken, JobId, NodeId, Occurrence, Record, RunId, RunState, TickSpan};

/// A record as scripts are given it.
#[derive(Debug)]
pub(crate) struct RecordText {
    pub(crate) state: &'static str,
    pub(crate) token: String,
    pub(crate) count: String,
    pub(crate) ended: String,
    pub(crate) rest: String,
}

const NONE: &str = "-";

/// A token in its fixed width.
pub(crate) fn token_text(token: FencingToken) -> String {
    format!("{:016}", token.get())
}

/// A tick as people read it; `-` for a manual run.
pub(crate) fn tick_text(tick: Option<Occurrence>) -> String {
    tick.map_or_else(|| NONE.to_owned(), |tick| tick.to_string())
}

/// Reads what [`tick_text`] wrote.
pub(crate) fn read_tick(text: &str) -> Option<Option<Occurrence>> {
    if text == NONE {
        return Some(None);
    }
    text.parse().ok().and_then(Occurrence::new).map(Some)
}

/// A node as it stands in records and open runs.
pub(crate) fn node_json(node: &NodeId) -> String {
    Value::from(node.as_str()).to_string()
}

pub(crate) fn write(record: &Record) -> RecordText {
    let base = record.occurrence.map(Occurrence::at);
    // Whoever finds a run abandoned keeps the start that was stored, which may be another one.
    let start = (record.state != RunState::Abandoned).then_some(record.started);
    let token = record.token.map(token_text);
    let count = record.ticks.filter(|_| record.state.is_tick_not_run());
    RecordText {
        state: record.state.as_str(),
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

/// Reads a stored text; `None` for one that is no record.
pub(crate) fn read(job: &JobId, run: &[u8], text: &[u8]) -> Option<Record> {
    let run_id: RunId = std::str::from_utf8(run).ok()?.parse().ok()?;
    let mut parts = std::str::from_utf8(text).ok()?.splitn(8, ' ').skip(1);
    let mut next = || parts.next();
    let (state, token, _count, ended) = (next()?, next()?, next()?, next()?);
    let (tick, started, rest) = (next()?, next()?, next()?);
    let state: RunState = state.parse().ok()?;
    let occurrence = read_tick(tick)?;
    let started = read_time(started, occurrence.map(Occurrence::at))?;
    let rest: Map<String, Value> = serde_json::from_str(rest).ok()?;

    let node = NodeId::new(rest.get("node")?.as_str()?).ok()?;
    let mut record = Record::new(run_id, job.clone(), node, state, started);
    record.occurrence = occurrence;
    if token != NONE {
        record.token = Some(FencingToken::new(token.parse().ok()?));
    }
    if ended != NONE {
        record.ended = Some(read_time(ended, Some(started))?);
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
    use tidelock::SkipReason;

    use super::*;

    fn record(state: RunState) -> Record {
        let started = "2025-11-29T15:45:32.000123Z".parse().unwrap();
        let (job, node) = (JobId::new("j").unwrap(), NodeId::new("node \"1\"").unwrap());
        let mut record = Record::new(RunId::new(7), job, node, state, started);
        record.occurrence = Occurrence::new("2025-11-29T15:45:32Z".parse().unwrap());
        record
    }

    fn stored(record: &Record) -> String {
        let text = write(record);
        let (state, token, count) = (text.state, text.token, text.count);
        format!("1764431132123 {state} {token} {count} {} {}", text.ended, text.rest)
    }

    fn assert_reads_back(record: &Record) {
        let text = stored(record);
        let run = record.run_id.to_string();
        let read = read(&record.job, run.as_bytes(), text.as_bytes());
        assert_eq!(read.as_ref(), Some(record), "{text}");
    }

    #[test]
    fn a_record_is_readable_and_short() {
        let mut record = record(RunState::Succeeded);
        record.token = Some(FencingToken::new(1_764_431_132_000_141));
        record.ended = Some("2025-11-29T15:45:32.101123Z".parse().unwrap());
        let expected = r#"1764431132123 succeeded 1764431132000141 - +0.101 2025-11-29T15:45:32Z +0.000123 {"node":"node \"1\""}"#;
        assert_eq!(stored(&record), expected);
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
        let good = stored(&record(RunState::Running));
        let job = JobId::new("j").unwrap();
        let run = RunId::new(7).to_string();
        assert!(read(&job, run.as_bytes(), good.as_bytes()).is_some());
        for end in 0..good.len() {
            assert!(read(&job, run.as_bytes(), &good.as_bytes()[..end]).is_none());
        }
        for bad in [&b"\xff"[..], b"{\"a\":1}", b"1 running - - - - x {}"] {
            assert!(read(&job, run.as_bytes(), bad).is_none());
        }
        assert!(read(&job, b"next", good.as_bytes()).is_none());
    }
}
