//! What a history keeps, and in which order.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tidelock::{Record, RunId, RunState, SkipReason, TickSpan};
use tokio::task::JoinSet;

use crate::conformance::bench::must;
use crate::conformance::{Bench, Limits, Suite};

fn ids(records: &[Record]) -> Vec<RunId> {
    records.iter().map(|record| record.run_id).collect()
}

/// The same run in another state.
fn turned(record: &Record, state: RunState) -> Record {
    let mut turned = record.clone();
    turned.state = state;
    turned
}

async fn saved(bench: &Bench, state: RunState) -> Record {
    let record = bench.record(state);
    bench.save(&record).await;
    record
}

/// What is saved twice is there once, where it was at first.
pub async fn record_01_what_is_saved_twice_is_there_once_in_its_first_place(suite: Suite) {
    let bench = suite.fresh().await;
    let first = saved(&bench, RunState::Running).await;
    let second = saved(&bench, RunState::Running).await;
    bench.save(&first).await;
    bench.save(&turned(&first, RunState::Succeeded)).await;
    let history = bench.history().await;
    assert_eq!(ids(&history), [second.run_id, first.run_id]);
    assert_eq!(history[1].state, RunState::Succeeded);
}

/// A late or repeated save takes no end away.
pub async fn record_02_a_final_state_is_never_replaced(suite: Suite) {
    let bench = suite.fresh().await;
    let finals = [
        RunState::Succeeded,
        RunState::Failed,
        RunState::Panicked,
        RunState::TimedOut,
        RunState::Cancelled,
        RunState::LockLost,
    ];
    for state in finals {
        let first = saved(&bench, state).await.with_error("the first");
        bench.save(&turned(&first, RunState::Running)).await;
        bench.save(&turned(&first, RunState::Abandoned)).await;
        for other in finals {
            bench.save(&turned(&first, other).with_error("another")).await;
        }
        let history = bench.history().await;
        assert_eq!(history[0].run_id, first.run_id);
        assert_eq!((history[0].state, history[0].error()), (state, None));
    }
}

/// `Abandoned`, which others write, closes a run and yields to the run's own end.
pub async fn record_02_abandoned_yields_to_the_runs_own_end_alone(suite: Suite) {
    let bench = suite.fresh().await;
    let run = saved(&bench, RunState::Running).await;
    for state in [RunState::Abandoned, RunState::Running] {
        bench.save(&turned(&run, state)).await;
        assert_eq!(bench.history().await[0].state, RunState::Abandoned);
    }
    bench.save(&turned(&run, RunState::LockLost)).await;
    bench.save(&turned(&run, RunState::Abandoned)).await;
    let history = bench.history().await;
    assert_eq!((history.len(), history[0].state), (1, RunState::LockLost));
}

/// Who closes an abandoned run knows less of it than its own record.
pub async fn record_02_abandoned_keeps_what_the_run_had_told(suite: Suite) {
    let bench = suite.fresh().await;
    let mut run = bench.record(RunState::Running).with_note("half way");
    run.occurrence = Some(bench.tick(0));
    run.attempt = 3;
    bench.save(&run).await;
    let mut closing = turned(&run, RunState::Abandoned);
    (closing.attempt, closing.occurrence) = (1, None);
    closing.ended = Some(Timestamp::UNIX_EPOCH);
    bench.save(&closing).await;
    assert_eq!(bench.history().await, [run.replaced_by(&closing)]);
}

/// A granted run that was not worth starting becomes a tick that did not run, and stays one.
pub async fn record_02_a_run_may_end_as_a_tick_that_did_not_run(suite: Suite) {
    let bench = suite.fresh().await;
    let run = saved(&bench, RunState::Running).await;
    let skipped = turned(&run, RunState::Skipped(SkipReason::TooLate));
    bench.save(&skipped).await;
    bench.save(&run).await;
    assert_eq!(bench.history().await, [skipped]);
}

/// Of two records about ticks that did not run, the one that tells of more stays.
pub async fn record_03_ticks_that_did_not_run_yield_to_more_of_them(suite: Suite) {
    let bench = suite.fresh().await;
    let mut record = bench.record(RunState::Skipped(SkipReason::Overlap));
    for (count, kept) in [(1, 1), (3, 3), (2, 3), (3, 3), (4, 4)] {
        let (first, last) = (bench.tick(0), bench.tick(count - 1));
        record.ticks = Some(TickSpan::new(first, last, count.unsigned_abs(), false));
        bench.save(&record).await;
        let history = bench.history().await;
        assert_eq!(history.len(), 1);
        assert_eq!(history[0].ticks.map(|ticks| ticks.count), Some(kept));
        assert_eq!(history[0].ticks.map(|t| t.last), Some(bench.tick(kept as i64 - 1)));
    }
}

