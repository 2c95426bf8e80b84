//! A time zone as stretches of constant offset.

mod year;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::date::Date;
use year::{DAY, LIKE, like, year_start};

/// Transitions up to here are kept in a table; later years are looked up in years like them.
const HORIZON: i64 = 5_049_129_600; // 2130-01-01T00:00:00Z
/// No schedule looks further back than 1970, by more than an offset.
const START: i64 = -7 * 86_400;

/// A zone of the tz database compiled in, shared by all schedules that name it.
pub(super) struct Zone {
    name: Box<str>,
    /// In order, the first from the beginning of time.
    table: Box<[Entry]>,
    /// Where the table ends.
    known_to: i64,
    /// From here on the zone follows its last rule.
    regular_from: i64,
}

/// The start of a stretch. Instants are seconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: i64,
    offset: i32,
    shift: i32,
}

/// A stretch of constant offset: `start <= t < end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) start: i64,
    pub(super) end: i64,
    /// Seconds east of UTC.
    pub(super) offset: i64,
    /// What the wall clock does at `start`, against the furthest it had come before: it leaves out
    /// so many seconds (positive) or shows so many again (negative).
    pub(super) shift: i64,
    /// The same at `end`.
    pub(super) next_shift: i64,
}

impl Zone {
    /// The zone of that name, `None` where the tz database has none. Case does not matter.
    pub(super) fn named(name: &str) -> Option<Arc<Self>> {
        static ZONES: LazyLock<Mutex<HashMap<Box<str>, Arc<Zone>>>> = LazyLock::new(Mutex::default);
        static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

        let lock = || ZONES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(zone) = lock().get(name) {
            return Some(Arc::clone(zone));
        }
        let zone = DATABASE.get(name).ok()?;
        let canonical = zone.iana_name()?.to_owned();
        let zone = match lock().get(canonical.as_str()).map(Arc::clone) {
            Some(zone) => zone,
            None => Arc::new(Self::new(&canonical, &zone)),
        };
        // Only the spelling of the database is kept, so that the map cannot grow without end.
        Some(Arc::clone(lock().entry(canonical.into()).or_insert(zone)))
    }

    fn new(name: &str, zone: &TimeZone) -> Self {
        let first = offset_at(zone, START);
        let mut table = vec![Entry { start: i64::MIN, offset: narrow(first), shift: 0 }];
        let mut offset = first;
        // The furthest the wall clock had come.
        let mut furthest = i64::MIN;
        let mut known_to = i64::MAX;
        for transition in zone.following(timestamp(START)) {
            let start = transition.timestamp().as_second();
            let next = i64::from(transition.offset().seconds());
            if next == offset {
                continue;
            }
            furthest = furthest.max(start + offset);
            let shift = start + next - furthest;
            table.push(Entry { start, offset: narrow(next), shift: narrow(shift) });
            offset = next;
            if start >= HORIZON {
                known_to = start;
                break;
            }
        }
        let table = table.into_boxed_slice();
        let mut zone = Self { name: name.into(), table, known_to, regular_from: 0 };
        zone.regular_from = zone.first_regular();
        zone
    }

    /// The start of the first year after which all years do as those of their kind.
    fn first_regular(&self) -> i64 {
        if self.known_to == i64::MAX {
            return self.table.last().map_or(START, |entry| entry.start.max(START));
        }
        let changes = |year: i64, moved: i64| {
            let from = self.table.partition_point(|entry| entry.start < year_start(year));
            let to = self.table.partition_point(|entry| entry.start < year_start(year + 1));
            self.table[from..to].iter().map(move |e| (e.start - moved, e.offset, e.shift))
        };
        let irregular = (1970..LIKE.start).rev().find(|&year| {
            let moved = year_start(year) - year_start(like(year));
            !changes(year, moved).eq(changes(like(year), 0))
        });
        year_start(irregular.map_or(1970, |year| year + 1))
    }

    /// From here on the zone does the same in all years of the same kind.
    pub(super) fn regular_from(&self) -> i64 {
        self.regular_from
    }

