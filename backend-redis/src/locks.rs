//! Locks: the calls, and what their answers mean.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tidelock::stored::{NONE, json_text, read_tick};
use tidelock::{
    AcquireRequest, Acquisition, Answer, BackendError, Clear, Consumed, FencingToken, Grant,
    HeldBy, Holder, IfHeld, Intent, Lease, LockKey, LockState, Mark, MarkPoint, Moved, Occurrence,
    OpenRun, Release, Renewal, RunId, RunState, SkipReason, Taken, Untold,
};

use crate::keys::{Keys, Part};
use crate::reply::{Fields, Reply, microseconds};
use crate::script::{self, Call, Script};
use crate::untold;

const NO_REASON: &str = "the mark was moved for no reason";

const LOCKS: [Part; 3] = [Part::Lock, Part::Mark, Part::Open];
const ALL: [Part; 7] = {
    let [running, runs, skipped, records] = Part::HISTORY;
    [Part::Lock, Part::Mark, Part::Open, running, runs, skipped, records]
};
const ENDED: [Part; 6] = {
    let [running, runs, skipped, records] = Part::HISTORY;
    [Part::Lock, Part::Open, running, runs, skipped, records]
};

/// An `acquire`, or the first arguments of a `begin`.
pub(crate) fn ask(script: &'static Script, keys: &Keys, request: &AcquireRequest) -> Call {
    let parts: &[Part] = if script.operation == "begin" { &ALL } else { &LOCKS };
    let intent = match (request.intent, request.if_held) {
        (Intent::Skip(reason), _) => RunState::Skipped(reason).as_str(),
        (_, IfHeld::Consume) => "run-or-consume",
        _ => "run",
    };
    let node = json_text(request.node.as_str());
    let call = Call::new(script, keys, parts)
        .text(request.holder.as_str())
        .arg(request.run_id)
        .text(request.node.as_str());
    let call = match request.occurrence {
        Some(tick) => call.arg(format_args!("{} {node}", tick.at())),
        None => call.arg(format_args!("{NONE} {node}")),
    };
    let call = with_digits(call, request.occurrence)
        .arg(request.fingerprint)
        .arg(milliseconds(request.ttl))
        .arg(format_args!("{:018}", earliest(request)))
        .text(intent);
    let call = match request.skew {
        Some(skew) => call.arg(skew.as_nanos()),
        None => call.text(""),
    };
    with_digits(call, request.after)
}

/// A tick in a fixed width, so that ticks compare as texts; nothing for none.
fn with_digits(call: Call, tick: Option<Occurrence>) -> Call {
    match tick {
        Some(tick) => call.arg(format_args!("{:015}", tick.as_millisecond())),
        None => call.text(""),
    }
}

/// The first microsecond by the server's clock at which the tick is not too early.
fn earliest(request: &AcquireRequest) -> u64 {
    let tick = request.occurrence.map_or(0, Occurrence::as_millisecond).unsigned_abs();
    let whole = u64::try_from(request.max_ahead.as_micros()).unwrap_or(u64::MAX);
    tick.saturating_mul(1_000).saturating_sub(whole)
}

/// A time to live for the server: at least its smallest, and less than what it takes for an error.
fn milliseconds(ttl: Duration) -> u64 {
    const CENTURY: u64 = 100 * 366 * 24 * 60 * 60 * 1_000;
    let whole = ttl.as_secs().saturating_mul(1_000);
    whole.saturating_add(ttl.subsec_nanos().div_ceil(1_000_000).into()).clamp(1, CENTURY)
}

pub(crate) fn renew(keys: &Keys, lease: &Lease, ttl: Duration) -> Call {
    with_lease(Call::new(&script::RENEW, keys, &[Part::Lock]), lease).arg(milliseconds(ttl))
}

pub(crate) fn release(keys: &Keys, lease: &Lease) -> Call {
    with_lease(Call::new(&script::RELEASE, keys, &[Part::Lock, Part::Open]), lease)
        .arg(lease.run_id)
}

/// The release's part of a `finish`.
pub(crate) fn finish(keys: &Keys, lease: &Lease) -> Call {
    with_lease(Call::new(&script::FINISH, keys, &ENDED), lease).arg(lease.run_id)
}

fn with_lease(call: Call, lease: &Lease) -> Call {
    call.arg(format_args!("{:016} {}", lease.token.get(), lease.holder.as_str()))
}

pub(crate) fn inspect(keys: &Keys) -> Call {
    Call::new(&script::INSPECT, keys, &LOCKS)
}

pub(crate) fn force_release(keys: &Keys, clear: Clear) -> Call {
    let what = match clear {
        Clear::Lock => "lock",
        Clear::LockAndMark => "lock-and-mark",
    };
    Call::new(&script::FORCE_RELEASE, keys, &[Part::Lock, Part::Mark]).text(what)
}

