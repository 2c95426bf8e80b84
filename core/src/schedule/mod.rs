//! Schedules: when a job is due.
//!
//! A [`Schedule`] is a pure function of time: it knows no clock and no state, so every node of a
//! fleet works out the same ticks by itself.
//!
//! # The cron dialect
//!
//! Five fields (minute, hour, day of month, month, day of week), six (second first) or seven (year
//! last), as robfig/cron v3 for Go has them, widened. The number of fields alone decides; nothing
//! is filled in or left over.
//!
//! | written | means |
//! |---|---|
//! | `*`, `*/5` | every value; every fifth from the field's first |
//! | `7`, `1-5`, `10-50/20`, `1,15,30` | a value, a range with both ends, with a step, a list |
//! | `5/15` | from 5 to the end of the field by 15: 5, 20, 35, 50 |
//! | `MON`, `jan` | three-letter names of any case, in their own fields |
//! | `0` and `7` | Sunday, in the day-of-week field |
//! | `FRI-MON`, `5-1` | wraps round Saturday, in the day-of-week field only |
//! | `?` | the same as `*`, as a whole day field only |
//! | `L`, `LW` | the last day of the month; its last Monday to Friday |
//! | `15W` | the Monday to Friday nearest to the 15th within the month |
//! | `5L`, `FRI#2` | the last Friday of the month; its second Friday |
//! | `@hourly @daily @midnight @weekly @monthly @yearly @annually` | as everywhere |
//! | `@every 1h30m` | [`Schedule::every`]; units `h`, `m`, `s`, `ms` |
//! | `TZ=Asia/Tokyo 0 9 * * *`, `CRON_TZ=...` | the zone of the schedule; wins over [`Schedule::time_zone`] |
//!
//! Where both day fields are restricted, a day that matches either matches. A field is a
//! restriction unless it is `*`, `?` or `*/1`: `*/2` is one and so is `1-31`, as in robfig/cron.
//! Vixie cron differs in that a field which only begins with `*` is none.
//!
//! An expression has at most 1,024 bytes, and one that can never fire (30 February) is an error.
//!
//! # Changes of the clocks
//!
//! A schedule follows the wall clock of its zone, UTC unless it says otherwise. The rules for the
//! two nights a year are Vixie cron's, and a schedule may choose others: see [`OnGap`] and
//! [`OnRepeat`]. Zone data is compiled in, so that nodes of one build agree.

mod between;
mod civil;
mod custom;
mod date;
mod days;
mod dialect;
mod error;
mod every;
mod field;
mod fingerprint;
mod shift;
mod zone;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

pub use between::TickCount;
pub use custom::Occurrences;
pub use error::{ScheduleError, ScheduleErrorKind};
pub use field::Field;
pub use fingerprint::{Fingerprint, ParseFingerprintError};
pub use shift::{OnGap, OnRepeat};

use civil::FieldSets;
use dialect::Parsed;
use error::ScheduleErrorKind as Kind;
use every::{Every, whole_up};
use shift::Rules;
use zone::Zone;

/// When a job is due: a cron expression, a period, one instant, or rules of one's own.
///
/// Every tick is in whole milliseconds, cron's in whole seconds of the wall clock. No schedule but
/// a custom one has ticks before 1970 or, because `jiff` ends there, after 9999. Clones are cheap.
///
/// # Examples
///
/// ```
/// use tidelock::Schedule;
///
/// let schedule = Schedule::cron("30 2 * * *")?.time_zone("Europe/Berlin")?;
/// let next = schedule.next_after("2027-03-27T12:00:00Z".parse().unwrap());
/// // 02:30 does not exist that night: the clocks go from 02:00 to 03:00.
/// assert_eq!(next, Some("2027-03-28T01:00:00Z".parse().unwrap()));
/// # Ok::<(), tidelock::ScheduleError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schedule(Arc<Form>);

#[derive(Clone, Debug)]
enum Form {
    Cron(Cron),
    Every(Every),
    Once(Timestamp),
    Custom(Arc<dyn Occurrences>),
}

#[derive(Clone, Debug)]
struct Cron {
    sets: FieldSets,
    /// `None` for UTC.
    zone: Option<Arc<Zone>>,
    text: Box<str>,
    fixed_time: bool,
    /// The zone stands in the expression.
    zone_in_text: bool,
    on_gap: Option<OnGap>,
    on_repeat: Option<OnRepeat>,
}

