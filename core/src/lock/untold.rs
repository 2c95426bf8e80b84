//! Ticks that did not run, until it is sure that somebody has told of them.

use super::{AcquireRequest, Mark, MarkPoint};
use crate::{Fingerprint, NodeId, Occurrence, RunId, SkipReason};

/// Ticks that did not run, and of which it is not sure that a node has told.
///
/// The node that moves the mark past a tick records why it did not run; but it may die first, or
/// never hear that it was the one. So the backend keeps what there is to tell: with the mark while
/// ticks are consumed, then with the open run of the next grant, which names it to its holder. It
/// goes when a run to which it was named is released. All that tell of it use the same run ids, so
/// that it is recorded once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Untold {
    /// Ticks that were consumed, a row for each reason and schedule.
    pub skipped: Vec<SkippedRow>,
    /// Where ticks may have been passed over, oldest first.
    pub passed: Vec<PassedOver>,
}

/// Ticks of one schedule that were consumed for one reason since the newest grant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedRow {
    /// The run that the first of them would have been: see [`RunId::of_skipped`].
    pub run_id: RunId,
    /// The node that moved the mark past the newest.
    pub node: NodeId,
    /// Why they did not run.
    pub reason: SkipReason,
    /// Whose ticks they are: the schedule's fingerprint.
    pub fingerprint: Fingerprint,
    /// The run that was in the way of the newest, if one was.
    pub blocked_by: Option<RunId>,
    /// The oldest.
    pub first: Occurrence,
    /// The newest.
    pub last: Occurrence,
    /// How many.
    pub count: u64,
}

/// A move of the mark that may have passed over ticks: those between `since` and `until`, by the
/// schedule of that fingerprint. (A node with another one cannot tell which.)
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassedOver {
    /// The run that the tick at `until` was, or would have been: see [`RunId::of_passed`].
    pub run_id: RunId,
    /// The node that moved the mark.
    pub node: NodeId,
    /// The mark as it was.
    pub since: MarkPoint,
    /// Where it was moved to.
    pub until: Occurrence,
}

impl Untold {
    /// How many rows, and how many moves that passed over ticks, are kept at most; then the oldest
    /// go.
    pub const MAX: usize = 16;

    /// What there is to tell once `request` has moved that mark: by a grant, or by consuming the
    /// tick for a reason, behind a run if one is in the way. Nothing for a manual run.
    pub fn after(
        request: &AcquireRequest,
        mark: Option<&Mark>,
        consumed: Option<(SkipReason, Option<RunId>)>,
    ) -> Self {
        if request.occurrence.is_none() {
            return Self::default();
        }
        let mut untold = mark.map(|mark| mark.untold.clone()).unwrap_or_default();
        untold.passed.extend(mark.and_then(|mark| PassedOver::by(request, mark.point)));
        if untold.passed.len() > Self::MAX {
            untold.passed.remove(0);
        }
        if let Some((reason, blocked_by)) = consumed {
            untold.skip(request, reason, blocked_by);
        }
        untold
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.skipped.is_empty() && self.passed.is_empty()
    }

    /// And the request's tick, which does not run for that reason.
    pub fn skip(
        &mut self,
        request: &AcquireRequest,
        reason: SkipReason,
        blocked_by: Option<RunId>,
    ) {
        let Some(tick) = request.occurrence else {
            return;
        };
        let node = request.node.clone();
        let (kind, rows) = ((reason, request.fingerprint), &mut self.skipped);
        match rows.iter_mut().find(|row| (row.reason, row.fingerprint) == kind) {
            Some(row) => {
                (row.node, row.blocked_by, row.last) = (node, blocked_by, tick);
                row.count = row.count.saturating_add(1);
            }
            None => {
                let ticks = (tick, tick, 1);
                rows.push(SkippedRow::new(request.run_id, node, kind, blocked_by, ticks));
                if rows.len() > Self::MAX {
                    rows.remove(0);
                }
            }
        }
    }
}

impl SkippedRow {
    /// Ticks of that schedule, from the oldest to the newest and how many, that were consumed for
    /// that reason.
    pub fn new(
        run_id: RunId,
        node: NodeId,
        (reason, fingerprint): (SkipReason, Fingerprint),
        blocked_by: Option<RunId>,
        (first, last, count): (Occurrence, Occurrence, u64),
    ) -> Self {
        Self { run_id, node, reason, fingerprint, blocked_by, first, last, count }
    }
}

impl PassedOver {
    /// A move of the mark from `since` to `until`, for that run.
    pub fn new(run_id: RunId, node: NodeId, since: MarkPoint, until: Occurrence) -> Self {
        Self { run_id, node, since, until }
    }

