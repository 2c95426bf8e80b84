//! What is known of a job's key, and what that means for a request.

use etcd_client::{GetOptions, SortOrder, SortTarget, TxnOp};
use tidelock::{
    AcquireRequest, Acquisition, BackendError, Consumed, FencingToken, Holder, Lease, LockKey,
    Mark, MarkPoint, Moved, NodeId, OpenRun, RunId, Taken,
};

use crate::keys::{Keys, Part};
use crate::reply::{Entry, Found, Reply};
use crate::text::{self, Marked};

/// How many parts of a transaction [`look`] is.
pub(crate) const PARTS: usize = 3;

/// How many ticks taken are read. Mostly there are two: those before the previous of a run that is
/// released go. There are more after runs that were not.
const MARKS: i64 = 64;

/// Reads all that an answer needs: the lock, the newest ticks taken, the open runs.
pub(crate) fn look(keys: &Keys) -> [TxnOp; PARTS] {
    [TxnOp::get(keys.lock(), None), newest_marks(keys), open_runs(keys)]
}

/// The newest ticks taken, newest first: the mark, and the mark as it was.
pub(crate) fn newest_marks(keys: &Keys) -> TxnOp {
    TxnOp::get(keys.all(Part::Marks), Some(newest_marks_options(keys, MARKS)))
}

pub(crate) fn newest_marks_options(keys: &Keys, limit: i64) -> GetOptions {
    GetOptions::new()
        .with_range(keys.end(Part::Marks))
        .with_sort(SortTarget::Key, SortOrder::Descend)
        .with_limit(limit)
}

/// The open runs, oldest grant first.
pub(crate) fn open_runs(keys: &Keys) -> TxnOp {
    let options = GetOptions::new()
        .with_range(keys.end(Part::Open))
        .with_sort(SortTarget::Mod, SortOrder::Ascend);
    TxnOp::get(keys.all(Part::Open), Some(options))
}

/// A lock that is held.
#[derive(Clone, Debug)]
pub(crate) struct LockNow {
    pub(crate) holder: Holder,
    pub(crate) run_id: RunId,
    /// When it was taken, as the store counts: its fencing token.
    pub(crate) token: FencingToken,
    /// What it goes with; 0 for nothing.
    pub(crate) lease: i64,
}

/// What the store knows of a key.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) lock: Option<LockNow>,
    pub(crate) mark: Option<Mark>,
    /// When the mark was written, as the store counts.
    pub(crate) marked: u64,
    /// The ticks taken that are known, the mark among them, newest first.
    pub(crate) marks: Vec<Marked>,
    pub(crate) open: Vec<OpenRun>,
}

/// What a state says to a request, before its intent counts.
pub(crate) enum Says {
    /// The lock is this very holder's.
    Mine(LockNow),
    /// This is the answer.
    Answer(Box<Acquisition>),
    /// Another run has the lock.
    Held(LockNow),
    /// Nothing speaks against it.
    Free,
}

impl State {
    /// Reads the parts that [`look`] asked for.
    pub(crate) fn read(key: &LockKey, reply: &mut Reply) -> Result<Self, BackendError> {
        let lock = reply.entry()?.map(|entry| lock(&entry, reply)).transpose()?;
        let found = reply.found()?;
        let mark = mark(key, &found, reply)?;
        let marked = found.entries.first().map_or(0, |entry| entry.changed);
        let marks = marks(key, &found, usize::MAX);
        let open = open(key, &reply.found()?, &marks);
        Ok(Self { lock, mark, marked, marks, open })
    }

    /// Lines 1 to 3 and 6 of the contract, in its order.
    pub(crate) fn says(&self, request: &AcquireRequest) -> Says {
        if let Some(lock) = self.lock.as_ref().filter(|lock| lock.holder == request.holder) {
            return Says::Mine(lock.clone());
        }
        let mark = self.mark.as_ref();
        if let Some(tick) = request.occurrence
            && let Some(mark) = mark.filter(|mark| mark.point.occurrence >= tick)
        {
            let first_answer = mark.point.occurrence == tick && mark.holder == request.holder;
            return Says::Answer(Box::new(match mark.moved {
                Moved::Granted(token) if first_answer => {
                    Acquisition::Expired(lease(request, token))
                }
                Moved::Consumed { reason, blocked_by } if first_answer => {
                    let untold = mark.untold.clone();
                    Acquisition::Consumed(Consumed::new(reason, blocked_by, mark.previous, untold))
                }
                _ => self.taken(mark),
            }));
        }
        self.lock.clone().map_or(Says::Free, Says::Held)
    }

    fn taken(&self, mark: &Mark) -> Acquisition {
        let holder = self.lock.as_ref().map(|lock| &lock.holder);
        Acquisition::AlreadyTaken(Taken::new(mark.clone(), holder == Some(&mark.holder)))
    }

    /// The node that a lock's run was granted to.
    pub(crate) fn node(&self, lock: &LockNow) -> Option<NodeId> {
        let noted = self.open.iter().find(|run| run.run_id == lock.run_id);
        noted.map(|run| run.node.clone()).or_else(|| {
            // A holder's text begins with its node.
            NodeId::new(lock.holder.as_str().rsplit_once('/')?.0).ok()
        })
    }
}

pub(crate) fn lease(request: &AcquireRequest, token: FencingToken) -> Lease {
    Lease::new(request.key.clone(), request.holder.clone(), request.run_id, token)
}

pub(crate) fn lock(entry: &Entry, reply: &Reply) -> Result<LockNow, BackendError> {
    let (holder, run_id) =
        text::read_lock(&entry.value).ok_or_else(|| reply.odd("the lock makes no sense"))?;
    Ok(LockNow { holder, run_id, token: FencingToken::new(entry.created), lease: entry.lease })
}

/// The mark, from the newest ticks taken.
pub(crate) fn mark(
    key: &LockKey,
    found: &Found,
    reply: &Reply,
) -> Result<Option<Mark>, BackendError> {
    let mut newest = found.entries.iter();
    let Some(entry) = newest.next() else {
        return Ok(None);
    };
    let previous = newest.next().and_then(point);
    let mark = text::read_mark(key, entry, previous);
    mark.map(Some).ok_or_else(|| reply.odd("the mark makes no sense"))
}

/// The mark as it was. One that makes no sense refuses nothing, since the store compares names of
/// keys: ticks that were missed since then are not told.
pub(crate) fn point(entry: &Entry) -> Option<MarkPoint> {
    let point = text::read_point(entry);
    if point.is_none() {
        let key = String::from_utf8_lossy(&entry.key);
        tracing::warn!(%key, "the mark as it was makes no sense");
    }
    point
}

/// What can be read of the ticks taken, newest first, up to so many.
pub(crate) fn marks(key: &LockKey, found: &Found, limit: usize) -> Vec<Marked> {
    let read = |entry: &Entry| {
        let mark = text::read_mark(key, entry, None)?;
        Some(Marked { mark, at: entry.changed })
    };
    found.entries.iter().filter_map(read).take(limit).collect()
}

/// The open runs. What is none tells of no run that could be closed, and stands in the way of none:
/// the next release clears it away.
pub(crate) fn open(key: &LockKey, found: &Found, marks: &[Marked]) -> Vec<OpenRun> {
    let read = |entry: &Entry| {
        let run = text::read_open_run(key, entry, marks);
        if run.is_none() {
            let key = String::from_utf8_lossy(&entry.key);
            tracing::warn!(%key, "an entry of the open runs makes no sense");
        }
        run
    };
    found.entries.iter().filter_map(read).collect()
}
