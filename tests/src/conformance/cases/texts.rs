//! What is stored comes back as it was, to whom it belongs.

use jiff::Timestamp;
use tidelock::{FencingToken, JobId, NodeId, Record, RunId, RunState, SkipReason, TickSpan};

use super::operating::HOSTILE;
use crate::conformance::Suite;
use crate::conformance::bench::{job, record};

/// Texts that formats and scripts have been known to change.
const TEXTS: [&str; 12] = [
    "",
    " ",
    "\" \\ \u{2028} 😀",
    "a\0b",
    "\0",
    "line\r\nline\n",
    r#"{"n":1767225600123456789,"a":[],"b":{}}"#,
    "\u{202e}abc \u{5d0}\u{5d1}",
    "\u{7f}\u{1b}[31m\u{feff}",
    "nil null None undefined NaN 1e999 -0",
    "%s %d {} ${a} $1 \\u0000 \\",
    "e\u{301} é",
];

/// Errors and notes come back byte for byte.
pub async fn record_09_any_text_comes_back_unchanged(suite: Suite) {
    let bench = suite.fresh().await;
    let long = "é\"\\".repeat(4_096);
    for text in TEXTS.into_iter().chain([long.as_str()]) {
        let record = bench.record(RunState::Failed).with_error(text).with_note(text);
        bench.save(&record).await;
        let history = bench.history().await;
        assert_eq!(history[0].error(), record.error());
        assert_eq!(history[0].note(), record.note());
    }
    assert_eq!(bench.history().await.len(), TEXTS.len() + 1);
}

/// Jobs and nodes may have any name.
pub async fn record_09_hostile_ids_come_back_unchanged(suite: Suite) {
    let bench = suite.fresh().await;
    for name in HOSTILE {
        let mut record = record(&job(name), RunId::new(u128::MAX), RunState::Succeeded);
        record.node = NodeId::new(name).expect("a node's name");
        bench.save(&record).await;
        assert_eq!(bench.history_of(&record.job, 10).await, [record]);
    }
}

/// Nothing of a record is lost or rounded.
pub async fn record_09_every_field_comes_back_as_it_was(suite: Suite) {
    let bench = suite.fresh().await;
    let at = |nanos| Timestamp::from_nanosecond(nanos).expect("a time in range");
    let mut full = bench.record(RunState::TimedOut).with_error("late").with_note("");
    full.run_id = RunId::new(u128::MAX);
    full.occurrence = Some(tidelock::Occurrence::MAX);
    full.token = Some(FencingToken::new(1_767_225_600_123_457));
    full.attempt = u32::MAX;
    full.started = at(1_767_225_600_123_456_789);
    full.ended = Some(at(1_767_225_600_123_456_790));
    (full.still_running, full.overlap) = (true, true);
    full.blocked_by = Some(RunId::new(1));
    let mut empty = Record::new(
        RunId::new(0),
        job("job"),
        NodeId::new("n").expect("a node's name"),
        RunState::Running,
        Timestamp::UNIX_EPOCH,
    );
    empty.attempt = 0;
    let mut ticks = bench.record(RunState::Missed);
    let (first, last) = (bench.tick(0), bench.tick(10_000));
    ticks.ticks = Some(TickSpan::new(first, last, 9_007_199_254_740_993, true));
    let records = [full, empty, ticks];
    for record in &records {
        bench.save(record).await;
    }
    let mut history = bench.history().await;
    history.reverse();
    assert_eq!(history, records);
}

/// Every state comes back as what it was.
pub async fn record_09_every_state_comes_back(suite: Suite) {
    let bench = suite.fresh().await;
    let states = [
        RunState::Running,
        RunState::Succeeded,
        RunState::Failed,
        RunState::Panicked,
        RunState::TimedOut,
        RunState::Cancelled,
        RunState::LockLost,
        RunState::Abandoned,
        RunState::Skipped(SkipReason::Overlap),
        RunState::Skipped(SkipReason::Misfire),
        RunState::Skipped(SkipReason::TooLate),
        RunState::Missed,
    ];
    for state in states {
        bench.save(&bench.record(state)).await;
    }
    let history = bench.history().await;
    let found: Vec<_> = history.iter().rev().map(|record| record.state).collect();
    assert_eq!(found, states);
}

/// A list is of one job, newest first, and no longer than asked for.
pub async fn record_10_a_list_is_of_one_job_newest_first_and_within_its_limit(suite: Suite) {
    let bench = suite.fresh().await;
    let jobs: Vec<JobId> = ["job", "job:2", "jo"].map(job).into();
    for number in 0..5 {
        for of in &jobs {
            let state = if number % 2 == 0 { RunState::Succeeded } else { RunState::Missed };
            bench.save(&record(of, RunId::new(number), state)).await;
        }
    }
    for of in &jobs {
        for limit in [0, 1, 3, 5, 1_000] {
            let history = bench.history_of(of, limit).await;
            let expected: Vec<_> = (0..5).rev().take(limit).map(RunId::new).collect();
            let found: Vec<_> = history.iter().map(|record| record.run_id).collect();
            assert_eq!(found, expected, "{of} within {limit}");
            assert!(history.iter().all(|record| record.job == *of));
        }
    }
    assert_eq!(bench.history_of(&job("unknown"), 10).await, []);
}
