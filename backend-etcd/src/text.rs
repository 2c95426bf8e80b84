//! Locks, marks and open runs as texts, that a person can read: one JSON object each.

use jiff::SignedDuration;
use serde_json::{Map, Value, json};
use tidelock::stored::{read_tick, tick_text};
use tidelock::{
    AcquireRequest, FencingToken, Holder, LockKey, Mark, MarkPoint, Moved, NodeId, Occurrence,
    OpenRun, RunId, RunState, SkipReason,
};

use crate::keys;
use crate::reply::Entry;

/// The lock's value. Whoever knows a lease can write it again, byte for byte: that is how a renewal
/// and a release tell whose lock it is.
pub(crate) fn lock(holder: &Holder, run: RunId) -> String {
    // Two members, in the order of their names and of their insertion.
    json!({ "holder": holder.as_str(), "run": run.to_string() }).to_string()
}

/// Reads what [`lock`] wrote.
pub(crate) fn read_lock(value: &[u8]) -> Option<(Holder, RunId)> {
    let object = object(value)?;
    let holder = Holder::from_stored(text(&object, "holder")?);
    Some((holder, text(&object, "run")?.parse().ok()?))
}

/// The value of a mark that the request moves in that way.
pub(crate) fn mark(request: &AcquireRequest, how: Option<(SkipReason, Option<RunId>)>) -> String {
    let mut object = Map::new();
    let state = how.map(|(reason, _)| RunState::Skipped(reason).as_str());
    object.insert("how".into(), state.unwrap_or("granted").into());
    object.insert("holder".into(), request.holder.as_str().into());
    object.insert("run".into(), request.run_id.to_string().into());
    object.insert("node".into(), request.node.as_str().into());
    object.insert("schedule".into(), request.fingerprint.to_string().into());
    if let Some((_, Some(run))) = how {
        object.insert("blocked_by".into(), run.to_string().into());
    }
    if let Some(skew) = request.skew {
        object.insert("skew".into(), skew.as_nanos().to_string().into());
    }
    Value::Object(object).to_string()
}

/// Where a mark's key stands.
pub(crate) fn read_point(entry: &Entry) -> Option<MarkPoint> {
    let tick = keys::last(&entry.key).filter(|tick| tick.len() == 15)?;
    let tick = Occurrence::from_millisecond(tick.parse().ok()?)?;
    let object = object(&entry.value)?;
    Some(MarkPoint::new(tick, text(&object, "schedule")?.parse().ok()?))
}

/// Reads what [`mark`] wrote. The token of a grant is the revision that it was written at.
pub(crate) fn read_mark(key: &LockKey, entry: &Entry, previous: Option<MarkPoint>) -> Option<Mark> {
    let point = read_point(entry)?;
    let object = object(&entry.value)?;
    let moved = match text(&object, "how")? {
        "granted" => Moved::Granted(FencingToken::new(entry.created)),
        state => {
            let RunState::Skipped(reason) = state.parse().ok()? else {
                return None;
            };
            let blocked_by = match text(&object, "blocked_by") {
                None => None,
                Some(run) => Some(run.parse().ok()?),
            };
            Moved::Consumed { reason, blocked_by }
        }
    };
    // As far as the mark tells of it: the request that moved it.
    let mut request = AcquireRequest::new(
        key.clone(),
        Holder::from_stored(text(&object, "holder")?),
        text(&object, "run")?.parse().ok()?,
        NodeId::new(text(&object, "node")?).ok()?,
        Some(point.occurrence),
        point.fingerprint,
        std::time::Duration::ZERO,
    );
    if let Some(skew) = text(&object, "skew") {
        request.skew = Some(nanoseconds(skew.parse().ok()?));
    }
    Some(Mark::new(&request, point, moved, previous, None))
}

/// The value of an open run.
pub(crate) fn open_run(request: &AcquireRequest) -> String {
    json!({ "node": request.node.as_str(), "tick": tick_text(request.occurrence) }).to_string()
}

