//! What is kept of ticks that did not run, as JSON: with a mark that was moved past them.

use serde_json::{Map, Value, json};
use tidelock::stored::{read_tick, tick_text};
use tidelock::{MarkPoint, NodeId, Occurrence, PassedOver, RunState, SkippedRow, Untold};

use crate::text::text;

pub(crate) fn point_value(point: MarkPoint) -> Value {
    json!({
        "tick": tick_text(Some(point.occurrence)),
        "schedule": point.fingerprint.to_string(),
    })
}

pub(crate) fn read_point_value(value: &Value) -> Option<MarkPoint> {
    let object = value.as_object()?;
    Some(MarkPoint::new(tick(object, "tick")?, text(object, "schedule")?.parse().ok()?))
}

/// Writes what is untold into a mark's value, if anything is.
pub(crate) fn write(untold: &Untold, mark: &mut Map<String, Value>) {
    if !untold.skipped.is_empty() {
        mark.insert("skipped".into(), untold.skipped.iter().map(skipped).collect());
    }
    if !untold.passed.is_empty() {
        mark.insert("passed".into(), untold.passed.iter().map(passed).collect());
    }
}

/// Reads it back. An entry that makes no sense is left out, with a word to the log: it says nothing
/// about who may run.
pub(crate) fn read(mark: &Map<String, Value>) -> Untold {
    let mut untold = Untold::default();
    untold.skipped = entries(mark, "skipped", read_skipped);
    untold.passed = entries(mark, "passed", read_passed);
    untold
}

fn entries<T>(
    mark: &Map<String, Value>,
    name: &str,
    read: impl Fn(&Map<String, Value>) -> Option<T>,
) -> Vec<T> {
    let entries = mark.get(name).and_then(Value::as_array);
    let one = |entry: &Value| {
        let read = entry.as_object().and_then(&read);
        if read.is_none() {
            tracing::warn!(%entry, "a word on ticks that did not run makes no sense");
        }
        read
    };
    entries.into_iter().flatten().filter_map(one).collect()
}

fn skipped(row: &SkippedRow) -> Value {
    json!({
        "run": row.run_id.to_string(),
        "node": row.node.as_str(),
        "state": RunState::Skipped(row.reason).as_str(),
        "schedule": row.fingerprint.to_string(),
        "blocked_by": row.blocked_by.map(|run| run.to_string()),
        "first": tick_text(Some(row.first)),
        "last": tick_text(Some(row.last)),
        "count": row.count,
    })
}

fn read_skipped(row: &Map<String, Value>) -> Option<SkippedRow> {
    let RunState::Skipped(reason) = text(row, "state")?.parse().ok()? else {
        return None;
    };
    let blocked_by = match text(row, "blocked_by") {
        None => None,
        Some(run) => Some(run.parse().ok()?),
    };
    let ticks = (tick(row, "first")?, tick(row, "last")?, row.get("count")?.as_u64()?);
    let node = NodeId::new(text(row, "node")?).ok()?;
    let kind = (reason, text(row, "schedule")?.parse().ok()?);
    Some(SkippedRow::new(text(row, "run")?.parse().ok()?, node, kind, blocked_by, ticks))
}

fn passed(passed: &PassedOver) -> Value {
    json!({
        "run": passed.run_id.to_string(),
        "node": passed.node.as_str(),
        "since": point_value(passed.since),
        "until": tick_text(Some(passed.until)),
    })
}

fn read_passed(passed: &Map<String, Value>) -> Option<PassedOver> {
    let node = NodeId::new(text(passed, "node")?).ok()?;
    let since = read_point_value(passed.get("since")?)?;
    Some(PassedOver::new(text(passed, "run")?.parse().ok()?, node, since, tick(passed, "until")?))
}

fn tick(object: &Map<String, Value>, name: &str) -> Option<Occurrence> {
    read_tick(text(object, name)?)?
}

#[cfg(test)]
mod tests {
    use tidelock::{Fingerprint, RunId, SkipReason};

    use super::*;

    #[test]
    fn it_reads_back_and_what_makes_no_sense_is_left_out() {
        let at = |second: i64| Occurrence::from_millisecond(second * 1_000).unwrap();
        let node = NodeId::new("node \"1\"").unwrap();
        let (run, other) = (RunId::new(1), RunId::new(2));
        let mut untold = Untold::default();
        for (reason, blocked_by) in
            [(SkipReason::Overlap, Some(other)), (SkipReason::TooLate, None)]
        {
            let ticks = (at(1), at(9), 7);
            let kind = (reason, Fingerprint::new(7));
            untold.skipped.push(SkippedRow::new(run, node.clone(), kind, blocked_by, ticks));
        }
        let since = MarkPoint::new(at(3), Fingerprint::new(0xab));
        untold.passed.push(PassedOver::new(run, node, since, at(8)));
        let mut mark = Map::new();
        write(&untold, &mut mark);
        assert_eq!(read(&mark), untold);
        for name in ["skipped", "passed"] {
            let rows = mark[name].as_array_mut().unwrap();
            rows.extend([json!(1), json!({}), json!({ "run": "x" })]);
        }
        assert_eq!(read(&mark), untold);
        mark.insert("skipped".into(), "no list".into());
        assert_eq!(read(&mark).skipped, []);
    }
}