impl Schedule {
    /// A cron expression in the dialect of the [module](self), in UTC unless it names a zone.
    ///
    /// # Errors
    ///
    /// What is not understood is refused, with the column of what is wrong and what was expected,
    /// and so is an expression that can never fire.
    pub fn cron(expression: &str) -> Result<Self, ScheduleError> {
        match dialect::parse(expression)? {
            Parsed::Every(period) => Ok(Form::Every(Every { period, anchor: 0 }).into()),
            Parsed::Cron(parsed, prefix) => {
                let zone = match &prefix {
                    None => None,
                    Some(prefix) => {
                        zone(prefix.name).map_err(|error| error.at(expression, prefix.at))?
                    }
                };
                Ok(Form::Cron(Cron {
                    sets: parsed.sets,
                    zone,
                    text: parsed.text,
                    fixed_time: parsed.fixed_time,
                    zone_in_text: prefix.is_some(),
                    on_gap: None,
                    on_repeat: None,
                })
                .into())
            }
        }
    }

    /// A tick at every multiple of `period` since 1970-01-01T00:00:00Z.
    ///
    /// Aligned to the epoch rather than to a node's start, so that all nodes agree (robfig's
    /// `@every` counts from the start of the process).
    ///
    /// # Errors
    ///
    /// A period is in whole milliseconds, longer than zero, and at most 8,029 years, the time there
    /// is between 1970 and the last instant.
    pub fn every(period: Duration) -> Result<Self, ScheduleError> {
        Self::every_from(period, Timestamp::UNIX_EPOCH)
    }

    /// A tick at `anchor`, the first one, and then one each `period`.
    ///
    /// The anchor is cut up to whole milliseconds.
    ///
    /// # Errors
    ///
    /// As for [`every`](Self::every).
    pub fn every_from(period: Duration, anchor: Timestamp) -> Result<Self, ScheduleError> {
        Every::new(period, anchor).map(|every| Form::Every(every).into())
    }

    /// One tick at `at`, cut up to whole milliseconds.
    pub fn once(at: Timestamp) -> Self {
        Form::Once(whole_up(at)).into()
    }

    /// A schedule of the user's own.
    pub fn custom(schedule: impl Occurrences) -> Self {
        Form::Custom(Arc::new(schedule)).into()
    }

    /// The zone whose wall clock a cron schedule follows, by its name in the tz database.
    ///
    /// A zone in the expression (`TZ=`, `CRON_TZ=`) wins; `name` is then checked and not used.
    /// Where `name` is a zone of winter and summer time, see [`OnGap`] and [`OnRepeat`].
    ///
    /// # Errors
    ///
    /// A zone that the tz database compiled in does not have, and any schedule but a cron
    /// expression, since nothing else has a wall-clock time.
    pub fn time_zone(mut self, name: &str) -> Result<Self, ScheduleError> {
        let zone = zone(name)?;
        match Arc::make_mut(&mut self.0) {
            Form::Cron(cron) if cron.zone_in_text => Ok(self),
            Form::Cron(cron) => {
                cron.zone = zone;
                Ok(self)
            }
            Form::Every(_) | Form::Once(_) | Form::Custom(_) => {
                let expected = "a cron expression, which alone has a wall clock to follow";
                Err(ScheduleError::new(Kind::ZoneNotApplicable, expected).found(&self.to_string()))
            }
        }
    }

    /// What happens to times that the clocks leave out; no other schedule than cron has any.
    pub fn on_gap(mut self, choice: OnGap) -> Self {
        if let Form::Cron(cron) = Arc::make_mut(&mut self.0) {
            cron.on_gap = Some(choice);
        }
        self
    }

    /// What happens to times that the clocks show twice; no other schedule than cron has any.
    pub fn on_repeat(mut self, choice: OnRepeat) -> Self {
        if let Form::Cron(cron) = Arc::make_mut(&mut self.0) {
            cron.on_repeat = Some(choice);
        }
        self
    }

    /// The name of the zone whose wall clock the schedule follows, as the tz database spells it;
    /// `None` for all but cron.
    pub fn zone_name(&self) -> Option<&str> {
        match &*self.0 {
            Form::Cron(cron) => Some(cron.zone_name()),
            Form::Every(_) | Form::Once(_) | Form::Custom(_) => None,
        }
    }