/// Clocks of nodes are wrong in many ways; the store counts by itself.
pub async fn record_04_the_order_is_the_stores_own(suite: Suite) {
    let bench = suite.fresh().await;
    let mut expected = Vec::new();
    for number in 0..12 {
        let mut record = bench.record(RunState::Succeeded);
        // Ids and clocks run backwards.
        record.run_id = RunId::new(100 - number);
        let hours = SignedDuration::from_hours(100 - i64::try_from(number).unwrap_or(0));
        record.started = Timestamp::UNIX_EPOCH + hours;
        record.ended = Some(record.started);
        bench.save(&record).await;
        expected.insert(0, record.run_id);
    }
    assert_eq!(ids(&bench.history().await), expected);
}

/// The newest stay, exactly as many as asked for.
pub async fn record_05_the_newest_runs_stay(suite: Suite) {
    let bench = suite.limited(Limits::default().keep(20)).await;
    let mut expected = Vec::new();
    for _ in 0..25 {
        let run = saved(&bench, RunState::Running).await;
        bench.save(&turned(&run, RunState::Succeeded)).await;
        expected.insert(0, run.run_id);
    }
    expected.truncate(20);
    assert_eq!(ids(&bench.history().await), expected);
}

/// Two nodes that save at once drop no more and no less.
pub async fn record_05_the_newest_of_two_concurrent_writers_stay(suite: Suite) {
    let bench = suite.limited(Limits::default().keep(20)).await;
    let writings = [0, 1]
        .map(|_| -> Vec<Record> { (0..50).map(|_| bench.record(RunState::Succeeded)).collect() });
    let mut writers = JoinSet::new();
    for records in writings.clone() {
        let backend = Arc::clone(&bench.backend);
        writers.spawn(async move {
            for record in records {
                must(backend.save(&record).await);
                tokio::task::yield_now().await;
            }
        });
    }
    writers.join_all().await;
    let kept = ids(&bench.history().await);
    assert_eq!(kept.len(), 20);
    for records in writings {
        let mut newest_first = ids(&records);
        newest_first.reverse();
        let of_this: Vec<_> = newest_first.iter().filter(|id| kept.contains(id)).collect();
        let newest: Vec<_> = newest_first.iter().take(of_this.len()).collect();
        assert_eq!(of_this, newest, "an older one stayed and a newer one went");
    }
}

/// Old records go, at the latest when something is saved.
pub async fn record_06_what_is_older_than_max_age_goes(suite: Suite) {
    let bench = suite.limited(Limits::default().max_age(suite.ttl())).await;
    let old = saved(&bench, RunState::Succeeded).await;
    let ticks = saved(&bench, RunState::Missed).await;
    assert_eq!(ids(&bench.history().await), [ticks.run_id, old.run_id]);
    suite.expire().await;
    let new = saved(&bench, RunState::Succeeded).await;
    let new_ticks = saved(&bench, RunState::Missed).await;
    assert_eq!(ids(&bench.history().await), [new_ticks.run_id, new.run_id]);
}

/// Neither number nor age drops what still runs, and its end is stored.
pub async fn record_07_what_still_runs_is_never_dropped(suite: Suite) {
    let limits = Limits::default().keep(1).max_age(suite.ttl());
    let bench = suite.limited(limits).await;
    let run = saved(&bench, RunState::Running).await;
    let mut last = None;
    for _ in 0..3 {
        last = Some(saved(&bench, RunState::Succeeded).await.run_id);
    }
    assert_eq!(ids(&bench.history().await), [last.unwrap_or(run.run_id), run.run_id]);
    suite.expire().await;
    let newest = saved(&bench, RunState::Succeeded).await;
    let history = bench.history().await;
    assert_eq!(ids(&history), [newest.run_id, run.run_id]);
    assert_eq!(history[1].state, RunState::Running);
}

/// A run that is older than the limit when it ends is not gone at that moment.
pub async fn record_07_the_end_of_a_run_longer_than_max_age_is_kept(suite: Suite) {
    let bench = suite.limited(Limits::default().max_age(suite.ttl())).await;
    let run = saved(&bench, RunState::Running).await;
    suite.expire().await;
    let ended = turned(&run, RunState::Succeeded);
    bench.save(&ended).await;
    assert_eq!(bench.history().await, [ended]);
}

/// A flood of ticks that did not run drops no run, and runs drop no ticks.
pub async fn record_08_ticks_that_did_not_run_have_a_cap_of_their_own(suite: Suite) {
    let bench = suite.limited(Limits::default().keep(3)).await;
    let mut expected = Vec::new();
    for state in [RunState::Succeeded, RunState::Missed, RunState::Failed] {
        let mut saved_ids = Vec::new();
        for _ in 0..5 {
            saved_ids.insert(0, saved(&bench, state).await.run_id);
        }
        expected.push(saved_ids);
    }
    let kept = [&expected[2][..3], &expected[1][..3]].concat();
    assert_eq!(ids(&bench.history().await), kept);
}
