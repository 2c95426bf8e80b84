//! What is remembered: tokens, marks, and runs that never ended.

use tidelock::{Acquisition, Clear, Grant, IfHeld, Intent, Release, RunId, SkipReason};

use crate::conformance::Suite;

fn named(grant: &Grant) -> Vec<RunId> {
    grant.abandoned.iter().map(|run| run.run_id).collect()
}

/// Tokens grow from grant to grant, those of manual runs too.
pub async fn lock_09_tokens_grow_over_release(suite: Suite) {
    let bench = suite.fresh().await;
    let mut last = None;
    for second in 0..5 {
        for request in [bench.ask("a", second), bench.ask_manually("b")] {
            let token = Some(bench.run(&request).await.lease.token);
            assert!(token > last, "{token:?} after {last:?}");
            last = token;
        }
    }
}

/// Tokens grow when a holder fell silent.
pub async fn lock_09_tokens_grow_over_expiry(suite: Suite) {
    let bench = suite.fresh().await;
    let first = bench.granted(&bench.ask_briefly("a", 0)).await;
    suite.expire().await;
    let second = bench.granted(&bench.ask("b", 1)).await;
    assert!(second.lease.token > first.lease.token);
}

/// Tokens grow when an operator intervened.
pub async fn lock_09_tokens_grow_over_forced_release(suite: Suite) {
    let bench = suite.fresh().await;
    let first = bench.granted(&bench.ask("a", 0)).await;
    assert_eq!(bench.force_release(Clear::Lock).await, Release::Released);
    let second = bench.granted(&bench.ask("b", 1)).await;
    assert!(second.lease.token > first.lease.token);
    let released = bench.force_release(Clear::LockAndMark).await;
    assert_eq!(released, Release::Released);
    let third = bench.granted(&bench.ask("c", 1)).await;
    assert!(third.lease.token > second.lease.token);
}

/// A token is not below the backend's clock in microseconds, so that it grows even over data that
/// the store has lost.
pub async fn lock_09_a_token_is_at_least_the_backends_clock(suite: Suite) {
    let bench = suite.fresh().await;
    let before = bench.backend.has_clock().then_some(bench.now().await);
    let token = bench.run(&bench.ask("a", 0)).await.lease.token.get();
    let least = before.map_or(1, |clock| clock.as_microsecond().unsigned_abs());
    assert!(token >= least, "{token} is below {least}");
}

/// The mark as it was tells its winner which ticks nobody took.
pub async fn lock_10_a_grant_carries_the_mark_as_it_was(suite: Suite) {
    let bench = suite.fresh().await;
    let first = bench.ask("a", 0);
    assert_eq!(bench.run(&first).await.previous, None);
    bench.run(&bench.ask_manually("a")).await;
    let mut edited = bench.ask("b", 5);
    edited.fingerprint = tidelock::Fingerprint::new(u64::MAX);
    assert_eq!(bench.run(&edited).await.previous, first.point());
    let last = bench.run(&bench.ask("c", 6)).await;
    assert_eq!(last.previous, edited.point());
    let mark = bench.state().await.mark.expect("a mark");
    assert_eq!(mark.previous, edited.point());
}

/// So does what was consumed, which is a mark like any other.
pub async fn lock_10_consumed_carries_the_mark_as_it_was(suite: Suite) {
    let bench = suite.fresh().await;
    let first = bench.ask("a", 0);
    let grant = bench.granted(&first).await;
    let mut skip = bench.ask("b", 5);
    skip.intent = Intent::Skip(SkipReason::Misfire);
    let mut blocked = bench.ask("c", 9);
    blocked.if_held = IfHeld::Consume;
    for (request, previous) in [(&skip, first.point()), (&blocked, skip.point())] {
        let Acquisition::Consumed(consumed) = bench.begin(request).await else {
            panic!("expected that it is consumed");
        };
        assert_eq!(consumed.previous, previous);
    }
    assert_eq!(bench.finish(&grant.lease).await, Release::Released);
    let next = bench.granted(&bench.ask("a", 12)).await;
    assert_eq!(next.previous, blocked.point());
}

/// A run that nobody ended is named to each that comes after it, until one of them has settled it.
pub async fn lock_11_abandoned_runs_are_named_again_until_settled(suite: Suite) {
    let bench = suite.fresh().await;
    let (a, b) = (bench.ask_briefly("a", 0), bench.ask_briefly("b", 1));
    assert_eq!(named(&bench.granted(&a).await), []);
    suite.expire().await;
    let second = bench.granted(&b).await;
    assert_eq!(named(&second), [a.run_id]);
    let dead = &second.abandoned[0];
    assert_eq!((&dead.node, dead.occurrence), (&a.node, a.occurrence));
    suite.expire().await;
    let third = bench.granted(&bench.ask("c", 2)).await;
    assert_eq!(named(&third), [a.run_id, b.run_id]);
    assert_eq!(bench.finish(&third.lease).await, Release::Released);
    assert_eq!(named(&bench.granted(&bench.ask("d", 3)).await), []);
}

/// A repeated request is told them as its first answer told them.
pub async fn lock_11_a_repeated_grant_names_them_too(suite: Suite) {
    let bench = suite.fresh().await;
    let a = bench.ask_briefly("a", 0);
    bench.granted(&a).await;
    suite.expire().await;
    let request = bench.ask("b", 1);
    let first = bench.granted(&request).await;
    assert_eq!(bench.granted(&request).await, first);
    assert_eq!(named(&first), [a.run_id]);
}

/// A run whose lock an operator took away is named as well, and its own end settles it.
pub async fn lock_11_a_run_that_ends_late_is_named_no_more(suite: Suite) {
    let bench = suite.fresh().await;
    let (a, b) = (bench.ask("a", 0), bench.ask("b", 1));
    let first = bench.granted(&a).await;
    assert_eq!(bench.force_release(Clear::Lock).await, Release::Released);
    assert_eq!(named(&bench.granted(&b).await), [a.run_id]);
    assert_eq!(bench.finish(&first.lease).await, Release::NotHeld);
    assert_eq!(bench.force_release(Clear::Lock).await, Release::Released);
    assert_eq!(named(&bench.granted(&bench.ask("c", 2)).await), [b.run_id]);
}

/// The mark is no lock: it stays when the lock has gone.
pub async fn lock_12_mark_and_token_outlive_the_lock(suite: Suite) {
    let bench = suite.fresh().await;
    bench.granted(&bench.ask_briefly("a", 0)).await;
    let before = bench.state().await;
    suite.expire().await;
    suite.expire().await;
    let after = bench.state().await;
    assert!(before.mark.is_some() && before.token.is_some());
    assert_eq!((after.mark, after.token), (before.mark, before.token));
    let late = bench.begin(&bench.ask("b", 0)).await;
    assert!(matches!(late, Acquisition::AlreadyTaken(_)), "{late:?}");
}