    /// The first tick strictly later than `t`, in whole milliseconds; `None` means never again.
    ///
    /// The answer of a custom schedule is cut up to whole milliseconds and passed on even where it
    /// is not later than `t`, so that who asks can see and refuse it; its panic is passed on too.
    pub fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        match &*self.0 {
            Form::Cron(cron) => cron.next_after(t),
            Form::Every(every) => every.next_after(t),
            Form::Once(at) => Some(*at).filter(|&at| at > t),
            Form::Custom(custom) => custom.next_after(t).map(whole_up),
        }
    }

    /// The newest tick later than `after` and not later than `through`.
    ///
    /// The ticks in between are not walked: the cost is at most 50 calls of `next_after`.
    pub fn newest_between(&self, after: Timestamp, through: Timestamp) -> Option<Timestamp> {
        match &*self.0 {
            Form::Every(every) => every.newest_between(after, through),
            Form::Once(at) => Some(*at).filter(|&at| at > after && at <= through),
            Form::Cron(_) | Form::Custom(_) => {
                between::newest(|t| self.next_after(t), after, through)
            }
        }
    }

    /// How many ticks are later than `after` and not later than `through`.
    ///
    /// Those of a cron or custom schedule are walked, up to `limit`.
    pub fn count_between(&self, after: Timestamp, through: Timestamp, limit: u64) -> TickCount {
        match &*self.0 {
            Form::Every(every) => TickCount::new(every.count_between(after, through), false),
            Form::Once(at) => TickCount::new(u64::from(*at > after && *at <= through), false),
            Form::Cron(_) | Form::Custom(_) => {
                between::count(|t| self.next_after(t), after, through, limit)
            }
        }
    }

    /// Whether it has one tick alone.
    pub(crate) fn is_once(&self) -> bool {
        matches!(*self.0, Form::Once(_))
    }

    /// What tells this schedule from one with other ticks, in a store that other nodes read.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.to_string())
    }
}

impl Cron {
    fn rules(&self) -> Rules {
        Rules::new(self.fixed_time, self.on_gap, self.on_repeat)
    }

    fn zone_name(&self) -> &str {
        self.zone.as_ref().map_or("UTC", |zone| zone.name())
    }

    fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        // Ticks are whole seconds, so the first candidate is the second after the one `t` is in.
        let from = every::floor_ms(t).div_euclid(1_000) + 1;
        let tick = match &self.zone {
            None => self.sets.at_or_after(from),
            Some(zone) => shift::at_or_after(&self.sets, zone, self.rules(), from),
        };
        // Past the last instant there is no tick.
        Timestamp::from_second(tick?).ok()
    }
}

/// `None` is UTC, which needs no table.
fn zone(name: &str) -> Result<Option<Arc<Zone>>, ScheduleError> {
    match Zone::named(name) {
        Some(zone) if zone.name() == "UTC" => Ok(None),
        Some(zone) => Ok(Some(zone)),
        None => {
            let expected = "the name of a zone of the tz database, such as `Europe/Berlin`";
            Err(ScheduleError::new(Kind::UnknownZone, expected).found(name))
        }
    }
}

impl From<Form> for Schedule {
    fn from(form: Form) -> Self {
        Self(Arc::new(form))
    }
}

/// Canonical text: the same for two schedules only where they have the same ticks.
///
/// A cron schedule shows six fields or seven in canonical spelling, its zone unless that is UTC, and
/// its rules for changes of the clocks where they are not the default ones.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Form::Cron(cron) => {
                if let Some(zone) = &cron.zone {
                    write!(f, "TZ={} ", zone.name())?;
                }
                f.write_str(&cron.text)?;
                let (rules, default) = (cron.rules(), Rules::new(cron.fixed_time, None, None));
                if rules.gap_below != default.gap_below {
                    f.write_str(if rules.gap_below == 0 {
                        " gap=skip"
                    } else {
                        " gap=after"
                    })?;
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
            Form::Every(Every { period, anchor: 0 }) => write!(f, "@every {period}ms"),
            Form::Every(Every { period, anchor }) => write!(f, "@every {period}ms from {anchor}"),
            Form::Once(at) => write!(f, "@once {at}"),
            Form::Custom(custom) => write!(f, "@custom {}", custom.name()),
        }
    }
}
