//! Ticks that did not run, until somebody has told of them.

use tidelock::{
    AcquireRequest, IfHeld, Intent, PassedOver, Release, SkipReason, SkippedRow, Untold,
};

use crate::conformance::bench::Bench;
use crate::conformance::suite::Suite;

/// A request whose node knows of no tick between it and the one a second before.
fn next(bench: &Bench, node: &str, second: i64) -> AcquireRequest {
    let mut request = bench.ask(node, second);
    request.after = Some(bench.tick(second - 1));
    request
}

fn skip(bench: &Bench, node: &str, second: i64, reason: SkipReason) -> AcquireRequest {
    let mut request = next(bench, node, second);
    request.intent = Intent::Skip(reason);
    request
}

fn row(
    first: &AcquireRequest,
    last: &AcquireRequest,
    reason: SkipReason,
    count: u64,
) -> SkippedRow {
    let (from, to) = (first.occurrence.expect("a tick"), last.occurrence.expect("a tick"));
    let kind = (reason, last.fingerprint);
    SkippedRow::new(first.run_id, last.node.clone(), kind, None, (from, to, count))
}

async fn on_the_mark(bench: &Bench) -> Untold {
    bench.state().await.mark.expect("a mark").untold
}

/// What one node consumed is still known when that node has died and others have gone on.
pub async fn lock_21_consumed_ticks_stay_with_the_mark_a_row_for_each_reason(suite: Suite) {
    let bench = suite.fresh().await;
    bench.run(&next(&bench, "a", 0)).await;
    assert!(on_the_mark(&bench).await.is_empty());
    let misfires = [
        skip(&bench, "a", 1, SkipReason::Misfire),
        skip(&bench, "b", 2, SkipReason::Misfire),
        skip(&bench, "node \"c\"\u{2028}{}", 4, SkipReason::Misfire),
    ];
    let late = skip(&bench, "b", 3, SkipReason::TooLate);
    for (request, count) in [(&misfires[0], 1), (&misfires[1], 2)] {
        let told = bench.consumed(request).await;
        let expected = row(&misfires[0], request, SkipReason::Misfire, count);
        assert_eq!((told.untold.skipped, told.untold.passed), (vec![expected], vec![]));
    }
    bench.consumed(&late).await;
    let told = bench.consumed(&misfires[2]).await;
    let mut rows = vec![
        row(&misfires[0], &misfires[2], SkipReason::Misfire, 3),
        row(&late, &late, SkipReason::TooLate, 1),
    ];
    assert_eq!(told.untold.skipped, rows);
    assert_eq!(on_the_mark(&bench).await, told.untold);
    // A retry hears the same.
    assert_eq!(bench.consumed(&misfires[2]).await, told);
    assert_eq!(bench.taken(&misfires[1]).await.mark.untold, told.untold);
    // Ticks of another schedule are no row with them.
    let mut edited = skip(&bench, "a", 5, SkipReason::TooLate);
    edited.fingerprint = tidelock::Fingerprint::new(1);
    rows.push(row(&edited, &edited, SkipReason::TooLate, 1));
    assert_eq!(bench.consumed(&edited).await.untold.skipped, rows);
}

/// The run in the way of the newest tick is told with it.
pub async fn lock_21_a_row_names_the_run_in_the_way(suite: Suite) {
    let bench = suite.fresh().await;
    let running = next(&bench, "a", 0);
    let grant = bench.granted(&running).await;
    let mut behind = [next(&bench, "b", 1), next(&bench, "c", 2)];
    for request in &mut behind {
        request.if_held = IfHeld::Consume;
        bench.consumed(request).await;
    }
    let mut expected = row(&behind[0], &behind[1], SkipReason::Overlap, 2);
    expected.blocked_by = Some(running.run_id);
    assert_eq!(on_the_mark(&bench).await.skipped, [expected]);
    assert_eq!(bench.finish(&grant.lease).await, Release::Released);
}

