//! What processes printed against what the records say.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use tidelock::{Record, RunState};

use crate::fleet::ticks_told_of;

/// How it went, for who reads the test's output.
#[derive(Debug)]
#[non_exhaustive]
pub struct Account {
    /// Runs that were started.
    pub runs: usize,
    /// Those whose record says that they succeeded.
    pub ended: usize,
    /// How often a node or server was killed, paused or cut off.
    pub troubles: usize,
    /// Seconds from the first tick of which something is known to the last.
    pub ticks: usize,
    /// Ticks of which no record tells.
    pub silent: Vec<i64>,
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, ended, troubles, ticks, silent } = self;
        write!(
            f,
            "{runs} runs, {ended} ended, {troubles} troubles, {ticks} ticks, silent: {silent:?}"
        )
    }
}

/// One line of the job: `start` or `end`, the tick, the token, the run and the time.
struct Line<'a> {
    starts: bool,
    tick: &'a str,
    run: &'a str,
    at: i64,
}

impl<'a> Line<'a> {
    /// Of other lines, and of one that a kill cut short, nothing.
    fn of(text: &'a str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let &[kind @ ("start" | "end"), tick, _, run, at] = words.as_slice() else {
            return None;
        };
        Some(Self { starts: kind == "start", tick, run, at: at.parse().ok()? })
    }
}

pub(super) fn settle(
    printed: &[String],
    records: &[Record],
    troubles: usize,
    seed: u64,
) -> Account {
    let lines: Vec<Line<'_>> = printed.iter().filter_map(|line| Line::of(line)).collect();

    // What the handlers did: no tick twice, no two at a time.
    let mut starts = BTreeMap::new();
    for line in lines.iter().filter(|line| line.starts) {
        let before = starts.insert(line.tick, line);
        assert!(before.is_none(), "tick {} ran twice (seed {seed})", line.tick);
    }
    assert!(starts.len() > 20, "only {} runs (seed {seed})", starts.len());
    assert!(troubles > 5, "only {troubles} troubles (seed {seed})");
    for end in lines.iter().filter(|line| !line.starts) {
        let start = starts.values().find(|start| start.run == end.run);
        let start = start.unwrap_or_else(|| panic!("{} ends unstarted (seed {seed})", end.run));
        let inside =
            |other: &&&Line<'_>| other.run != end.run && (start.at..end.at).contains(&other.at);
        let other = starts.values().find(inside).map(|other| other.run);
        assert_eq!(other, None, "overlaps {} (seed {seed})", end.run);
    }

    // What the records say of them.
    let mut ended = 0;
    for start in starts.values() {
        let run = start.run;
        let record = records.iter().find(|record| record.run_id.to_string() == run);
        let record = record.unwrap_or_else(|| panic!("run {run} has no record (seed {seed})"));
        let told = lines.iter().any(|line| !line.starts && line.run == run);
        match record.state {
            RunState::Succeeded => ended += 1,
            // Its node was killed, between the end and the record at the latest.
            RunState::Abandoned => {}
            RunState::LockLost if !told => {}
            other => panic!("run {run} is {other} (seed {seed})"),
        }
    }
    let told = ticks_told_of(records, Duration::from_secs(1));
    let first = *told.first().expect("a record of a tick");
    let last = *told.last().expect("a record of a tick");
    let ticks = (first..=last).step_by(1_000);
    let silent: Vec<_> = ticks.clone().filter(|tick| !told.contains(tick)).collect();
    assert!(silent.is_empty(), "{silent:?} (seed {seed})");
    Account { runs: starts.len(), ended, troubles, ticks: ticks.count(), silent }
}
