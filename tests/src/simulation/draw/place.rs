//! When and where a plan takes place.

use jiff::{SignedDuration, Timestamp};
use rand::RngExt;
use rand::rngs::StdRng;

use super::{chance, one_of};

/// The start of a plan, and the zone of its jobs.
pub(super) struct Place {
    pub(super) start: Timestamp,
    pub(super) zone: Option<&'static str>,
    /// The hour of day of the wall clock around which jobs with a fixed time are set, if the
    /// clocks change there.
    pub(super) hour: Option<i64>,
}

/// Changes of the clocks, in seconds since 1970: a zone, when, and the hour that is left out or
/// comes twice.
const CHANGES: [(&str, i64, i64); 8] = [
    ("Europe/Berlin", 1_774_746_000, 2), // 2026-03-29T01:00Z, forward
    ("Europe/Berlin", 1_792_890_000, 2), // 2026-10-25T01:00Z, back
    ("America/New_York", 1_772_953_200, 2), // 2026-03-08T07:00Z, forward
    ("America/New_York", 1_793_512_800, 1), // 2026-11-01T06:00Z, back
    ("Australia/Lord_Howe", 1_775_314_800, 1), // 2026-04-04T15:00Z, back by half an hour
    ("Australia/Lord_Howe", 1_791_041_400, 2), // 2026-10-03T15:30Z, forward by half an hour
    ("America/Santiago", 1_788_667_200, 0), // 2026-09-06T04:00Z, forward at midnight
    ("Europe/London", 1_792_890_000, 1), // 2026-10-25T01:00Z, back
];

const ZONES: [Option<&str>; 4] = [None, None, Some("Asia/Kathmandu"), Some("Asia/Tokyo")];

pub(super) fn draw(random: &mut StdRng) -> Place {
    if chance(random, 35) {
        let (zone, change, hour) = one_of(random, &CHANGES);
        let before = random.random_range(20..150);
        let start = at(change - before, random.random_range(0..1_000));
        return Place { start, zone: Some(zone), hour: Some(hour) };
    }
    let zone = one_of(random, &ZONES);
    let second = 1_767_225_600 + random.random_range(0..300 * 86_400);
    Place { start: at(second, random.random_range(0..1_000)), zone, hour: None }
}

fn at(second: i64, ms: i64) -> Timestamp {
    let at = Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH);
    at.saturating_add(SignedDuration::from_millis(ms)).unwrap_or(at)
}