/// What was answered to an `acquire` or `begin`, and why a record was not stored.
pub(crate) fn acquisition(
    request: &AcquireRequest,
    mut reply: Reply,
) -> Result<(Answer<Acquisition>, String), BackendError> {
    let clock = reply.clock()?;
    let (what, unsaved) = reply.what()?;
    let acquisition = match what.as_str() {
        "granted" => {
            let token = token(&mut reply)?;
            let (previous, untold) = mark_before(&request.key, &mut reply)?;
            let abandoned = open_runs(&request.key, &mut reply)?;
            Acquisition::Granted(Grant::new(lease(request, token), previous, untold, abandoned))
        }
        "consumed" => {
            let how = reply.text()?;
            let (reason, blocked_by) = consumed(&how).ok_or_else(|| reply.odd(NO_REASON))?;
            let (previous, untold) = mark_before(&request.key, &mut reply)?;
            Acquisition::Consumed(Consumed::new(reason, blocked_by, previous, untold))
        }
        "taken" => {
            let running = reply.text()? == "1";
            let mark = mark(&request.key, &reply.fields()?, &reply)?;
            let mark = mark.ok_or_else(|| reply.odd("there is no mark"))?;
            Acquisition::AlreadyTaken(Taken::new(mark, running))
        }
        "early" => Acquisition::TooEarly { by: too_early_by(request, clock) },
        "held" => {
            let left = reply.parsed::<i64>("the lock's life makes no sense")?;
            let fields = reply.fields()?;
            Acquisition::Held(held(&fields, left)?)
        }
        "expired" => Acquisition::Expired(lease(request, token(&mut reply)?)),
        _ => return Err(reply.odd("an unknown answer")),
    };
    Ok((Answer::new(acquisition, Some(clock)), unsaved))
}

fn too_early_by(request: &AcquireRequest, clock: Timestamp) -> Duration {
    let now = u64::try_from(clock.as_microsecond()).unwrap_or(0);
    Duration::from_micros(earliest(request).saturating_sub(now))
}

fn lease(request: &AcquireRequest, token: FencingToken) -> Lease {
    Lease::new(request.key.clone(), request.holder.clone(), request.run_id, token)
}

fn token(reply: &mut Reply) -> Result<FencingToken, BackendError> {
    reply.parsed("the token makes no sense").map(FencingToken::new)
}

pub(crate) fn renewal(mut reply: Reply) -> Result<Answer<Renewal>, BackendError> {
    let clock = reply.clock()?;
    let renewal = match reply.text()?.as_str() {
        "renewed" => Renewal::Renewed,
        "lost" => Renewal::Lost,
        _ => return Err(reply.odd("an unknown answer")),
    };
    Ok(Answer::new(renewal, Some(clock)))
}

/// What was answered to a release of any kind, and why a record was not stored.
pub(crate) fn released(mut reply: Reply) -> Result<(Answer<Release>, String), BackendError> {
    let clock = reply.clock()?;
    let (what, unsaved) = reply.what()?;
    let release = match what.as_str() {
        "released" => Release::Released,
        "not-held" => Release::NotHeld,
        _ => return Err(reply.odd("an unknown answer")),
    };
    Ok((Answer::new(release, Some(clock)), unsaved))
}

pub(crate) fn state(key: &LockKey, mut reply: Reply) -> Result<Answer<LockState>, BackendError> {
    let clock = reply.clock()?;
    let left = reply.parsed::<i64>("the lock's life makes no sense")?;
    let lock = reply.list()?.fields()?;
    let fields = reply.list()?.fields()?;
    let open_runs = open_runs(key, &mut reply.list()?)?;
    let held = (!lock.is_empty()).then(|| held(&lock, left)).transpose()?;
    let mark = mark(key, &fields, &reply)?;
    let token = fields.optional("token", "the token makes no sense")?.map(FencingToken::new);
    Ok(Answer::new(LockState::new(mark, token, held, open_runs), Some(clock)))
}

fn held(lock: &Fields, left: i64) -> Result<HeldBy, BackendError> {
    const WHAT: &str = "the lock makes no sense";
    // A lock that never expires was not set by a script of this crate; it is held all the same.
    let left = u64::try_from(left).map_or(Duration::MAX, Duration::from_millis);
    let lease: String = lock.parsed("lease", WHAT)?;
    let (_, holder) = lease.split_once(' ').ok_or_else(|| lock.odd(WHAT))?;
    Ok(HeldBy::new(
        Holder::from_stored(holder),
        lock.parsed("run", WHAT)?,
        lock.parsed("node", WHAT)?,
        left,
    ))
}

