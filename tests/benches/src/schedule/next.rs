//! The next tick: a walk from each tick to the one after it.

use std::hint::black_box;

use chrono::{DateTime, TimeZone, Utc};

use super::peers::{self, EXPRESSIONS, Expression, START, ZONE};
use crate::child::{cell, figure};
use crate::goal::Goal;
use crate::measure::{cpu_of, interleaved};
use crate::table::{Table, ratio};

const ROUNDS: usize = 5;

/// How many times each walk is made in a round.
const MAKES: usize = 10_000;

#[derive(Clone, Copy)]
enum Contender {
    Ours { zone: bool },
    Cron { zone: bool },
    Croner { zone: bool },
}

const CONTENDERS: [(&str, Contender); 6] = [
    ("cron 0.17, UTC", Contender::Cron { zone: false }),
    ("tidelock, UTC", Contender::Ours { zone: false }),
    ("croner 4.0.3, UTC", Contender::Croner { zone: false }),
    ("cron 0.17, Berlin (wrong in DST)", Contender::Cron { zone: true }),
    ("tidelock, Berlin", Contender::Ours { zone: true }),
    ("croner 4.0.3, Berlin", Contender::Croner { zone: true }),
];

pub(super) fn run() {
    let found = interleaved(ROUNDS, &CONTENDERS, |(_, contender)| {
        EXPRESSIONS.iter().map(|expression| walked(*contender, expression)).collect()
    });
    let columns: Vec<&str> = std::iter::once("ns of CPU a call")
        .chain(EXPRESSIONS.iter().map(|expression| expression.text))
        .collect();
    let mut table = Table::new(&columns);
    for ((name, _), figures) in CONTENDERS.iter().zip(&found) {
        table.row(name, (0..EXPRESSIONS.len()).map(|at| cell(figures, at)));
    }
    for (name, ours, cron) in [("ratio to cron, UTC", 1, 0), ("ratio to cron, Berlin", 4, 3)] {
        let of = |at| ratio(figure(&found[ours], at), figure(&found[cron], at));
        table.row(name, (0..EXPRESSIONS.len()).map(of));
    }
    table.print();
    let worst = |ours: usize, peer: usize| {
        let each =
            (0..EXPRESSIONS.len()).map(|at| figure(&found[ours], at) / figure(&found[peer], at));
        each.fold(0.0, f64::max)
    };
    Goal::at_most("UTC, times cron, the worst of these", worst(1, 0), 2.0).tell();
    Goal::at_most("in a zone, times cron, the worst of these", worst(4, 3), 1.2).tell();
    Goal::at_most("in a zone, times croner, the worst of these", worst(4, 5), 1.0).tell();
}

/// Nanoseconds of CPU a call.
fn walked(contender: Contender, expression: &Expression) -> f64 {
    match contender {
        Contender::Ours { zone } => {
            let schedule = peers::ours(expression, zone.then_some(ZONE));
            let start = jiff::Timestamp::from_second(START).unwrap_or_default();
            walk(expression.ticks, start, |t| schedule.next_after(t))
        }
        Contender::Cron { zone: false } => with_cron(expression, Utc),
        Contender::Cron { zone: true } => with_cron(expression, peers::berlin()),
        Contender::Croner { zone: false } => with_croner(expression, Utc),
        Contender::Croner { zone: true } => with_croner(expression, peers::berlin()),
    }
}

fn with_cron<Z: TimeZone + 'static>(expression: &Expression, zone: Z) -> f64 {
    let schedule = peers::cron(expression);
    walk(expression.ticks, peers::instant(&zone, START), |t: DateTime<Z>| schedule.after(&t).next())
}

fn with_croner<Z: TimeZone>(expression: &Expression, zone: Z) -> f64 {
    let schedule = peers::croner(expression);
    let next = |t: DateTime<Z>| schedule.find_next_occurrence(&t, false).ok();
    walk(expression.ticks, peers::instant(&zone, START), next)
}

fn walk<T: Clone>(ticks: usize, start: T, next: impl Fn(T) -> Option<T>) -> f64 {
    let ((), spent) = cpu_of(|| {
        for _ in 0..MAKES / ticks {
            let mut at = Some(start.clone());
            for _ in 0..ticks {
                at = at.and_then(&next);
            }
            black_box(at.is_some());
        }
    });
    #[allow(clippy::cast_precision_loss)]
    let calls = (MAKES / ticks * ticks) as f64;
    spent.as_secs_f64() * 1e9 / calls
}
