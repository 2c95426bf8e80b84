//! CPU time, medians, percentiles and ratios. Wall time tells little where other programs run beside.

use std::time::Duration;

use cpu_time::ProcessTime;

/// What was spent on something: the process's CPU time, user and system, of all its threads.
pub(crate) fn cpu_of<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let before = ProcessTime::now();
    let made = what();
    (made, before.elapsed())
}

/// The middle one; the lower of two. NaN of none.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    percentile(&mut figures, 0.5)
}

/// The least one that a share of `part` does not exceed; sorts them. NaN of none.
pub(crate) fn percentile(figures: &mut [f64], part: f64) -> f64 {
    figures.sort_by(f64::total_cmp);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // far below 2^52, and >= 0
    let rank = (figures.len() as f64 * part).ceil() as usize;
    figures.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// Microseconds.
pub(crate) fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Measures each contender in turn, that many rounds long, so that what else the machine does meets
/// all alike. The medians of each one's figures, in the order of the contenders; a contender has
/// the same number of figures each time.
pub(crate) fn interleaved<C>(
    rounds: usize,
    contenders: &[C],
    mut measure: impl FnMut(&C) -> Vec<f64>,
) -> Vec<Vec<f64>> {
    let mut all: Vec<Vec<Vec<f64>>> = contenders.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (contender, found) in contenders.iter().zip(&mut all) {
            found.push(measure(contender));
        }
    }
    all.iter().map(|found| medians(found)).collect()
}

/// The median of each figure over the rounds.
fn medians(rounds: &[Vec<f64>]) -> Vec<f64> {
    let figures = rounds.first().map_or(0, Vec::len);
    (0..figures)
        .map(|at| median(rounds.iter().filter_map(|round| round.get(at)).copied().collect()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_figures_that_were_measured() {
        let mut figures = vec![5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(percentile(&mut figures, 0.5), 3.0);
        assert_eq!(percentile(&mut figures, 0.99), 5.0);
        assert_eq!(percentile(&mut figures, 0.0), 1.0);
        assert_eq!(median(vec![1.0, 2.0]), 1.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn rounds_are_interleaved_and_each_figure_has_its_own_median() {
        let mut order = Vec::new();
        let mut round = 0.0;
        let found = interleaved(3, &["a", "b"], |name| {
            order.push(*name);
            round += 1.0;
            vec![round, -round]
        });
        assert_eq!(order, ["a", "b", "a", "b", "a", "b"]);
        assert_eq!(found, [[3.0, -3.0], [4.0, -4.0]]);
    }
}
