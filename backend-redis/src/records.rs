//! Records: their part of the calls, and the answers.

use std::fmt;

use tidelock::stored::RecordText;
use tidelock::{BackendError, JobId, Lease, Record, RecordQuery, RunState};

use crate::config::Limits;
use crate::keys::{Namespace, Part};
use crate::reply::Reply;
use crate::script::{self, Call};
use crate::text;

pub(crate) fn save(namespace: &Namespace, limits: Limits, record: &Record) -> Call {
    let call = Call::new(&script::SAVE, &namespace.of(&record.job), &Part::HISTORY);
    with_limits(call, limits).arg(record.run_id).arg(Text(&RecordText::of(record)))
}

/// How much is kept, as scripts take it.
pub(crate) fn with_limits(call: Call, limits: Limits) -> Call {
    call.arg(limits.keep).arg(limits.max_age_ms)
}

/// How a run ended, as `finish` takes it.
pub(crate) fn with_end(call: Call, lease: &Lease, record: &Record) -> Call {
    let call = call.arg(Text(&RecordText::of(record)));
    let ran = record.state.is_final()
        && record.state != RunState::Abandoned
        && !record.state.is_tick_not_run();
    if ran && record.run_id == lease.run_id { call } else { call.arg(record.run_id) }
}

/// A record whose run and token the script knows already, as `begin` takes it.
pub(crate) fn with_running(call: Call, record: &Record) -> Call {
    let text = RecordText::of(record);
    let call = call.arg(Tail(&text));
    if record.state == RunState::Running { call } else { call.arg(&text.state) }
}

/// As it is stored, behind the time of that.
struct Text<'a>(&'a RecordText);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.0.state, self.0.token, Tail(self.0))
    }
}

/// What stands behind the token.
struct Tail<'a>(&'a RecordText);

impl fmt::Display for Tail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.0.count, self.0.ended, self.0.rest)
    }
}

pub(crate) fn list(namespace: &Namespace, limits: Limits, query: &RecordQuery) -> Call {
    // A Lua number holds it exactly.
    let limit = query.limit.min(1 << 30);
    Call::new(&script::LIST, &namespace.of(&query.job), &Part::HISTORY)
        .arg(limit)
        .arg(limits.keep)
        .arg(limits.max_age_ms)
}

/// The records of the answer; what is none is left out, with a word to the log.
pub(crate) fn listed(job: &JobId, mut reply: Reply) -> Result<Vec<Record>, BackendError> {
    let mut records = Vec::new();
    while let (Some(run), Some(stored)) = (reply.bytes()?, reply.bytes()?) {
        match text::read(job, &run, &stored) {
            Some(record) => records.push(record),
            None => {
                let run = String::from_utf8_lossy(&run);
                tracing::warn!(%job, %run, "an entry of the history is no record");
            }
        }
    }
    Ok(records)
}
