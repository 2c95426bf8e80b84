//! Locks, marks and open runs as texts, that a person can read: one JSON object each.

use jiff::SignedDuration;
use serde_json::{Map, Value};
use tidelock::stored::{json_text, read_tick, tick_text};
use tidelock::{
    AcquireRequest, FencingToken, Holder, LockKey, Mark, MarkPoint, Moved, NodeId, Occurrence,
    OpenRun, RunId, RunState, SkipReason, Untold,
};

use crate::reply::Entry;
use crate::{keys, untold};

/// The lock's value. Whoever knows a lease can write it again, byte for byte: that is how a renewal
/// and a release tell whose lock it is.
pub(crate) fn lock(holder: &Holder, run: RunId) -> String {
    format!(r#"{{"holder":{},"run":"{run}"}}"#, json_text(holder.as_str()))
}

/// Reads what [`lock`] wrote.
pub(crate) fn read_lock(value: &[u8]) -> Option<(Holder, RunId)> {
    let object = object(value)?;
    let holder = Holder::from_stored(text(&object, "holder")?);
    Some((holder, text(&object, "run")?.parse().ok()?))
}

/// The value of a mark that the request moves by a grant.
pub(crate) fn granted_mark(request: &AcquireRequest) -> String {
    let (holder, node) = (json_text(request.holder.as_str()), json_text(request.node.as_str()));
    let (run, schedule) = (request.run_id, request.fingerprint);
    let skew = request.skew.map(|skew| format!(r#","skew":"{}""#, skew.as_nanos()));
    format!(
        r#"{{"how":"granted","holder":{holder},"run":"{run}","node":{node},"schedule":"{schedule}"{}}}"#,
        skew.unwrap_or_default()
    )
}

/// The value of a mark that the request moves past its tick, for a reason and behind a run if one is
/// in the way. The mark as it was stands in it, since its key may go.
pub(crate) fn consumed_mark(
    request: &AcquireRequest,
    (reason, blocked_by): (SkipReason, Option<RunId>),
    previous: Option<MarkPoint>,
    untold: &Untold,
) -> String {
    let mut object = Map::new();
    object.insert("how".into(), RunState::Skipped(reason).as_str().into());
    object.insert("holder".into(), request.holder.as_str().into());
    object.insert("run".into(), request.run_id.to_string().into());
    object.insert("node".into(), request.node.as_str().into());
    object.insert("schedule".into(), request.fingerprint.to_string().into());
    if let Some(skew) = request.skew {
        object.insert("skew".into(), skew.as_nanos().to_string().into());
    }
    if let Some(run) = blocked_by {
        object.insert("blocked_by".into(), run.to_string().into());
    }
    if let Some(previous) = previous {
        object.insert("previous".into(), untold::point_value(previous));
    }
    untold::write(untold, &mut object);
    Value::Object(object).to_string()
}

/// Where a mark's key stands.
pub(crate) fn read_point(entry: &Entry) -> Option<MarkPoint> {
    point(entry, &object(&entry.value)?)
}

fn point(entry: &Entry, object: &Map<String, Value>) -> Option<MarkPoint> {
    let tick = keys::last(&entry.key).filter(|tick| tick.len() == 15)?;
    let tick = Occurrence::from_millisecond(tick.parse().ok()?)?;
    Some(MarkPoint::new(tick, text(object, "schedule")?.parse().ok()?))
}

/// Reads a mark's value. The token of a grant is the revision that it was written at; `older` is the
/// one before it that is still there.
pub(crate) fn read_mark(key: &LockKey, entry: &Entry, older: Option<MarkPoint>) -> Option<Mark> {
    let object = object(&entry.value)?;
    let point = point(entry, &object)?;
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
    let previous = object.get("previous").and_then(untold::read_point_value).or(older);
    let mut mark = Mark::new(&request, point, moved, previous, None);
    mark.untold = untold::read(&object);
    Some(mark)
}

/// The value of an open run. What is untold follows from it and the marks that were there before.
pub(crate) fn open_run(request: &AcquireRequest) -> String {
    let (node, schedule) = (json_text(request.node.as_str()), request.fingerprint);
    let (tick, after) = (tick_text(request.occurrence), tick_text(request.after));
    format!(r#"{{"node":{node},"tick":"{tick}","after":"{after}","schedule":"{schedule}"}}"#)
}

/// Reads what [`open_run`] wrote. The token is the revision that it was last written at: a manual
/// run whose first grant was lost may be granted once more.
/// `marks` are those that are there, newest first.
pub(crate) fn read_open_run(key: &LockKey, entry: &Entry, marks: &[Marked]) -> Option<OpenRun> {
    let run_id = keys::last(&entry.key)?.parse().ok()?;
    let object = object(&entry.value)?;
    let node = NodeId::new(text(&object, "node")?).ok()?;
    let tick = read_tick(text(&object, "tick")?)?;
    let mut run = OpenRun::new(run_id, node.clone(), tick, FencingToken::new(entry.changed));
    if let Some(schedule) = text(&object, "schedule").and_then(|text| text.parse().ok()) {
        let holder = Holder::from_stored(""); // whose it was makes no difference to what is untold
        let (key, ttl) = (key.clone(), std::time::Duration::ZERO);
        let mut request = AcquireRequest::new(key, holder, run_id, node, tick, schedule, ttl);
        request.after = text(&object, "after").and_then(read_tick).flatten();
        run.untold = Untold::after(&request, before(marks, tick, entry.changed), None);
    }
    Some(run)
}

/// A mark that is or was one, and when it was written, as the store counts.
#[derive(Debug)]
pub(crate) struct Marked {
    pub(crate) mark: Mark,
    pub(crate) at: u64,
}

/// The mark as it was when one was moved to that tick by that revision. (An operator may have
/// taken the marks away since, and newer ones be at older ticks.)
pub(crate) fn before(marks: &[Marked], tick: Option<Occurrence>, revision: u64) -> Option<&Mark> {
    let tick = tick?;
    let is_before = |it: &&Marked| it.mark.point.occurrence < tick && it.at < revision;
    marks.iter().find(is_before).map(|marked| &marked.mark)
}

fn object(value: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(value).ok()
}

pub(crate) fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
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
        let point = request.point().unwrap();
        for how in [None, Some((SkipReason::Misfire, None)), Some((SkipReason::Overlap, run))] {
            let untold = Untold::after(&request, None, how);
            let value = match how {
                None => granted_mark(&request),
                Some(how) => consumed_mark(&request, how, Some(point), &untold),
            };
            let entry = entry("tidelock/n/job/mark/001764431132000", value);
            let read = read_mark(&request.key, &entry, None).unwrap();
            let (moved, previous) = match how {
                None => (Moved::Granted(FencingToken::new(12)), None),
                Some((reason, blocked_by)) => (Moved::Consumed { reason, blocked_by }, Some(point)),
            };
            let mut expected = Mark::new(&request, point, moved, previous, None);
            expected.untold = untold;
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn an_open_run_reads_back() {
        let mut request = request();
        for tick in [request.occurrence, None] {
            request.occurrence = tick;
            let key = format!("tidelock/n/job/open/{}", request.run_id);
            let mut mark = Mark::new(
                &request,
                MarkPoint::new(Occurrence::from_millisecond(5).unwrap(), request.fingerprint),
                Moved::Granted(FencingToken::new(1)),
                None,
                None,
            );
            mark.run_id = RunId::new(1);
            let stored = entry(&key, open_run(&request));
            let marks = [Marked { mark: mark.clone(), at: 12 }];
            let read = read_open_run(&request.key, &stored, &marks).unwrap();
            assert_eq!((read.run_id, &read.node), (request.run_id, &request.node));
            assert_eq!((read.occurrence, read.token.get()), (tick, 13));
            assert_eq!(read.untold, Untold::after(&request, Some(&mark), None));
            assert_eq!(read.untold.passed.len(), usize::from(tick.is_some()));
            // What was written later is not what was there before.
            let marks = [Marked { mark, at: 13 }];
            let read = read_open_run(&request.key, &stored, &marks).unwrap();
            assert!(read.untold.is_empty());
        }
    }

    #[test]
    fn what_makes_no_sense_is_none() {
        let request = request();
        let good = granted_mark(&request);
        for key in ["a/mark/1764431132000", "a/mark/00176443113200x", "a/mark/"] {
            assert!(read_point(&entry(key, good.clone())).is_none(), "{key}");
        }
        for bad in ["", "{}", "[]", "soon"] {
            let entry = entry("a/mark/001764431132000", bad.to_owned());
            assert!(read_mark(&request.key, &entry, None).is_none());
            assert!(read_open_run(&request.key, &entry, &[]).is_none());
        }
    }
}