fn mark(key: &LockKey, fields: &Fields, reply: &Reply) -> Result<Option<Mark>, BackendError> {
    const WHAT: &str = "the mark makes no sense";
    if !fields.has("tick") {
        return Ok(None);
    }
    let how: String = fields.parsed("how", WHAT)?;
    let odd = || reply.odd(WHAT);
    let moved = if let Some(token) = how.strip_prefix("granted ") {
        Moved::Granted(FencingToken::new(token.parse().map_err(|_| odd())?))
    } else {
        let (reason, blocked_by) = consumed(&how).ok_or_else(|| reply.odd(NO_REASON))?;
        Moved::Consumed { reason, blocked_by }
    };
    let tick = Occurrence::from_millisecond(fields.parsed("tick", WHAT)?).ok_or_else(odd)?;
    let node: tidelock::NodeId = fields.parsed("node", WHAT)?;
    let holder = Holder::from_stored(fields.parsed::<String>("holder", WHAT)?);
    // As far as the mark tells of it: the request that moved it.
    let request = AcquireRequest::new(
        key.clone(),
        holder,
        fields.parsed("run", WHAT)?,
        node,
        Some(tick),
        fields.parsed("schedule", WHAT)?,
        Duration::ZERO,
    );
    let (at, skew) = fields.text("at").unwrap_or_default().split_once(' ').unwrap_or_default();
    let at = microseconds(at);
    let skew = if skew.is_empty() { None } else { Some(skew.parse().map_err(|_| odd())?) };
    let previous = point(fields.text("previous").unwrap_or_default(), reply)?;
    let place = MarkPoint::new(tick, request.fingerprint);
    let mut mark = Mark::new(&request, place, moved, previous, at);
    mark.skew = skew.map(nanoseconds);
    mark.untold = untold::read(key, fields.text("untold").unwrap_or_default());
    Ok(Some(mark))
}

fn nanoseconds(total: i128) -> SignedDuration {
    const SECOND: i128 = 1_000_000_000;
    let limit = |seconds: i128| i64::try_from(seconds).unwrap_or(i64::MAX);
    let below = i32::try_from(total % SECOND).unwrap_or(0);
    SignedDuration::new(limit(total / SECOND), below)
}

/// A point of the mark: "tick schedule", or nothing.
fn point(text: &str, reply: &Reply) -> Result<Option<MarkPoint>, BackendError> {
    if text.is_empty() {
        return Ok(None);
    }
    let parse = || {
        let (tick, schedule) = text.split_once(' ')?;
        let tick = Occurrence::from_millisecond(tick.parse().ok()?)?;
        Some(MarkPoint::new(tick, schedule.parse().ok()?))
    };
    parse().map(Some).ok_or_else(|| reply.odd("the mark as it was makes no sense"))
}

/// The mark as it was, and in a second line what is untold, if anything is.
fn mark_before(
    key: &LockKey,
    reply: &mut Reply,
) -> Result<(Option<MarkPoint>, Untold), BackendError> {
    let text = reply.text()?;
    let (previous, untold) = text.split_once('\n').unwrap_or((&text, ""));
    Ok((point(previous, reply)?, untold::read(key, untold)))
}

/// How a tick was consumed: the state it has, and the run in the way, if there was one.
fn consumed(how: &str) -> Option<(SkipReason, Option<RunId>)> {
    let (state, run) = how.split_once(' ').unwrap_or((how, ""));
    let RunState::Skipped(reason) = state.parse().ok()? else { return None };
    Some((reason, if run.is_empty() { None } else { Some(run.parse().ok()?) }))
}

/// The open runs of the rest. What is none is left out, with a word to the log: it says nothing
/// about who may run, and the next release takes it along.
fn open_runs(key: &LockKey, reply: &mut Reply) -> Result<Vec<OpenRun>, BackendError> {
    let mut runs = Vec::new();
    while let Some(bytes) = reply.bytes()? {
        match std::str::from_utf8(&bytes).ok().and_then(|text| open_run(key, text)) {
            Some(run) => runs.push(run),
            None => tracing::warn!(job = %key.job(), "an entry of the open runs makes no sense"),
        }
    }
    Ok(runs)
}

/// An open run: "token run tick node", and in a second line what is untold, if anything is.
fn open_run(key: &LockKey, text: &str) -> Option<OpenRun> {
    let (text, untold) = text.split_once('\n').unwrap_or((text, ""));
    let mut parts = text.splitn(4, ' ');
    let token = FencingToken::new(parts.next()?.parse().ok()?);
    let run_id = parts.next()?.parse().ok()?;
    let tick = read_tick(parts.next()?)?;
    let node: String = serde_json::from_str(parts.next()?).ok()?;
    let mut run = OpenRun::new(run_id, node.parse().ok()?, tick, token);
    run.untold = untold::read(key, untold);
    Some(run)
}
