//! Looking at keys, clearing them, and their names.

use tidelock::{Clear, LockState, Release};

use crate::conformance::Suite;
use crate::conformance::bench::key;

/// Ids that stores have been known to take for something else.
pub(super) const HOSTILE: [&str; 26] = [
    "a",
    "A",
    "a:b",
    "a/b",
    "a.b",
    "a b",
    "a*",
    "*",
    "a?",
    "[a]",
    "{a}",
    "{a}:b",
    "{",
    "}",
    "a{b}c",
    "\\",
    "\"a\"",
    "'; DROP TABLE a; --",
    "%s%n%00",
    "$a",
    "é",
    "e\u{301}",
    "a\u{2028}b",
    "😀",
    "\u{202e}abc",
    "../a",
];

/// Nothing is known of a key that nobody used.
pub async fn lock_18_an_unknown_key_is_empty(suite: Suite) {
    let bench = suite.fresh().await;
    assert_eq!(bench.state().await, LockState::default());
    assert_eq!(bench.state().await, LockState::default());
}

/// Looking does not keep a lock alive, nor change anything else.
pub async fn lock_18_inspecting_changes_nothing(suite: Suite) {
    let bench = suite.fresh().await;
    bench.granted(&bench.ask_briefly("a", 0)).await;
    let before = bench.state().await;
    bench.most_of_the_ttl().await;
    let mut after = bench.state().await;
    let held = after.held.as_mut().expect("a lock");
    let was = before.held.as_ref().expect("a lock").expires_in;
    assert!(held.expires_in <= was, "{:?} of {was:?}", held.expires_in);
    held.expires_in = was;
    assert_eq!(after, before);
    suite.expire().await;
    assert_eq!(bench.state().await.held, None);
}

/// An operator frees a lock, and ticks that were taken stay taken.
pub async fn lock_19_a_forced_release_frees_the_lock_and_keeps_the_mark(suite: Suite) {
    let bench = suite.fresh().await;
    bench.granted(&bench.ask("a", 0)).await;
    let before = bench.state().await;
    assert_eq!(bench.force_release(Clear::Lock).await, Release::Released);
    let after = bench.state().await;
    assert_eq!((&after.mark, after.token), (&before.mark, before.token));
    assert_eq!((after.held, after.open_runs), (None, before.open_runs));
    assert_eq!(bench.force_release(Clear::Lock).await, Release::NotHeld);
    assert_eq!(bench.state().await.mark, before.mark);
}

/// Told so, an operator clears the mark too: ticks that ran may run again, and tokens still grow.
pub async fn lock_19_a_forced_release_clears_the_mark_when_told(suite: Suite) {
    let bench = suite.fresh().await;
    let grant = bench.granted(&bench.ask("a", 5)).await;
    let released = bench.force_release(Clear::LockAndMark).await;
    assert_eq!(released, Release::Released);
    let state = bench.state().await;
    assert_eq!((state.mark, state.held), (None, None));
    assert_eq!(state.token, Some(grant.lease.token));
    assert_eq!(state.open_runs.len(), 1);
    let again = bench.granted(&bench.ask("b", 0)).await;
    assert_eq!(again.previous, None);
    assert!(again.lease.token > grant.lease.token);
    assert_eq!(again.abandoned.len(), 1);
}

/// The mark can be cleared while nothing is held.
pub async fn lock_19_a_mark_is_cleared_without_a_lock(suite: Suite) {
    let bench = suite.fresh().await;
    bench.run(&bench.ask("a", 0)).await;
    let released = bench.force_release(Clear::LockAndMark).await;
    assert_eq!(released, Release::NotHeld);
    assert_eq!(bench.state().await.mark, None);
    bench.run(&bench.ask("b", 0)).await;
}

/// Keys do not meet, whatever their names contain.
pub async fn lock_20_keys_of_hostile_names_do_not_meet(suite: Suite) {
    let bench = suite.fresh().await;
    let long = "é".repeat(tidelock::MAX_ID_BYTES / 2);
    let names: Vec<_> = HOSTILE.into_iter().chain([long.as_str()]).collect();
    let mut grants = Vec::new();
    for name in &names {
        let request = bench.ask_for(&key(name), "a", Some(bench.tick(0)));
        let grant = bench.granted(&request).await;
        assert_eq!((grant.previous, grant.abandoned.len()), (None, 0), "{name:?}");
        grants.push((request, grant.lease));
    }
    for (request, lease) in &grants {
        let held = bench.state_of(&request.key).await.held;
        let holder = held.map(|held| held.holder);
        assert_eq!(holder.as_ref(), Some(&request.holder), "{}", request.key);
        assert_eq!(bench.finish(lease).await, Release::Released);
        assert_eq!(bench.state_of(&request.key).await.held, None);
    }
    for name in names {
        let job = key(name).job().clone();
        let history = bench.history_of(&job, 10).await;
        assert_eq!(history.len(), 1, "{name:?}");
        assert_eq!(history[0].job, job);
    }
}

/// Nodes of hostile names hold locks like any other.
pub async fn lock_20_nodes_of_hostile_names_hold_locks(suite: Suite) {
    let bench = suite.fresh().await;
    for (second, node) in (0..).zip(HOSTILE) {
        let request = bench.ask(node, second);
        let lease = bench.granted(&request).await.lease;
        let state = bench.state().await;
        let held = state.held.expect("a lock");
        assert_eq!((held.holder, held.node), (request.holder, request.node.clone()));
        assert_eq!(state.mark.expect("a mark").node, request.node);
        assert_eq!(state.open_runs[0].node, request.node);
        assert_eq!(bench.finish(&lease).await, Release::Released);
    }
}
