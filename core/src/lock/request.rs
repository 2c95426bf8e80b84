//! Asking for a tick.

use std::time::Duration;

use jiff::SignedDuration;

use super::{LockKey, MarkPoint};
use crate::{Fingerprint, Holder, NodeId, Occurrence, RunId, SkipReason};

/// What the node means to do with the occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Intent {
    /// Run it.
    Run,
    /// Not run it: move the mark past it, so that no node does, and say why. Takes no lock, and
    /// means nothing for a manual run.
    Skip(SkipReason),
}

/// What becomes of the occurrence when another run holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IfHeld {
    /// It stays as it was, and may be asked for again.
    Leave,
    /// Once the backend's clock has reached it, the mark moves past it, so that one node alone
    /// reports the skip and no slower clock runs it later.
    Consume,
}

/// One node's request for one occurrence.
///
/// A retry repeats it unchanged; or with [`Intent::Skip`] in place of [`Intent::Run`], when all that
/// is wanted by then is to know what became of it: it hears of its grant, and where there was none,
/// takes no lock any more. (One that heard `Held` is asked anew: with the skew by then, and
/// perhaps another [`IfHeld`].)
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AcquireRequest {
    /// What to lock.
    pub key: LockKey,
    /// This acquisition, never used for another one.
    pub holder: Holder,
    /// The run that a grant would start.
    pub run_id: RunId,
    /// Who asks.
    pub node: NodeId,
    /// For which tick; `None` is a manual run, which has none and consumes none.
    pub occurrence: Option<Occurrence>,
    /// The tick before it, or one not older: with the mark there or later, nothing lies between.
    /// `None`: the node does not know, or ticks do lie between.
    pub after: Option<Occurrence>,
    /// The fingerprint of the node's schedule.
    pub fingerprint: Fingerprint,
    /// How long the lock lives without renewal.
    pub ttl: Duration,
    /// How far ahead of the backend's clock the occurrence may be. Default: 1 s.
    pub max_ahead: Duration,
    /// Run or skip. Default: run.
    pub intent: Intent,
    /// Leave or consume. Default: leave.
    pub if_held: IfHeld,
    /// How far this node's clock stands ahead of the backend's, as far as it knows: kept with the
    /// mark, so that nodes can see that they all differ alike.
    pub skew: Option<SignedDuration>,
}

impl AcquireRequest {
    /// The default of [`max_ahead`](Self::max_ahead).
    pub const MAX_AHEAD: Duration = Duration::from_secs(1);

    /// A request with the defaults named at each field.
    pub fn new(
        key: LockKey,
        holder: Holder,
        run_id: RunId,
        node: NodeId,
        occurrence: Option<Occurrence>,
        fingerprint: Fingerprint,
        ttl: Duration,
    ) -> Self {
        Self {
            key,
            holder,
            run_id,
            node,
            occurrence,
            after: None,
            fingerprint,
            ttl,
            max_ahead: Self::MAX_AHEAD,
            intent: Intent::Run,
            if_held: IfHeld::Leave,
            skew: None,
        }
    }

    /// Where a grant would put the mark; `None` for a manual run.
    pub fn point(&self) -> Option<MarkPoint> {
        self.occurrence.map(|occurrence| MarkPoint::new(occurrence, self.fingerprint))
    }
}