    /// What a request passes over, or may pass over, that moves a mark from there.
    ///
    /// None under another schedule, and none where the mark stands at the tick that the request
    /// says is the one before.
    pub fn by(request: &AcquireRequest, mark: MarkPoint) -> Option<Self> {
        let until = request.occurrence?;
        let is_next = request.after.is_some_and(|before| before <= mark.occurrence);
        let other_schedule = mark.fingerprint != request.fingerprint;
        (!is_next && !other_schedule)
            .then(|| Self::new(request.run_id, request.node.clone(), mark, until))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::lock::{LockKey, Moved};
    use crate::{FencingToken, Holder, JobId};

    fn request(run: u128, second: i64) -> AcquireRequest {
        let node = NodeId::new(format!("node-{run}")).unwrap();
        let mut request = AcquireRequest::new(
            LockKey::of(&JobId::new("job").unwrap()),
            Holder::new(&node, run),
            RunId::new(run),
            node,
            Occurrence::from_millisecond(second * 1_000),
            Fingerprint::new(7),
            Duration::from_secs(30),
        );
        request.after = Occurrence::from_millisecond((second - 1) * 1_000);
        request
    }

    fn mark(request: &AcquireRequest, moved: Moved, untold: Untold) -> Mark {
        let mut mark = Mark::new(request, request.point().unwrap(), moved, None, None);
        mark.untold = untold;
        mark
    }

    const OVERLAP: Option<(SkipReason, Option<RunId>)> =
        Some((SkipReason::Overlap, Some(RunId::new(99))));

    #[test]
    fn the_same_reason_is_one_row_whoever_skips() {
        let mut last: Option<Mark> = None;
        for second in 1..=5_u8 {
            let consumed = if second == 3 { Some((SkipReason::TooLate, None)) } else { OVERLAP };
            let request = request(second.into(), second.into());
            let untold = Untold::after(&request, last.as_ref(), consumed);
            let (reason, blocked_by) = consumed.unwrap();
            last = Some(mark(&request, Moved::Consumed { reason, blocked_by }, untold));
        }
        let untold = last.unwrap().untold;
        assert_eq!(untold.passed, []);
        let rows: Vec<_> = untold.skipped.iter().map(|row| (row.run_id.get(), row.count)).collect();
        assert_eq!(rows, [(1, 4), (3, 1)]);
        assert_eq!(untold.skipped[0].node.as_str(), "node-5");
    }

    #[test]
    fn another_schedule_begins_a_row_of_its_own_and_old_rows_make_room() {
        let mut last: Option<Mark> = None;
        for second in 1..=40_u8 {
            let mut request = request(second.into(), second.into());
            request.fingerprint = Fingerprint::new(u64::from(second / 2));
            let untold = Untold::after(&request, last.as_ref(), OVERLAP);
            let (reason, blocked_by) = OVERLAP.unwrap();
            last = Some(mark(&request, Moved::Consumed { reason, blocked_by }, untold));
        }
        let rows = last.unwrap().untold.skipped;
        assert_eq!((rows.len(), rows[0].count, rows[15].count), (Untold::MAX, 2, 1));
        assert_eq!(rows[15].last.as_millisecond(), 40_000);
    }

    #[test]
    fn what_lies_between_is_noted_where_the_mark_is_not_the_tick_before() {
        let granted =
            |at| mark(&request(1, at), Moved::Granted(FencingToken::new(1)), Untold::default());
        let next = Untold::after(&request(2, 11), Some(&granted(10)), None);
        assert!(next.is_empty(), "{next:?}");
        let far = Untold::after(&request(2, 20), Some(&granted(10)), None);
        let expected = PassedOver::by(&request(2, 20), granted(10).point).unwrap();
        assert_eq!(
            (far.passed, expected.until),
            (vec![expected.clone()], request(2, 20).occurrence.unwrap())
        );
        let mut edited = granted(10);
        edited.point.fingerprint = Fingerprint::new(8);
        assert!(Untold::after(&request(2, 20), Some(&edited), None).is_empty());
        assert!(Untold::after(&request(2, 20), None, None).is_empty());
        let mut unknown = request(2, 11);
        unknown.after = None;
        assert_eq!(Untold::after(&unknown, Some(&granted(10)), None).passed.len(), 1);
    }

    #[test]
    fn a_manual_run_has_nothing_to_tell_and_old_gaps_make_room() {
        let mut manual = request(9, 50);
        manual.occurrence = None;
        let first = request(1, 1);
        let mut last = mark(&first, Moved::Granted(FencingToken::new(1)), Untold::default());
        for number in 2..=40_u8 {
            let request = request(number.into(), i64::from(number) * 10);
            let untold = Untold::after(&request, Some(&last), OVERLAP);
            last = mark(&request, Moved::Granted(FencingToken::new(2)), untold);
        }
        assert_eq!(last.untold.passed.len(), Untold::MAX);
        assert!(Untold::after(&manual, Some(&last), None).is_empty());
    }
}
