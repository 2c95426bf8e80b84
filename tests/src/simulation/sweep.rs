//! Many seeds in a row.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::draw::{Size, draw};
use super::oracle::{Finding, judge};
use super::play::play;

/// A seed that went wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// Which.
    pub seed: u64,
    /// What was wrong.
    pub findings: Vec<Finding>,
}

/// Plays `count` seeds from `first` on, in that many threads with a runtime each, until `most`
/// have gone wrong. `played` is called after each.
pub fn sweep(
    first: u64,
    count: u64,
    size: Size,
    threads: usize,
    most: usize,
    played: impl Fn(&Failure) + Sync,
) -> Vec<Failure> {
    let (next, failures) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let lock = || failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count || lock().len() >= most {
                        return;
                    }
                    let seed = first.wrapping_add(number);
                    let plan = draw(seed, size);
                    let failure = Failure { seed, findings: judge(&plan, &play(&plan)) };
                    played(&failure);
                    if !failure.findings.is_empty() {
                        lock().push(failure);
                    }
                }
            });
        }
    });
    let mut failures = std::mem::take(&mut *lock());
    failures.sort_by_key(|failure| failure.seed);
    failures
}
