//! The schedule itself.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::between::{self, TickCount};
use super::cron::Cron;
use super::custom::Occurrences;
use super::describe;
use super::dialect::{self, Parsed};
use super::error::{ScheduleError, ScheduleErrorKind as Kind};
use super::every::{Every, whole_up};
use super::explain::{self, ExplainedTick};
use super::fingerprint::Fingerprint;
use super::shift::{OnGap, OnRepeat};

/// When a job is due: a cron expression, a period, one instant, or rules of one's own.
///
/// Every tick is in whole milliseconds, cron's in whole seconds of the wall clock. No schedule but
/// a custom one has ticks before 1970 or, because `jiff` ends there, after 9999. Clones are cheap.
///
/// # The cron dialect
///
/// Five fields (minute, hour, day of month, month, day of week), six (second first) or seven (year
/// last), as robfig/cron v3 for Go has them, widened. The number of fields alone decides which is
/// the first; without a field for it the second is 0 and the year any.
///
/// | written | means |
/// |---|---|
/// | `*`, `*/5` | every value; every fifth from the field's first |
/// | `7`, `1-5`, `10-50/20`, `1,15,30` | a value, a range with both ends, with a step, a list |
/// | `5/15` | from 5 to the end of the field by 15: 5, 20, 35, 50 |
/// | `MON`, `jan` | three-letter names of any case, in their own fields |
/// | `0` and `7` | Sunday, in the day-of-week field |
/// | `FRI-MON`, `5-1` | wraps round Saturday, in the day-of-week field only |
/// | `?` | the same as `*`, as a whole day field only |
/// | `L`, `LW` | the last day of the month; its last Monday to Friday |
/// | `15W` | the Monday to Friday nearest to the 15th within the month |
/// | `5L`, `FRI#2` | the last Friday of the month; its second Friday |
/// | `@hourly @daily @midnight @weekly @monthly @yearly @annually` | as everywhere |
/// | `@every 1h30m` | [`Schedule::every`]; units `h`, `m`, `s`, `ms` |
/// | `TZ=Asia/Tokyo 0 9 * * *`, `CRON_TZ=...` | the zone of the schedule; wins over [`Schedule::time_zone`] |
///
/// Where both day fields are restricted, a day that matches either matches. A field is a
/// restriction unless it is `*`, `?` or `*/1`: `*/2` is one and so is `1-31`, as in robfig/cron.
/// Vixie cron differs in that a field which only begins with `*` is none.
///
/// An expression has at most 1,024 bytes, and one that can never fire (30 February) is an error.
/// Years can be written out up to 2100; an expression without them goes on to the last instant.
///
/// # Changes of the clocks
///
/// A cron schedule follows the wall clock of its zone, UTC unless it says otherwise. Where the
/// clocks change, Vixie cron's rules hold unless the schedule [chooses](OnGap) [others](OnRepeat):
///
/// - A fixed-time job (neither its minute nor its hour field begins with `*`) has a tick at the
///   first instant after a gap of less than three hours for the times that the clocks leave out,
///   and in the first pass alone for those that they show twice.
/// - Any other job follows the wall clock: no tick in a gap, and one in each pass.
///
/// Zone data is compiled in, so that the nodes of one build agree whatever their hosts have.
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
#[derive(Clone)]
pub struct Schedule(Arc<Form>);

#[derive(Clone, Debug)]
enum Form {
    Cron(Cron),
    Every(Every),
    Once(Timestamp),
    Custom(Arc<dyn Occurrences>),
}

impl Schedule {
    /// A cron expression in the [dialect](Self#the-cron-dialect) above, in UTC unless it names a zone.
    ///
    /// # Errors
    ///
    /// What is not understood is refused, with the column of what is wrong and what was expected,
    /// and so is an expression that can never fire.
    pub fn cron(expression: &str) -> Result<Self, ScheduleError> {
        match dialect::parse(expression)? {
            Parsed::Every(period) => Ok(Form::Every(Every { period, anchor: 0 }).into()),
            Parsed::Cron(read, prefix) => {
                Ok(Form::Cron(Cron::new(expression, read, prefix)?).into())
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
        match Arc::make_mut(&mut self.0) {
            Form::Cron(cron) => cron.set_zone(name).map(|()| self),
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

    /// The schedule in plain English, with its zone.
    ///
    /// Schedules with different ticks have different descriptions. The wording may change between
    /// releases: it is for people, and [`fingerprint`](Self::fingerprint) is for programs.
    ///
    /// # Examples
    ///
    /// ```
    /// let schedule = tidelock::Schedule::cron("30 2 1 * *")?.time_zone("Asia/Shanghai")?;
    /// assert_eq!(schedule.describe(), "At 02:30 on the 1st of every month, Asia/Shanghai");
    /// # Ok::<(), tidelock::ScheduleError>(())
    /// ```
    pub fn describe(&self) -> String {
        match &*self.0 {
            Form::Cron(cron) => describe::cron(cron),
            Form::Every(every) => describe::every(every),
            Form::Once(at) => format!("Once, at {at}"),
            Form::Custom(custom) => format!("As `{}` says", custom.name()),
        }
    }

    /// The next `n` ticks after `from`, with their local times and what changes of the clocks do to
    /// them. Times that have no tick because of a change are listed in between and not counted.
    ///
    /// # Examples
    ///
    /// ```
    /// let schedule = tidelock::Schedule::cron("30 2 * * *")?.time_zone("Europe/Berlin")?;
    /// let from = "2027-03-27T12:00:00Z".parse().unwrap();
    /// let ticks = schedule.explain(from, 2).map(|tick| tick.to_string()).collect::<Vec<_>>();
    /// assert_eq!(ticks, [
    ///     "2027-03-28T01:00:00Z  2027-03-28T03:00:00+02:00  moved: the clocks leave out 02:30:00",
    ///     "2027-03-29T00:30:00Z  2027-03-29T02:30:00+02:00",
    /// ]);
    /// # Ok::<(), tidelock::ScheduleError>(())
    /// ```
    pub fn explain(&self, from: Timestamp, n: usize) -> impl Iterator<Item = ExplainedTick> + '_ {
        let cron = match &*self.0 {
            Form::Cron(cron) => Some(cron),
            Form::Every(_) | Form::Once(_) | Form::Custom(_) => None,
        };
        explain::ticks(move |t| self.next_after(t), cron, from, n)
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

impl From<Form> for Schedule {
    fn from(form: Form) -> Self {
        Self(Arc::new(form))
    }
}

/// The canonical text, or a custom schedule's own `Debug`: the sets of values say nothing to a reader.
impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Form::Custom(custom) => f.debug_tuple("Schedule").field(custom).finish(),
            _ => write!(f, "Schedule({self})"),
        }
    }
}

/// Canonical text: the same for two schedules only where they have the same ticks.
///
/// A cron schedule shows six fields or seven in canonical spelling, its zone unless that is UTC, and
/// its rules for changes of the clocks where they are not the default ones.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Form::Cron(cron) => cron.fmt(f),
            Form::Every(Every { period, anchor: 0 }) => write!(f, "@every {period}ms"),
            Form::Every(Every { period, anchor }) => write!(f, "@every {period}ms from {anchor}"),
            Form::Once(at) => write!(f, "@once {at}"),
            Form::Custom(custom) => write!(f, "@custom {}", custom.name()),
        }
    }
}
