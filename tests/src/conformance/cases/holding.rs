//! Renewing a lock and giving it up, for its holder alone.

use std::time::Duration;

use tidelock::{Acquisition, Clear, LockState, Release, Renewal};

use crate::conformance::Suite;
use crate::conformance::bench::must;

/// A node that was cut off comes back, and renews what is another's by now.
pub async fn lock_13_a_stale_holders_renewal_leaves_the_new_holder_untouched(suite: Suite) {
    let bench = suite.fresh().await;
    let stale = bench.granted(&bench.ask_briefly("a", 0)).await.lease;
    suite.expire().await;
    let next = bench.ask_briefly("b", 1);
    let lease = bench.granted(&next).await.lease;
    assert_eq!(bench.renew(&stale).await, Renewal::Lost);
    let held = bench.state().await.held.expect("the new holder's lock");
    assert_eq!(held.holder, next.holder);
    assert!(held.expires_in <= next.ttl + bench.slack, "{held:?}");
    assert_eq!(bench.finish(&lease).await, Release::Released);
    assert_eq!(bench.renew(&stale).await, Renewal::Lost);
}

/// A renewal sets the lock's life, whatever was left of it.
pub async fn lock_13_a_renewal_sets_the_ttl_anew_and_never_adds(suite: Suite) {
    let bench = suite.fresh().await;
    let lease = bench.granted(&bench.ask("a", 0)).await.lease;
    for _ in 0..3 {
        assert_eq!(bench.renew_briefly(&lease).await, Renewal::Renewed);
    }
    suite.expire().await;
    assert_eq!(bench.state().await.held, None);
}

/// Renewed in time, a lock is held for as long as its holder likes.
pub async fn lock_13_renewals_hold_a_lock_past_its_ttl(suite: Suite) {
    let bench = suite.fresh().await;
    let request = bench.ask_briefly("a", 0);
    let lease = bench.granted(&request).await.lease;
    for _ in 0..4 {
        bench.most_of_the_ttl().await;
        assert_eq!(bench.renew_briefly(&lease).await, Renewal::Renewed);
        let other = bench.begin(&bench.ask("b", 1)).await;
        assert!(matches!(other, Acquisition::Held(_)), "{other:?}");
    }
    assert_eq!(bench.finish(&lease).await, Release::Released);
}

/// A lock that has expired cannot be brought back, even while it is free.
pub async fn lock_14_an_expired_lock_is_lost_and_stays_gone(suite: Suite) {
    let bench = suite.fresh().await;
    let lease = bench.granted(&bench.ask_briefly("a", 0)).await.lease;
    suite.expire().await;
    assert_eq!(bench.renew(&lease).await, Renewal::Lost);
    assert_eq!(bench.state().await.held, None);
    bench.granted(&bench.ask("b", 1)).await;
}

/// A renewal that arrives after the release finds nothing, and makes nothing.
pub async fn lock_14_a_renewal_after_the_release_creates_no_lock(suite: Suite) {
    let bench = suite.fresh().await;
    let lease = bench.run(&bench.ask("a", 0)).await.lease;
    assert_eq!(bench.renew(&lease).await, Renewal::Lost);
    assert_eq!(bench.state().await.held, None);
    let mut unknown = lease;
    unknown.key = crate::conformance::bench::key("unknown");
    assert_eq!(bench.renew(&unknown).await, Renewal::Lost);
    let state = bench.state_of(&unknown.key).await;
    assert_eq!(state, LockState::default());
}

/// What an operator took away stays away.
pub async fn lock_14_a_renewal_after_a_forced_release_is_lost(suite: Suite) {
    let bench = suite.fresh().await;
    let lease = bench.granted(&bench.ask("a", 0)).await.lease;
    assert_eq!(bench.force_release(Clear::Lock).await, Release::Released);
    assert_eq!(bench.renew(&lease).await, Renewal::Lost);
    assert_eq!(bench.state().await.held, None);
}

