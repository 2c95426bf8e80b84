//! Being refused a tick: it was taken, or its time has not come.

use std::time::Duration;

use jiff::SignedDuration;
use tidelock::{Acquisition, Intent, Moved, Release, SkipReason};

use crate::conformance::bench::key;
use crate::conformance::{Bench, Suite};

/// What a fast node ran and released, a slow one does not run again.
pub async fn lock_03_an_equal_occurrence_is_refused_after_release(suite: Suite) {
    let bench = suite.fresh().await;
    let first = bench.ask("a", 0);
    let grant = bench.run(&first).await;
    let told = bench.taken(&bench.ask("b", 0)).await;
    assert_eq!(Some(told.mark.point), first.point());
    assert_eq!((told.mark.holder, told.mark.node), (first.holder, first.node));
    assert_eq!(told.mark.moved, Moved::Granted(grant.lease.token));
    assert!(!told.running);
    assert!(bench.state().await.held.is_none());
}

/// No tick before the mark is ever granted.
pub async fn lock_03_an_older_occurrence_is_refused_after_release(suite: Suite) {
    let bench = suite.fresh().await;
    bench.run(&bench.ask("a", 10)).await;
    for second in [9, 0, -3_600] {
        let told = bench.taken(&bench.ask("b", second)).await;
        assert_eq!(told.mark.point.occurrence, bench.tick(10));
    }
    let state = bench.state().await;
    let mark = state.mark.expect("a mark");
    assert_eq!(mark.point.occurrence, bench.tick(10), "it moved back");
}

/// Who is refused learns whether the run goes on, and a manual run is another one.
pub async fn lock_03_already_taken_tells_whether_its_run_holds_the_lock(suite: Suite) {
    let bench = suite.fresh().await;
    let grant = bench.granted(&bench.ask("a", 0)).await;
    assert!(bench.taken(&bench.ask("b", 0)).await.running);
    assert_eq!(bench.finish(&grant.lease).await, Release::Released);
    assert!(!bench.taken(&bench.ask("b", 0)).await.running);
    bench.granted(&bench.ask_manually("c")).await;
    assert!(!bench.taken(&bench.ask("b", 0)).await.running);
}

/// A consumed tick is taken like any other.
pub async fn lock_03_a_consumed_occurrence_is_refused(suite: Suite) {
    let bench = suite.fresh().await;
    let mut skip = bench.ask("a", 0);
    skip.intent = Intent::Skip(SkipReason::Misfire);
    bench.consumed(&skip).await;
    let told = bench.taken(&bench.ask("b", 0)).await;
    let moved = Moved::Consumed { reason: SkipReason::Misfire, blocked_by: None };
    assert_eq!((told.mark.moved, told.running), (moved, false));
}

/// What was taken is told so even when it lies in the future.
pub async fn lock_03_taken_comes_before_too_early(suite: Suite) {
    let bench = suite.fresh().await;
    let (soon, later) = (hours_ahead(&bench, 1).await, hours_ahead(&bench, 2).await);
    let mut far = bench.ask_for(&key("job"), "a", Some(later));
    far.max_ahead = Duration::from_secs(3 * 3_600);
    bench.run(&far).await;
    for occurrence in [soon, later] {
        let request = bench.ask_for(&key("job"), "b", Some(occurrence));
        bench.taken(&request).await;
    }
}

async fn hours_ahead(bench: &Bench, hours: i64) -> tidelock::Occurrence {
    bench.tick_in(SignedDuration::from_hours(hours)).await
}

/// A node whose clock is far ahead takes no tick before its time. (A backend without a clock in its
/// answers may not be able to tell, and grants it then.)
pub async fn lock_04_too_far_ahead_of_the_backends_clock_is_too_early_and_changes_nothing(
    suite: Suite,
) {
    let bench = suite.fresh().await;
    let before = bench.state().await;
    let asked = tokio::time::Instant::now();
    let tick = hours_ahead(&bench, 1).await;
    let request = bench.ask_for(&key("job"), "a", Some(tick));
    let answer = bench.begin(&request).await;
    let took = asked.elapsed();
    if !bench.backend.has_clock() && matches!(answer, Acquisition::Granted(_)) {
        return;
    }
    let Acquisition::TooEarly { by } = answer else {
        panic!("expected that it is too early, got {answer:?}");
    };
    let expected = Duration::from_secs(3_600) - request.max_ahead;
    let tolerance = bench.slack + Duration::from_secs(2);
    // The clock was read while it asked: the tick has come nearer by no more than that.
    let range = expected - took - tolerance..=expected + tolerance;
    assert!(range.contains(&by), "{by:?} of {expected:?}, asked for {took:?}");
    assert_eq!(bench.state().await, before);
    bench.run(&bench.ask("a", 0)).await;
}

/// A skip is no way round it.
pub async fn lock_04_a_skip_can_be_too_early_too(suite: Suite) {
    let bench = suite.fresh().await;
    let tick = hours_ahead(&bench, 1).await;
    let mut skip = bench.ask_for(&key("job"), "a", Some(tick));
    skip.intent = Intent::Skip(SkipReason::Misfire);
    let answer = bench.begin(&skip).await;
    let refused = matches!(answer, Acquisition::TooEarly { .. });
    let unable = !bench.backend.has_clock() && matches!(answer, Acquisition::Consumed(_));
    assert!(refused || unable, "{answer:?}");
}

/// What was too early is granted after the time that the answer told.
pub async fn lock_04_what_was_too_early_is_granted_when_it_said(suite: Suite) {
    let bench = suite.fresh().await;
    let wait = suite.ttl();
    let mut ahead = SignedDuration::try_from(wait).expect("a short time");
    ahead += SignedDuration::from_millis(300);
    let tick = bench.tick_in(ahead).await;
    let mut request = bench.ask_for(&key("job"), "a", Some(tick));
    request.max_ahead = Duration::from_millis(300);
    let answer = bench.begin(&request).await;
    if let Acquisition::TooEarly { by } = answer {
        assert!(by <= wait + bench.slack, "{by:?}");
        tokio::time::sleep(by + bench.slack).await;
        bench.granted(&request).await;
    } else {
        let granted = matches!(answer, Acquisition::Granted(_));
        assert!(granted && !bench.backend.has_clock(), "{answer:?}");
    }
}

/// A clock that is a little ahead is no reason to refuse.
pub async fn lock_04_a_tick_within_max_ahead_is_granted(suite: Suite) {
    let bench = suite.fresh().await;
    let tick = bench.tick_in(SignedDuration::from_secs(30)).await;
    let mut request = bench.ask_for(&key("job"), "a", Some(tick));
    request.max_ahead = Duration::from_secs(60);
    bench.granted(&request).await;
}
