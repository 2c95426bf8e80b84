//! A cron expression in its zone.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::civil::FieldSets;
use super::dialect::{Expression, ZonePrefix};
use super::error::{ScheduleError, ScheduleErrorKind as Kind};
use super::every::floor_ms;
use super::shift::{self, OnGap, OnRepeat, Rules};
use super::zone::Zone;

/// The cron form of a schedule.
#[derive(Clone, Debug)]
pub(super) struct Cron {
    pub(super) sets: FieldSets,
    /// `None` for UTC.
    pub(super) zone: Option<Arc<Zone>>,
    /// Six fields or seven, in canonical spelling.
    pub(super) text: Box<str>,
    pub(super) fixed_time: bool,
    /// The zone stands in the expression.
    zone_in_text: bool,
    pub(super) on_gap: Option<OnGap>,
    pub(super) on_repeat: Option<OnRepeat>,
}

impl Cron {
    /// What `text` was read as.
    pub(super) fn new(
        text: &str,
        read: Expression,
        prefix: Option<ZonePrefix<'_>>,
    ) -> Result<Self, ScheduleError> {
        let zone = match &prefix {
            None => None,
            Some(prefix) => named(prefix.name).map_err(|error| error.at(text, prefix.at))?,
        };
        Ok(Self {
            sets: read.sets,
            zone,
            text: read.text,
            fixed_time: read.fixed_time,
            zone_in_text: prefix.is_some(),
            on_gap: None,
            on_repeat: None,
        })
    }

    /// Follows the wall clock of the zone, unless the expression names one itself.
    pub(super) fn set_zone(&mut self, name: &str) -> Result<(), ScheduleError> {
        let zone = named(name)?;
        if !self.zone_in_text {
            self.zone = zone;
        }
        Ok(())
    }

    pub(super) fn rules(&self) -> Rules {
        Rules::new(self.fixed_time, self.on_gap, self.on_repeat)
    }

    pub(super) fn zone_name(&self) -> &str {
        self.zone.as_ref().map_or("UTC", |zone| zone.name())
    }

    pub(super) fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        // Ticks are whole seconds, so the first candidate is the second after the one `t` is in.
        let from = floor_ms(t).div_euclid(1_000) + 1;
        let tick = match &self.zone {
            None => self.sets.at_or_after(from),
            Some(zone) => shift::at_or_after(&self.sets, zone, self.rules(), from),
        };
        // Past the last instant there is no tick.
        Timestamp::from_second(tick?).ok()
    }
}

/// `None` is UTC, which needs no table.
fn named(name: &str) -> Result<Option<Arc<Zone>>, ScheduleError> {
    match Zone::named(name) {
        Some(zone) if zone.name() == "UTC" => Ok(None),
        Some(zone) => Ok(Some(zone)),
        None => {
            let expected = "the name of a zone of the tz database, such as `Europe/Berlin`";
            Err(ScheduleError::new(Kind::UnknownZone, expected).found(name))
        }
    }
}

/// The zone unless it is UTC, the fields, and the rules that are not the default ones.
impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(zone) = &self.zone {
            write!(f, "TZ={} ", zone.name())?;
        }
        f.write_str(&self.text)?;
        let (rules, default) = (self.rules(), Rules::new(self.fixed_time, None, None));
        if rules.gap_below != default.gap_below {
            f.write_str(if rules.gap_below == 0 { " gap=skip" } else { " gap=after" })?;
        }
        if rules.on_repeat != default.on_repeat {
            f.write_str(match rules.on_repeat {
                OnRepeat::First => " repeat=first",
                OnRepeat::Second => " repeat=second",
                OnRepeat::Both => " repeat=both",
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the text and two words of the allocator's, and at most the list of years.
    #[test]
    fn an_expression_in_a_zone_stays_below_two_hundred_bytes() {
        let years = size_of::<[u64; 3]>();
        assert!(size_of::<Cron>() + years + 24 <= 160, "{}", size_of::<Cron>());
    }
}