/// It is named to the next grant, and to that run's successor if it is abandoned.
pub async fn lock_21_a_grant_takes_it_along_until_a_run_that_was_told_is_released(suite: Suite) {
    let bench = suite.fresh().await;
    bench.run(&next(&bench, "a", 0)).await;
    let skipped = skip(&bench, "b", 1, SkipReason::Misfire);
    bench.consumed(&skipped).await;
    let mut dies = next(&bench, "c", 2);
    dies.ttl = suite.ttl();
    let grant = bench.granted(&dies).await;
    let untold = grant.untold.clone();
    assert_eq!(untold.skipped, [row(&skipped, &skipped, SkipReason::Misfire, 1)]);
    assert_eq!(untold.passed, []);
    // A repeated grant names it again; the mark has it no more, the open run does.
    assert_eq!(bench.granted(&dies).await.untold, untold);
    let state = bench.state().await;
    assert!(state.mark.expect("a mark").untold.is_empty());
    assert_eq!(state.open_runs[0].untold, untold);
    suite.expire().await;
    for second in [3, 4] {
        let mut request = next(&bench, "d", second);
        request.ttl = suite.ttl();
        let grant = bench.granted(&request).await;
        assert!(grant.untold.is_empty(), "{:?}", grant.untold);
        let named = grant.abandoned.iter().find(|run| run.run_id == dies.run_id);
        assert_eq!(named.map(|run| &run.untold), Some(&untold), "{second}");
        if second == 3 {
            suite.expire().await;
        } else {
            assert_eq!(bench.finish(&grant.lease).await, Release::Released);
        }
    }
    let last = bench.run(&next(&bench, "a", 5)).await;
    assert!(last.untold.is_empty() && last.abandoned.is_empty(), "{last:?}");
}

/// Ticks between the mark and the one it is moved to are nobody's: that there may be some is noted.
pub async fn lock_21_ticks_passed_over_are_noted(suite: Suite) {
    let bench = suite.fresh().await;
    let first = next(&bench, "a", 0);
    let passed = |request: &AcquireRequest, before: &AcquireRequest| {
        let until = request.occurrence.expect("a tick");
        let since = before.point().expect("a tick");
        PassedOver::new(request.run_id, request.node.clone(), since, until)
    };
    assert!(bench.run(&first).await.untold.is_empty());
    // By a grant, and by skips.
    let far = next(&bench, "b", 10);
    let grant = bench.run(&far).await;
    assert_eq!((grant.untold.skipped, grant.untold.passed), (vec![], vec![passed(&far, &first)]));
    let skips =
        [skip(&bench, "a", 20, SkipReason::Misfire), skip(&bench, "b", 30, SkipReason::Misfire)];
    bench.consumed(&skips[0]).await;
    bench.consumed(&skips[1]).await;
    let expected = [passed(&skips[0], &far), passed(&skips[1], &skips[0])];
    assert_eq!(on_the_mark(&bench).await.passed, expected);
    // Whose node does not know what lies between.
    let unknowing = bench.ask("c", 31);
    let grant = bench.run(&unknowing).await;
    assert_eq!(grant.untold.passed.last(), Some(&passed(&unknowing, &skips[1])));
    // What another schedule would have had there is not known.
    let mut edited = next(&bench, "c", 40);
    edited.fingerprint = tidelock::Fingerprint::new(1);
    assert!(bench.run(&edited).await.untold.is_empty());
}

/// A manual run passes nothing over, and takes nothing along.
pub async fn lock_21_a_manual_run_leaves_it_with_the_mark(suite: Suite) {
    let bench = suite.fresh().await;
    bench.run(&next(&bench, "a", 0)).await;
    bench.consumed(&skip(&bench, "b", 7, SkipReason::Misfire)).await;
    let untold = on_the_mark(&bench).await;
    assert_eq!((untold.skipped.len(), untold.passed.len()), (1, 1));
    let grant = bench.run(&bench.ask_manually("c")).await;
    assert!(grant.untold.is_empty());
    assert_eq!(on_the_mark(&bench).await, untold);
    assert_eq!(bench.run(&next(&bench, "c", 8)).await.untold, untold);
}
