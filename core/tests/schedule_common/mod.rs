//! Random expressions and their numbers, for the property tests of schedules.

#![allow(dead_code, unreachable_pub)] // no test file uses all of it
#![allow(clippy::unwrap_used, clippy::print_stdout)] // clippy takes it for library code

use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};

/// SplitMix64: the same cases from the same seed, on every machine.
pub struct Rng(u64);

impl Rng {
    /// `TIDELOCK_SEED`, to see a failure again, or a new one each time. Every panic of the test
    /// that holds it then says which one it was.
    pub fn seeded() -> (Self, Seed) {
        let seed = match std::env::var("TIDELOCK_SEED") {
            Ok(seed) => seed.parse().expect("TIDELOCK_SEED is a number"),
            Err(_) => RandomState::new().hash_one("seed"),
        };
        (Self(seed), Seed(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1).unsigned_abs()).cast_signed()
    }

    pub fn percent(&mut self, chance: i64) -> bool {
        self.between(0, 99) < chance
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let last = i64::try_from(from.len()).unwrap() - 1;
        &from[usize::try_from(self.between(0, last)).unwrap()]
    }
}

/// Prints the seed when a test fails.
pub struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("run again with TIDELOCK_SEED={}", self.0);
        }
    }
}

/// How many cases a property is tried on: `PROPTEST_CASES`, or what CI has time for.
pub fn cases(default: u32) -> u32 {
    match std::env::var("PROPTEST_CASES") {
        Ok(cases) => cases.parse().expect("PROPTEST_CASES is a number"),
        Err(_) => default,
    }
}

/// One expression in two spellings.
pub struct Expression {
    pub ours: String,
    /// For croner, which knows neither `N/step` nor ranges that wrap.
    pub croner: String,
}

struct Field {
    min: i64,
    max: i64,
    names: &'static [&'static str],
    /// How often it is a `*`, in percent.
    any: i64,
}

const MONTHS: &[&str] =
    &["jan", "Feb", "MAR", "apr", "MAY", "jun", "jul", "AUG", "sep", "oct", "NOV", "Dec"];
const WEEKDAYS: &[&str] = &["sun", "MON", "Tue", "WED", "thu", "FRI", "SAT"];
const DAY: usize = 3;
const WEEKDAY: usize = 5;
const YEAR: usize = 6;
const FIELDS: [Field; 7] = [
    Field { min: 0, max: 59, names: &[], any: 20 },
    Field { min: 0, max: 59, names: &[], any: 25 },
    Field { min: 0, max: 23, names: &[], any: 35 },
    Field { min: 1, max: 31, names: &[], any: 40 },
    Field { min: 1, max: 12, names: MONTHS, any: 55 },
    Field { min: 0, max: 6, names: WEEKDAYS, any: 50 },
    Field { min: 1970, max: 2100, names: &[], any: 70 },
];

impl Expression {
    /// Five, six or seven fields with everything the dialect has.
    pub fn random(rng: &mut Rng) -> Self {
        let fields = match rng.between(0, 9) {
            0..=3 => 1..6,
            4..=7 => 0..6,
            _ => 0..7,
        };
        let mut both = Self { ours: String::new(), croner: String::new() };
        for index in fields {
            both.push_field(rng, index);
            both.push(" ", " ");
        }
        both
    }

    fn push(&mut self, ours: &str, croner: &str) {
        self.ours.push_str(ours);
        self.croner.push_str(croner);
    }

    fn push_field(&mut self, rng: &mut Rng, index: usize) {
        let field = &FIELDS[index];
        if rng.percent(field.any) {
            let question = matches!(index, DAY | WEEKDAY) && rng.percent(20);
            return self.push(if question { "?" } else { "*" }, "*");
        }
        if matches!(index, DAY | WEEKDAY) && rng.percent(25) {
            return self.push_special(rng, index);
        }
        let items = if rng.percent(60) { 1 } else { rng.between(2, 5) };
        for item in 0..items {
            if item > 0 {
                self.push(",", ",");
            }
            self.push_item(rng, index);
        }
        if matches!(index, DAY | WEEKDAY) && rng.percent(10) {
            self.push(",", ",");
            self.push_special(rng, index);
        }
    }

    fn push_special(&mut self, rng: &mut Rng, index: usize) {
        if index == DAY {
            let day = rng.between(1, 31);
            // croner takes `L,LW` for `LW`, so there is only ever one of them.
            let item = match rng.between(0, 3) {
                0 => "L".to_owned(),
                1 => "LW".to_owned(),
                _ => format!("{day}W"),
            };
            return self.push(&item, &item);
        }
        let weekday = rng.between(0, 7);
        let spelled = self.value(rng, index, weekday);
        if rng.percent(30) {
            return self.push(&format!("{spelled}L"), &format!("{weekday}L"));
        }
        let turn = rng.between(1, 5);
        self.push(&format!("{spelled}#{turn}"), &format!("{weekday}#{turn}"));
    }

    fn value(&self, rng: &mut Rng, index: usize, value: i64) -> String {
        let field = &FIELDS[index];
        let name = usize::try_from((value - field.min) % (field.max - field.min + 1)).unwrap();
        match field.names.get(name) {
            // 7 is Sunday as SUN is, but `SUN-7` is a week and `7-7` a day.
            Some(name) if (index != WEEKDAY || value < 7) && rng.percent(40) => (*name).to_owned(),
            _ if rng.percent(10) => format!("{value:02}"),
            _ => value.to_string(),
        }
    }

    fn push_item(&mut self, rng: &mut Rng, index: usize) {
        let field = &FIELDS[index];
        let written = if index == WEEKDAY { 7 } else { field.max };
        // Years that are far apart leave little to compare.
        let (min, max) = if index == YEAR { (2020, 2050) } else { (field.min, written) };
        let (mut from, mut to) = (rng.between(min, max), rng.between(min, max));
        let step = rng.between(1, field.max - field.min + 1);
        match rng.between(0, 9) {
            0 | 1 => {
                // `*/1` is a `*`, which croner does not think.
                let step = step.max(2);
                // Its years begin with 1.
                let all = if index == YEAR { "1970-2100" } else { "*" };
                self.push(&format!("*/{step}"), &format!("{all}/{step}"));
            }
            2 | 3 => {
                let first = if index == WEEKDAY { from % 7 } else { from };
                let ours = format!("{}/{step}", self.value(rng, index, from));
                self.push(&ours, &format!("{first}-{}/{step}", field.max));
            }
            4 | 5 => {
                let ours = self.value(rng, index, from);
                self.push(&ours, &from.to_string());
            }
            range => {
                let wraps = index == WEEKDAY;
                if from > to && !wraps {
                    (from, to) = (to, from);
                }
                let mut ours =
                    format!("{}-{}", self.value(rng, index, from), self.value(rng, index, to));
                let step = if range == 6 { step } else { 1 };
                if step > 1 {
                    let _ = write!(ours, "/{step}");
                }
                let croner =
                    if wraps { weekdays(from, to, step) } else { format!("{from}-{to}/{step}") };
                self.push(&ours, &croner);
            }
        }
    }
}

/// The days of a range that may wrap, one by one.
fn weekdays(from: i64, to: i64, step: i64) -> String {
    let end = match (from, to) {
        (0, 7) => 6,
        _ if to % 7 < from % 7 => to % 7 + 7,
        _ => to % 7,
    };
    let start = from % 7;
    let days = (start..=end).step_by(usize::try_from(step).unwrap());
    days.map(|day| (day % 7).to_string()).collect::<Vec<_>>().join(",")
}