    /// The name as the tz database spells it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The stretch that holds `t`.
    pub(super) fn at(&self, t: i64) -> Stretch {
        if t >= self.known_to {
            return self.beyond(t);
        }
        // The first entry starts before every instant.
        let index = self.table.partition_point(|entry| entry.start <= t) - 1;
        let entry = self.table[index];
        let next = self.table.get(index + 1);
        Stretch {
            start: entry.start,
            end: next.map_or(i64::MAX, |next| next.start),
            offset: i64::from(entry.offset),
            shift: i64::from(entry.shift),
            next_shift: next.map_or(0, |next| i64::from(next.shift)),
        }
    }

    /// The same without a table of its own: a zone's last rule goes on for ever, and does the same
    /// in all years that have as many days and begin on the same weekday. (A zone without such a
    /// rule has no end of its table.)
    fn beyond(&self, t: i64) -> Stretch {
        let year = Date::from_days(t.div_euclid(DAY)).year;
        let like = self.in_year_like(year, t);
        // A stretch that reaches into another year has its end there.
        let (from, to) = (year_start(year), year_start(year + 1));
        let before = match like.start < from {
            true => self.in_year_like(year - 1, from - 1),
            false => like,
        };
        let after = match like.end >= to {
            true => self.in_year_like(year + 1, to),
            false => like,
        };
        Stretch { start: before.start, shift: before.shift, ..after }
    }

    /// The stretch that holds `t`, right as far as it lies in the given year.
    fn in_year_like(&self, year: i64, t: i64) -> Stretch {
        let moved = year_start(year) - year_start(like(year));
        let stretch = self.at(t - moved);
        Stretch { start: stretch.start + moved, end: stretch.end + moved, ..stretch }
    }
}

fn offset_at(zone: &TimeZone, t: i64) -> i64 {
    i64::from(zone.to_offset(timestamp(t)).seconds())
}

/// The instant, or the end of time nearest to it.
fn timestamp(t: i64) -> Timestamp {
    let end = if t < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(t).unwrap_or(end)
}

/// Offsets and shifts are below two days.
#[allow(clippy::cast_possible_truncation)]
const fn narrow(seconds: i64) -> i32 {
    seconds as i32
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Zone").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_shared_and_its_name_is_the_databases() {
        let zone = Zone::named("europe/BERLIN").unwrap();
        assert_eq!(zone.name(), "Europe/Berlin");
        assert!(Arc::ptr_eq(&zone, &Zone::named("Europe/Berlin").unwrap()));
        for unknown in ["", "Europe/Atlantis", "../etc/passwd", "Local", "+02:00", "\u{0}"] {
            assert!(Zone::named(unknown).is_none(), "{unknown:?}");
        }
    }

    /// Every change of an offset from 1970 to 2600, as `jiff` has them.
    #[test]
    fn every_stretch_of_every_zone_is_jiffs() {
        let end = year_start(2600);
        for name in TimeZoneDatabase::bundled().available() {
            let zone = Zone::named(name.as_str()).unwrap();
            let jiff = TimeZoneDatabase::bundled().get(name.as_str()).unwrap();
            let mut offset = offset_at(&jiff, 0);
            let mut start = zone.at(0).start;
            let mut changes = jiff.following(timestamp(0)).map(|change| {
                (change.timestamp().as_second(), i64::from(change.offset().seconds()))
            });
            while start < end {
                let (next, then) = loop {
                    match changes.next() {
                        Some((_, then)) if then == offset => {}
                        Some(change) => break change,
                        None => break (i64::MAX, offset),
                    }
                };
                let inside = start.max(0) + (next.min(end) - start.max(0)) / 2;
                for t in [start.max(0), inside, next.min(end) - 1] {
                    let stretch = zone.at(t);
                    assert_eq!((stretch.start, stretch.end), (start, next), "{name} {t}");
                    assert_eq!(stretch.offset, offset, "{name} {t}");
                    assert_eq!(stretch.next_shift, then - offset, "{name} {t}");
                    if next < end {
                        assert_eq!(zone.at(next).shift, stretch.next_shift, "{name} {t}");
                    }
                }
                (start, offset) = (next, then);
            }
        }
    }

    #[test]
    fn a_zone_is_regular_from_the_year_of_its_last_rule() {
        let cases = [("America/New_York", 2007), ("Europe/Berlin", 1996), ("Asia/Gaza", 2087)];
        for (name, year) in cases {
            let zone = Zone::named(name).unwrap();
            assert_eq!(Date::from_days(zone.regular_from() / DAY).year, year, "{name}");
        }
    }
}
