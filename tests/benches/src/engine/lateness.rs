//! The figures of ticks that were watched.

use std::time::Duration;

use super::fires::Fires;
use crate::child::{cell, figure};
use crate::measure::{percentile, us};
use crate::table::ratio;

pub(super) const COLUMNS: [&str; 8] =
    ["fired %", "twice", "late ms p50", "p99", "max", "p99 x floor", "us of CPU a fire", "x floor"];

pub(super) const P99: usize = 3;
pub(super) const FIRED: usize = 0;
pub(super) const TWICE: usize = 1;
pub(super) const CPU: usize = 5;

/// What a child tells: percent fired, fired twice, p50, p99 and the latest in ms, CPU a fire in us.
pub(super) fn figures(fires: &Fires, due: usize, spent: Duration) -> Vec<f64> {
    #[allow(clippy::cast_precision_loss)]
    let (count, due, repeated) = (fires.count() as f64, due as f64, fires.repeated() as f64);
    let mut late = fires.late_ms();
    vec![
        count / due * 100.0,
        repeated,
        percentile(&mut late, 0.5),
        percentile(&mut late, 0.99),
        percentile(&mut late, 1.0),
        us(spent) / count,
    ]
}

/// A row of the table.
pub(super) fn row(figures: &[f64], floor: &[f64]) -> Vec<String> {
    let times = |at| ratio(figure(figures, at), figure(floor, at));
    let mut cells: Vec<String> = (0..5).map(|at| cell(figures, at)).collect();
    cells.extend([times(P99), cell(figures, CPU), times(CPU)]);
    cells
}
