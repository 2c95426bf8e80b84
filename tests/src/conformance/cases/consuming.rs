//! Consuming a tick: nobody runs it, and one node reports it.

use std::time::Duration;

use jiff::SignedDuration;
use tidelock::{Acquisition, FencingToken, IfHeld, Intent, Release, SkipReason};

use crate::conformance::Suite;
use crate::conformance::bench::key;

/// A consumed tick answers a repeated request as it did at first.
pub async fn lock_02_a_retry_of_what_was_consumed_hears_it_again(suite: Suite) {
    let bench = suite.fresh().await;
    let first = bench.ask("a", 0);
    let grant = bench.granted(&first).await;
    let mut request = bench.ask("b", 1);
    request.if_held = IfHeld::Consume;
    let told = bench.consumed(&request).await;
    assert_eq!(bench.consumed(&request).await, told);
    assert_eq!(bench.finish(&grant.lease).await, Release::Released);
    assert_eq!(bench.consumed(&request).await, told);
    let mut skip = bench.ask("b", 2);
    skip.intent = Intent::Skip(SkipReason::Misfire);
    let told = bench.consumed(&skip).await;
    assert_eq!(bench.consumed(&skip).await, told);
    assert!(bench.state().await.held.is_none());
}

/// A request that was not answered is asked again as a skip when its time is over: it hears of the
/// grant, if there was one.
pub async fn lock_01_a_retry_that_would_skip_by_now_hears_of_its_grant(suite: Suite) {
    let bench = suite.fresh().await;
    let mut request = bench.ask("a", 0);
    let grant = bench.granted(&request).await;
    request.intent = Intent::Skip(SkipReason::TooLate);
    assert_eq!(bench.granted(&request).await.lease, grant.lease);
    assert_eq!(bench.finish(&grant.lease).await, Release::Released);
    let again = bench.begin(&request).await;
    assert_eq!(again, Acquisition::Expired(grant.lease));
}

/// Where it had not been granted, its first sending grants nothing when it arrives after all.
pub async fn lock_02_what_was_skipped_in_the_end_is_not_granted_late(suite: Suite) {
    let bench = suite.fresh().await;
    let late = bench.ask("a", 0);
    let mut request = late.clone();
    request.intent = Intent::Skip(SkipReason::TooLate);
    let told = bench.consumed(&request).await;
    assert_eq!(bench.consumed(&late).await, told);
    let state = bench.state().await;
    assert!(state.held.is_none() && state.open_runs.is_empty(), "{state:?}");
}

/// A tick that no node shall run takes no lock, no token and no run.
pub async fn lock_05_a_skip_moves_the_mark_and_nothing_else(suite: Suite) {
    let bench = suite.fresh().await;
    let mut skip = bench.ask("a", 0);
    skip.intent = Intent::Skip(SkipReason::Misfire);
    let told = bench.consumed(&skip).await;
    assert_eq!((told.reason, told.blocked_by), (SkipReason::Misfire, None));
    let state = bench.state().await;
    let mark = state.mark.expect("a mark");
    assert_eq!((Some(mark.point), mark.holder), (skip.point(), skip.holder));
    assert_eq!((state.held, state.token), (None, None::<FencingToken>));
    assert!(state.open_runs.is_empty() && bench.history().await.is_empty());
}

/// A skip does not wait for the lock, and leaves it as it is.
pub async fn lock_05_a_skip_moves_the_mark_past_a_held_lock(suite: Suite) {
    let bench = suite.fresh().await;
    let first = bench.ask("a", 0);
    let grant = bench.granted(&first).await;
    let mut skip = bench.ask("b", 1);
    skip.intent = Intent::Skip(SkipReason::TooLate);
    let told = bench.consumed(&skip).await;
    assert_eq!(told.reason, SkipReason::TooLate);
    let state = bench.state().await;
    assert_eq!(state.held.map(|held| held.holder), Some(first.holder));
    assert_eq!(state.open_runs.len(), 1);
    assert_eq!(bench.finish(&grant.lease).await, Release::Released);
}

