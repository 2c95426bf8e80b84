//! Drawing jobs.

use jiff::SignedDuration;
use rand::RngExt;
use rand::rngs::StdRng;
use tidelock::{Misfire, OnGap, OnRepeat};

use super::place::Place;
use super::{chance, one_of};
use crate::simulation::plan::{JobPlan, Work};
use crate::simulation::when::When;

const IDS: [&str; 8] = ["settle", "rates", "mail", "index", "backup", "prune", "report", "sync"];

pub(super) fn draw(
    random: &mut StdRng,
    count: usize,
    place: &Place,
    end_at: u64,
    quiet: bool,
) -> Vec<JobPlan> {
    (0..count)
        .map(|number| {
            let when =
                if quiet { once(random, place, end_at) } else { when(random, place, end_at) };
            job(random, id(number), when)
        })
        .collect()
}

pub(super) fn id(number: usize) -> String {
    IDS.get(number).map_or_else(|| format!("job-{number}"), |id| (*id).to_owned())
}

fn job(random: &mut StdRng, id: String, when: When) -> JobPlan {
    let ttl_ms = match one_of(random, &[300, 700, 1_000, 2_000, 3_000, 5_000, 9_000, 0]) {
        0 => None,
        ms => Some(ms),
    };
    job_of(random, id, when, ttl_ms)
}

/// A job with that schedule and that TTL.
pub(super) fn job_of(random: &mut StdRng, id: String, when: When, ttl_ms: Option<u64>) -> JobPlan {
    let blocking = chance(random, 10);
    let timeout_ms = chance(random, 30).then(|| random.random_range(200..6_000));
    let fixed = chance(random, 15) && !blocking && (ttl_ms.is_some() || timeout_ms.is_some());
    JobPlan {
        id,
        when,
        edited: None,
        ttl_ms,
        fixed_lease: fixed,
        timeout_ms,
        grace_ms: one_of(random, &[0, 200, 1_000, 1_000, 4_000]),
        misfire: match random.random_range(0..10) {
            0..5 => Misfire::Once,
            5 | 6 => Misfire::Skip,
            _ => Misfire::All { max: random.random_range(0..5) },
        },
        start_within_ms: chance(random, 20).then(|| random.random_range(300..12_000)),
        splay_ms: if chance(random, 20) { random.random_range(1..3_000) } else { 0 },
        force_release: chance(random, 10),
        blocking,
        work: work(random, ttl_ms.unwrap_or(30_000)),
    }
}

/// Other schedules for some of the jobs.
pub(super) fn edit(random: &mut StdRng, jobs: &mut [JobPlan], place: &Place, end_at: u64) {
    for job in jobs {
        if chance(random, 20) {
            job.edited = Some(when(random, place, end_at));
            // Two texts may mean the same.
            if job.other_fingerprint().is_none() {
                job.edited = None;
            }
        }
    }
}

fn when(random: &mut StdRng, place: &Place, end_at: u64) -> When {
    let zone = place.zone;
    match random.random_range(0..12) {
        0..3 => When::Every(random.random_range(5..100) * 100),
        3 => When::EveryFrom(random.random_range(900..9_000), place.start),
        4..7 => {
            let step = one_of(random, &[2, 3, 5, 7, 10, 15, 20, 30]);
            choosing(random, When::cron(format!("*/{step} * * * * *"), zone))
        }
        7 => choosing(random, When::cron("* * * * *", zone)),
        8 => {
            let second = random.random_range(0..60);
            choosing(random, When::cron(format!("{second} * * * * *"), zone))
        }
        9 => once(random, place, end_at),
        10 => When::Uneven(random.random_range(300..2_500)),
        _ => match place.hour {
            // Every few seconds of the hour that is left out or comes twice.
            Some(hour) => {
                let second = random.random_range(1..20);
                choosing(random, When::cron(format!("{second}/20 0-59 {hour} * * *"), zone))
            }
            None => When::cron("*/4 * * * * *", zone),
        },
    }
}

/// At any time, or late, when all has just been set right.
fn once(random: &mut StdRng, place: &Place, end_at: u64) -> When {
    let from = if chance(random, 50) { 0 } else { end_at * 8 / 10 };
    let ms = i64::try_from(random.random_range(from..end_at)).unwrap_or(0) - 15_000;
    When::Once(place.start + SignedDuration::from_millis(ms))
}

/// With a choice of its own for the hours in which the clocks change, at times.
fn choosing(random: &mut StdRng, mut when: When) -> When {
    if let When::Cron { gap, repeat, .. } = &mut when
        && chance(random, 20)
    {
        *gap = Some(one_of(random, &[OnGap::After, OnGap::Skip]));
        *repeat = Some(one_of(random, &[OnRepeat::First, OnRepeat::Both]));
    }
    when
}

fn work(random: &mut StdRng, ttl_ms: u64) -> Vec<Work> {
    let count = random.random_range(1..4);
    let long = (ttl_ms * random.random_range(10..30) / 10).min(40_000);
    let all = |random: &mut StdRng| match random.random_range(0..16) {
        0..4 => Work::Quick,
        4..7 => Work::Steps(random.random_range(1..300)),
        7 => Work::Steps(random.random_range(300..4_000)),
        8 => Work::Steps(long),
        9 | 10 => Work::Heeds(random.random_range(1..3_000)),
        11 => Work::Heeds(long),
        12 => Work::Fails(random.random_range(0..1_000)),
        13 => Work::Panics(random.random_range(0..1_000)),
        14 => Work::PanicsAtOnce,
        _ => Work::Steps(ttl_ms * 85 / 100),
    };
    (0..count).map(|_| all(random)).collect()
}
