//! A time zone as stretches of constant offset.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// Transitions up to here are kept in a table; the rare question beyond it goes to `jiff`.
const HORIZON: i64 = 5_049_129_600; // 2130-01-01T00:00:00Z
/// No schedule looks further back than 1970, by more than an offset.
const START: i64 = -7 * 86_400;

/// A zone of the tz database compiled in, shared by all schedules that name it.
pub(super) struct Zone {
    name: Box<str>,
    zone: TimeZone,
    /// In order, the first from the beginning of time.
    table: Box<[Entry]>,
    /// Where the table ends.
    known_to: i64,
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
            None => Arc::new(Self::new(&canonical, zone)),
        };
        // Only the spelling of the database is kept, so that the map cannot grow without end.
        Some(Arc::clone(lock().entry(canonical.into()).or_insert(zone)))
    }

    fn new(name: &str, zone: TimeZone) -> Self {
        let first = offset_at(&zone, START);
        let mut table = vec![Entry {
            start: i64::MIN,
            offset: narrow(first),
            shift: 0,
        }];
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
            table.push(Entry {
                start,
                offset: narrow(next),
                shift: narrow(shift),
            });
            offset = next;
            if start >= HORIZON {
                known_to = start;
                break;
            }
        }
        Self {
            name: name.into(),
            zone,
            table: table.into_boxed_slice(),
            known_to,
        }
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

    /// The same without the table: the rule of a zone's last years goes on for ever.
    fn beyond(&self, t: i64) -> Stretch {
        let offset = offset_at(&self.zone, t);
        let changed =
            |second: i64, other: i64| (offset_at(&self.zone, second) != offset).then_some(other);
        let before = self
            .zone
            .preceding(timestamp(t.saturating_add(1)))
            .find_map(|transition| {
                let start = transition.timestamp().as_second();
                changed(start - 1, start)
            });
        let after = self.zone.following(timestamp(t)).find_map(|transition| {
            let end = transition.timestamp().as_second();
            changed(end, end)
        });
        let start = before.unwrap_or(i64::MIN);
        let end = after.unwrap_or(i64::MAX);
        Stretch {
            start,
            end,
            offset,
            shift: before.map_or(0, |start| offset - offset_at(&self.zone, start - 1)),
            next_shift: after.map_or(0, |end| offset_at(&self.zone, end) - offset),
        }
    }
}

fn offset_at(zone: &TimeZone, t: i64) -> i64 {
    i64::from(zone.to_offset(timestamp(t)).seconds())
}

/// The instant, or the end of time nearest to it.
fn timestamp(t: i64) -> Timestamp {
    let end = if t < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
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
        for unknown in [
            "",
            "Europe/Atlantis",
            "../etc/passwd",
            "Local",
            "+02:00",
            "\u{0}",
        ] {
            assert!(Zone::named(unknown).is_none(), "{unknown:?}");
        }
    }

    #[test]
    fn the_table_agrees_with_jiff_in_every_zone() {
        for name in TimeZoneDatabase::bundled().available() {
            let zone = Zone::named(name.as_str()).unwrap();
            // Prime, so that it meets all hours and weekdays.
            for t in (0..HORIZON + 86_400 * 800).step_by(7_919 * 997) {
                let stretch = zone.at(t);
                assert!(stretch.start <= t && t < stretch.end, "{name} {t}");
                assert_eq!(stretch.offset, offset_at(&zone.zone, t), "{name} {t}");
                if stretch.start > START {
                    assert_ne!(
                        stretch.offset,
                        offset_at(&zone.zone, stretch.start - 1),
                        "{name} {t}"
                    );
                    assert_eq!(zone.at(stretch.start - 1).end, stretch.start, "{name} {t}");
                }
                // Just after a zone's last irregular transition jiff 1.0.2 answers `preceding` by
                // the rule alone, so the two ways are compared where the rule has always held.
                if stretch.start > 3_723_753_600 {
                    assert_eq!(stretch, zone.beyond(t), "{name} {t}");
                }
            }
        }
    }
}