/// A node that was cut off comes back, and releases what is another's by now.
pub async fn lock_15_a_stale_holders_release_leaves_the_new_holder_untouched(suite: Suite) {
    let bench = suite.fresh().await;
    let stale = bench.granted(&bench.ask_briefly("a", 0)).await.lease;
    suite.expire().await;
    let next = bench.ask_briefly("b", 1);
    let lease = bench.granted(&next).await.lease;
    assert_eq!(bench.finish(&stale).await, Release::NotHeld);
    let held = bench.state().await.held.expect("the new holder's lock");
    assert_eq!(held.holder, next.holder);
    assert!(held.expires_in <= next.ttl + bench.slack, "{held:?}");
    let third = bench.begin(&bench.ask("c", 2)).await;
    assert!(matches!(third, Acquisition::Held(_)), "{third:?}");
    assert_eq!(bench.renew_briefly(&lease).await, Renewal::Renewed);
}

/// The same when both acquisitions are one node's.
pub async fn lock_15_a_node_does_not_release_its_own_later_acquisition(suite: Suite) {
    let bench = suite.fresh().await;
    let first = bench.granted(&bench.ask("a", 0)).await.lease;
    assert_eq!(bench.force_release(Clear::Lock).await, Release::Released);
    let next = bench.ask("a", 1);
    bench.granted(&next).await;
    assert_eq!(bench.finish(&first).await, Release::NotHeld);
    let held = bench.state().await.held.expect("the later lock");
    assert_eq!(held.holder, next.holder);
}

/// A released lock is free at once, and stays so.
pub async fn lock_15_a_release_frees_the_lock_at_once(suite: Suite) {
    let bench = suite.fresh().await;
    bench.run(&bench.ask("a", 0)).await;
    assert_eq!(bench.state().await.held, None);
    bench.run(&bench.ask("b", 1)).await;
}

/// A run that ended after its lock had gone is open no more.
pub async fn lock_16_a_release_after_expiry_closes_the_run(suite: Suite) {
    let bench = suite.fresh().await;
    let lease = bench.granted(&bench.ask_briefly("a", 0)).await.lease;
    suite.expire().await;
    assert_eq!(bench.state().await.open_runs.len(), 1);
    assert_eq!(bench.finish(&lease).await, Release::NotHeld);
    assert_eq!(bench.state().await.open_runs, []);
}

/// A release closes the runs that were named to it, and none that was granted later.
pub async fn lock_16_a_release_closes_the_runs_named_to_it_and_no_later_ones(suite: Suite) {
    let bench = suite.fresh().await;
    let (a, b) = (bench.ask("a", 0), bench.ask("b", 1));
    bench.granted(&a).await;
    assert_eq!(bench.force_release(Clear::Lock).await, Release::Released);
    let second = bench.granted(&b).await.lease;
    assert_eq!(bench.force_release(Clear::Lock).await, Release::Released);
    let c = bench.ask("c", 2);
    let third = bench.granted(&c).await.lease;
    assert_eq!(bench.state().await.open_runs.len(), 3);
    assert_eq!(bench.finish(&second).await, Release::NotHeld);
    let open = bench.state().await.open_runs;
    assert_eq!(open.iter().map(|run| run.run_id).collect::<Vec<_>>(), [c.run_id]);
    assert_eq!(bench.finish(&third).await, Release::Released);
    assert_eq!(bench.state().await.open_runs, []);
}

/// Said again, a release finds nothing to do.
pub async fn lock_17_a_repeated_release_is_not_held(suite: Suite) {
    let bench = suite.fresh().await;
    let lease = bench.run(&bench.ask("a", 0)).await.lease;
    let before = bench.state().await;
    assert_eq!(bench.finish(&lease).await, Release::NotHeld);
    let released = must(bench.backend.release(&lease).await).value;
    assert_eq!(released, Release::NotHeld);
    assert_eq!(bench.state().await, before);
}

/// Hundreds of short runs leave neither lock nor open run.
pub async fn lock_17_many_short_runs_leave_nothing_behind(suite: Suite) {
    let bench = suite.fresh().await;
    for second in 0..200 {
        let lease = bench.granted(&bench.ask("a", second)).await.lease;
        let (renewed, _) = tokio::join!(bench.renew(&lease), bench.finish(&lease));
        let _either_came_first: Renewal = renewed;
        let state = bench.state().await;
        assert_eq!((state.held, state.open_runs), (None, vec![]));
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(bench.state().await.held, None);
}