/// Reads what [`open_run`] wrote. The token is the revision that it was last written at: a manual
/// run whose first grant was lost may be granted once more.
pub(crate) fn read_open_run(entry: &Entry) -> Option<OpenRun> {
    let run_id = keys::last(&entry.key)?.parse().ok()?;
    let object = object(&entry.value)?;
    let node = NodeId::new(text(&object, "node")?).ok()?;
    let tick = read_tick(text(&object, "tick")?)?;
    Some(OpenRun::new(run_id, node, tick, FencingToken::new(entry.changed)))
}

fn object(value: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(value).ok()
}

fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str()
}

fn nanoseconds(total: i128) -> SignedDuration {
    const SECOND: i128 = 1_000_000_000;
    let limit = |seconds: i128| i64::try_from(seconds).unwrap_or(i64::MAX);
    let below = i32::try_from(total % SECOND).unwrap_or(0);
    SignedDuration::new(limit(total / SECOND), below)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidelock::{Fingerprint, JobId};

    use super::*;

    fn request() -> AcquireRequest {
        let node = NodeId::new("node \"1\"").unwrap();
        let mut request = AcquireRequest::new(
            LockKey::of(&JobId::new("job").unwrap()),
            Holder::new(&node, 7),
            RunId::new(8),
            node,
            Occurrence::from_millisecond(1_764_431_132_000),
            Fingerprint::new(0xab),
            Duration::from_secs(30),
        );
        request.skew = Some(SignedDuration::from_millis(-2_500));
        request
    }

    fn entry(key: &str, value: String) -> Entry {
        let (key, value) = (key.as_bytes().to_vec(), value.into_bytes());
        Entry { key, value, created: 12, changed: 13, lease: 0 }
    }

    #[test]
    fn a_lock_reads_back_and_is_always_written_alike() {
        let request = request();
        let written = lock(&request.holder, request.run_id);
        assert!(written.starts_with(r#"{"holder":"node \"1\"/0000"#), "{written}");
        let read = read_lock(written.as_bytes()).unwrap();
        assert_eq!(read, (request.holder.clone(), request.run_id));
        assert_eq!(lock(&read.0, read.1), written);
        assert_eq!(read_lock(b"somebody"), None);
    }

    #[test]
    fn a_mark_reads_back() {
        let request = request();
        let run = Some(RunId::new(9));
        for how in [None, Some((SkipReason::Misfire, None)), Some((SkipReason::Overlap, run))] {
            let entry = entry("tidelock/n/job/mark/001764431132000", mark(&request, how));
            let read = read_mark(&request.key, &entry, None).unwrap();
            let moved = match how {
                None => Moved::Granted(FencingToken::new(12)),
                Some((reason, blocked_by)) => Moved::Consumed { reason, blocked_by },
            };
            let point = request.point().unwrap();
            assert_eq!(read, Mark::new(&request, point, moved, None, None));
        }
    }

    #[test]
    fn an_open_run_reads_back() {
        let mut request = request();
        for tick in [request.occurrence, None] {
            request.occurrence = tick;
            let key = format!("tidelock/n/job/open/{}", request.run_id);
            let read = read_open_run(&entry(&key, open_run(&request))).unwrap();
            assert_eq!((read.run_id, &read.node), (request.run_id, &request.node));
            assert_eq!((read.occurrence, read.token.get()), (tick, 13));
        }
    }

    #[test]
    fn what_makes_no_sense_is_none() {
        let request = request();
        let good = mark(&request, None);
        for key in ["a/mark/1764431132000", "a/mark/00176443113200x", "a/mark/"] {
            assert!(read_point(&entry(key, good.clone())).is_none(), "{key}");
        }
        for bad in ["", "{}", "[]", "soon"] {
            let entry = entry("a/mark/001764431132000", bad.to_owned());
            assert!(read_mark(&request.key, &entry, None).is_none());
            assert!(read_open_run(&entry).is_none());
        }
    }
}
