//! CPU time, medians and ratios. Wall time tells little where other programs run beside.

use std::time::Duration;

use cpu_time::ProcessTime;

/// What was spent on something: the process's CPU time, user and system, of all its threads.
pub(crate) fn cpu_of<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let before = ProcessTime::now();
    let made = what();
    (made, before.elapsed())
}

/// The middle one; the lower of two.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get((figures.len().saturating_sub(1)) / 2).copied().unwrap_or(f64::NAN)
}
