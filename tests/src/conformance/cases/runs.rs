//! The two moments of a run, each in one step.

use tidelock::{
    Acquisition, Backend, Clear, Combined, ErrorKind, IfHeld, Intent, Release, RunState, SkipReason,
};

use crate::conformance::Suite;
use crate::conformance::bench::{key, must, record, running};
use crate::{Fault, Faults, Op};

/// Asked the same, `begin` and `acquire` answer the same.
pub async fn backend_01_begin_answers_as_acquire_does(suite: Suite) {
    let bench = suite.fresh().await;
    let mut answers = Vec::new();
    for by_begin in [true, false] {
        let of = key(if by_begin { "begun" } else { "acquired" });
        let ask = |second| bench.ask_for(&of, "a", Some(bench.tick(second)));
        let (first, mut consuming, mut skip) = (ask(5), ask(6), ask(7));
        consuming.if_held = IfHeld::Consume;
        skip.intent = Intent::Skip(SkipReason::Misfire);
        let mut far = ask(8);
        far.occurrence = Some(bench.tick_in(jiff::SignedDuration::from_hours(1)).await);
        let requests = [&first, &first, &ask(5), &ask(6), &consuming, &skip, &skip, &far, &ask(0)];
        let mut told = Vec::new();
        for request in requests {
            let answer = if by_begin {
                bench.begin(request).await
            } else {
                must(bench.locks.acquire(request).await).value
            };
            told.push(std::mem::discriminant(&answer));
        }
        answers.push(told);
    }
    assert_eq!(answers[0], answers[1]);
}

/// The record of a run is there if and only if it was granted.
pub async fn backend_02_a_record_is_stored_if_and_only_if_the_run_was_granted(suite: Suite) {
    let bench = suite.fresh().await;
    let first = bench.ask_briefly("a", 5);
    let grant = bench.granted(&first).await;
    let mut stored = running(&first);
    stored.token = Some(grant.lease.token);
    assert_eq!(bench.history().await, [stored.clone()]);
    let mut consuming = bench.ask("b", 6);
    consuming.if_held = IfHeld::Consume;
    let mut skip = bench.ask("b", 7);
    skip.intent = Intent::Skip(SkipReason::Misfire);
    for refused in [bench.ask("b", 5), bench.ask("b", 6), consuming, skip, bench.ask("b", 0)] {
        let answer = bench.begin(&refused).await;
        assert!(!matches!(answer, Acquisition::Granted(_)), "{answer:?}");
        assert_eq!(bench.history().await, [stored.clone()], "after {answer:?}");
    }
}

/// A late retry of a run that is over leaves its record as it is.
pub async fn backend_02_a_retry_that_hears_expired_stores_nothing(suite: Suite) {
    let bench = suite.fresh().await;
    let request = bench.ask("a", 0);
    bench.run(&request).await;
    let before = bench.history().await;
    let again = bench.begin(&request).await;
    assert!(matches!(again, Acquisition::Expired(_)), "{again:?}");
    assert_eq!(bench.history().await, before);
}

/// Whoever is granted the next tick closes the record of a run that fell silent, or is told to.
pub async fn backend_03_records_of_abandoned_runs_are_closed_or_named(suite: Suite) {
    let bench = suite.fresh().await;
    let (a, b) = (bench.ask("a", 0), bench.ask("b", 1));
    let dead = bench.granted(&a).await.lease;
    assert_eq!(bench.force_release(Clear::Lock).await, Release::Released);
    let begun = bench.begun(&b).await.value;
    let history = bench.history().await;
    let found: Vec<_> = history.iter().map(|record| record.run_id).collect();
    assert_eq!(found, [b.run_id, a.run_id]);
    let unclosed: Vec<_> = begun.unclosed.iter().map(|run| run.run_id).collect();
    if history[1].state == RunState::Abandoned {
        assert_eq!(unclosed, [], "what is closed need not be closed");
    } else {
        assert_eq!((history[1].state, unclosed), (RunState::Running, vec![a.run_id]));
    }
    // It was not dead: its own end is the one that counts.
    let done = record(dead.key.job(), dead.run_id, RunState::LockLost);
    assert_eq!(bench.finished(&dead, &done).await.release, Release::NotHeld);
    assert_eq!(bench.history().await[1].state, RunState::LockLost);
}

/// The end of a run is stored whether or not it still held its lock.
pub async fn backend_04_finish_stores_the_end_even_when_the_lock_was_not_held(suite: Suite) {
    let bench = suite.fresh().await;
    let held = bench.granted(&bench.ask("a", 0)).await.lease;
    let done = record(held.key.job(), held.run_id, RunState::Failed).with_error("no");
    let finished = bench.finished(&held, &done).await;
    assert_eq!((finished.release, finished.unsaved.is_none()), (Release::Released, true));
    assert_eq!(bench.history().await, [done]);
    let lost = bench.granted(&bench.ask("a", 1)).await.lease;
    assert_eq!(bench.force_release(Clear::Lock).await, Release::Released);
    let done = record(lost.key.job(), lost.run_id, RunState::LockLost);
    let finished = bench.finished(&lost, &done).await;
    assert_eq!((finished.release, finished.unsaved.is_none()), (Release::NotHeld, true));
    assert_eq!(bench.history().await[0], done);
}

/// `finish` stores as `save` does: what is final stays, and the lock is released all the same.
pub async fn backend_05_the_release_stands_when_the_record_is_not_taken(suite: Suite) {
    let bench = suite.fresh().await;
    let lease = bench.granted(&bench.ask("a", 0)).await.lease;
    let first = record(lease.key.job(), lease.run_id, RunState::TimedOut);
    bench.save(&first).await;
    assert_eq!(bench.finish(&lease).await, Release::Released);
    assert_eq!(bench.history().await, [first]);
    assert_eq!(bench.state().await.held, None);
}

/// A record store that is away holds up neither a grant nor a release, and is told of.
pub async fn backend_05_grant_and_release_stand_when_the_record_store_is_away(suite: Suite) {
    let bench = suite.fresh().await;
    let records = Faults::new(bench.records.clone());
    let apart = Combined::new(bench.locks.clone(), records.clone());
    for fault in [Fault::Fail(ErrorKind::Unavailable), Fault::Hang] {
        let second = if fault == Fault::Hang { 1 } else { 0 };
        records.always(Op::Save, fault);
        let request = bench.ask("a", second);
        let begun = must(apart.begin(&request, &running(&request)).await).value;
        assert!(begun.unsaved.is_some());
        let Acquisition::Granted(grant) = begun.acquisition else {
            panic!("expected a grant");
        };
        let done = record(grant.lease.key.job(), request.run_id, RunState::Succeeded);
        let finished = must(apart.finish(&grant.lease, &done).await).value;
        assert_eq!(finished.release, Release::Released);
        assert!(finished.unsaved.is_some());
    }
    let state = bench.state().await;
    assert!(state.held.is_none() && bench.history().await.is_empty());
}

/// Replies get lost, so both are said again: one grant, one record, one end.
pub async fn backend_06_begin_and_finish_may_be_repeated(suite: Suite) {
    let bench = suite.fresh().await;
    let request = bench.ask("a", 0);
    let first = bench.granted(&request).await;
    assert_eq!(bench.granted(&request).await, first);
    assert_eq!(bench.history().await.len(), 1);
    let done = record(first.lease.key.job(), request.run_id, RunState::Succeeded);
    for release in [Release::Released, Release::NotHeld, Release::NotHeld] {
        assert_eq!(bench.finished(&first.lease, &done).await.release, release);
        assert_eq!(bench.history().await, std::slice::from_ref(&done));
    }
}