/// Who is told `Held` may ask again: the tick is still there.
pub async fn lock_06_another_holder_hears_held_and_nothing_changes(suite: Suite) {
    let bench = suite.fresh().await;
    let first = bench.ask("a", 0);
    let grant = bench.granted(&first).await;
    let before = bench.state().await;
    // The name of the node makes no difference: it is no identity.
    for node in ["b", "a"] {
        let request = bench.ask(node, 1);
        let Acquisition::Held(held) = bench.begin(&request).await else {
            panic!("expected that it is held");
        };
        assert_eq!((held.holder, held.run_id), (first.holder.clone(), first.run_id));
        assert_eq!(held.node, first.node);
        assert!(!held.expires_in.is_zero() && held.expires_in <= first.ttl + bench.slack);
    }
    let after = bench.state().await;
    assert_eq!((after.mark, after.token), (before.mark, before.token));
    assert_eq!(after.open_runs, before.open_runs);
    assert_eq!(bench.finish(&grant.lease).await, Release::Released);
    bench.granted(&bench.ask("b", 1)).await;
}

/// Under a policy that forbids overlap, one node alone reports the skip.
pub async fn lock_06_held_with_consume_moves_the_mark_when_the_ticks_time_has_come(suite: Suite) {
    let bench = suite.fresh().await;
    let first = bench.ask("a", 0);
    let grant = bench.granted(&first).await;
    let mut request = bench.ask("b", 1);
    request.if_held = IfHeld::Consume;
    let told = bench.consumed(&request).await;
    assert_eq!((told.reason, told.blocked_by), (SkipReason::Overlap, Some(first.run_id)));
    assert_eq!(told.previous, first.point());
    let state = bench.state().await;
    let mark = state.mark.expect("a mark");
    assert_eq!((Some(mark.point), mark.previous), (request.point(), first.point()));
    assert_eq!((mark.holder, mark.run_id), (request.holder, request.run_id));
    assert_eq!(state.held.map(|held| held.holder), Some(first.holder));
    assert_eq!(state.open_runs.len(), 1);
    let mut later = bench.ask("c", 1);
    later.if_held = IfHeld::Consume;
    bench.taken(&later).await;
    assert_eq!(bench.finish(&grant.lease).await, Release::Released);
    bench.taken(&bench.ask("c", 1)).await;
}

/// A tick ahead of the backend's clock is not consumed: the lock may be free when its time comes.
/// (Without a clock it is consumed at once.)
pub async fn lock_06_held_with_consume_waits_for_the_ticks_time(suite: Suite) {
    let bench = suite.fresh().await;
    bench.granted(&bench.ask("a", 0)).await;
    let before = bench.state().await.mark;
    let ahead = SignedDuration::try_from(suite.ttl()).expect("a short time");
    let tick = bench.tick_in(ahead).await;
    let mut request = bench.ask_for(&key("job"), "b", Some(tick));
    request.if_held = IfHeld::Consume;
    request.max_ahead = Duration::from_secs(3_600);
    let early = bench.begin(&request).await;
    if !bench.backend.has_clock() {
        assert!(matches!(early, Acquisition::Consumed(_)), "{early:?}");
        return;
    }
    assert!(matches!(early, Acquisition::Held(_)), "{early:?}");
    assert_eq!(bench.state().await.mark, before);
    suite.expire().await;
    bench.consumed(&request).await;
}

/// A manual run has no tick that it could consume.
pub async fn lock_06_a_manual_run_hears_held_and_consumes_nothing(suite: Suite) {
    let bench = suite.fresh().await;
    bench.granted(&bench.ask("a", 0)).await;
    let before = bench.state().await.mark;
    let mut request = bench.ask_manually("b");
    request.if_held = IfHeld::Consume;
    let answer = bench.begin(&request).await;
    assert!(matches!(answer, Acquisition::Held(_)), "{answer:?}");
    assert_eq!(bench.state().await.mark, before);
}

/// A tick is consumed when a manual run is in its way, too.
pub async fn lock_06_a_manual_run_is_in_the_way_of_a_tick(suite: Suite) {
    let bench = suite.fresh().await;
    let manual = bench.ask_manually("a");
    bench.granted(&manual).await;
    let mut request = bench.ask("b", 0);
    request.if_held = IfHeld::Consume;
    let told = bench.consumed(&request).await;
    assert_eq!((told.blocked_by, told.previous), (Some(manual.run_id), None));
}
