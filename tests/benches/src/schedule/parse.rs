//! Reading an expression.

use std::hint::black_box;
use std::str::FromStr;

use super::peers::{self, EXPRESSIONS};
use crate::child::{cell, figure};
use crate::goal::Goal;
use crate::measure::{cpu_of, interleaved};
use crate::table::{Table, ratio};

const ROUNDS: usize = 5;
const CALLS: u32 = 3_000;

#[derive(Clone, Copy)]
enum Contender {
    Ours,
    OursInZone,
    Cron,
    Croner,
}

const CONTENDERS: [(&str, Contender); 4] = [
    ("cron 0.17", Contender::Cron),
    ("tidelock", Contender::Ours),
    ("tidelock, in a zone", Contender::OursInZone),
    ("croner 4.0.3", Contender::Croner),
];

/// No 30 February.
const IMPOSSIBLE: [&str; 3] = ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 0 29 2 * 2097-2099"];

pub(super) fn run() {
    let found = interleaved(ROUNDS, &CONTENDERS, |(_, contender)| {
        EXPRESSIONS
            .iter()
            .map(|expression| {
                let text = black_box(expression.text);
                match contender {
                    Contender::Ours => ns(|| tidelock::Schedule::cron(text).is_ok()),
                    Contender::OursInZone => ns(|| {
                        tidelock::Schedule::cron(text)
                            .is_ok_and(|s| s.time_zone(peers::ZONE).is_ok())
                    }),
                    Contender::Cron => ns(|| cron::Schedule::from_str(expression.for_cron).is_ok()),
                    Contender::Croner => ns(|| peers::croner_parser().parse(text).is_ok()),
                }
            })
            .collect()
    });
    let columns: Vec<&str> = std::iter::once("ns of CPU a call")
        .chain(EXPRESSIONS.iter().map(|expression| expression.text))
        .collect();
    let mut table = Table::new(&columns);
    for ((name, _), figures) in CONTENDERS.iter().zip(&found) {
        table.row(name, (0..EXPRESSIONS.len()).map(|at| cell(figures, at)));
    }
    let times = |at: usize| figure(&found[1], at) / figure(&found[0], at);
    table.row("ratio to cron", (0..EXPRESSIONS.len()).map(|at| ratio(times(at), 1.0)));
    table.print();
    let worst = (0..EXPRESSIONS.len()).map(times).fold(0.0, f64::max);
    Goal::at_most("parse, times cron, the worst of these", worst, 2.0).tell();

    let refused = IMPOSSIBLE.map(|text| {
        let times = interleaved(ROUNDS, &[text], |text| {
            vec![ns(|| tidelock::Schedule::cron(black_box(text)).is_err())]
        });
        figure(&times[0], 0) / 1e3
    });
    let worst = refused.into_iter().fold(0.0, f64::max);
    Goal::at_most("an impossible expression refused, us", worst, 100.0).tell();
}

/// Nanoseconds of CPU a call. Each call has to come out as it should.
fn ns(call: impl Fn() -> bool) -> f64 {
    let (right, spent) = cpu_of(|| (0..CALLS).all(|_| black_box(call())));
    if right { spent.as_secs_f64() * 1e9 / f64::from(CALLS) } else { f64::NAN }
}
