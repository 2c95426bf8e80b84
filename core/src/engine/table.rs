//! The jobs of a scheduler, and where each stands.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::time::Instant;

use super::hash::Seeded;
use super::misfire::Tick;
use super::plan::{Basis, Clocks, Place, Plan};
use super::told::Told;
use crate::job::Definition;
use crate::{Intent, JobId, Misfire, Occurrence};

/// One registration of a job: a job that is removed and added again has another one, so that an
/// answer that comes late moves nothing of its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registration {
    slot: u32,
    number: u64,
}

/// Where a job stands.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) job: Arc<Definition>,
    number: u64,
    /// From when on this node answers for the job's ticks.
    pub(crate) since: Timestamp,
    /// The same moment, before the clocks are known to agree.
    pub(crate) registered: Instant,
    /// The newest tick that is answered or given up; what is later is looked for.
    pub(crate) cursor: Timestamp,
    /// The newest tick that was asked for and answered.
    pub(crate) answered: Option<Timestamp>,
    /// The tick that is waited for, and where it stands in the queue. `None` while it is asked
    /// for, and when there is none.
    next: Option<(Occurrence, Place)>,
    /// The tick that is asked for.
    asking: Option<Occurrence>,
    /// It waits with that until it was looked up: nobody asks.
    parked: bool,
    /// The job was replaced while a tick of it was asked for: what is new begins when that is over.
    replaced: Option<Begin>,
    /// Whether the mark was looked up.
    pub(crate) looked: bool,
    /// Whether it was told that the mark is ahead of this node's clock.
    pub(crate) mark_ahead: bool,
    /// By how many milliseconds the tick that is waited for stands behind its time: so far the node's
    /// clock is ahead of a backend that tells no clock.
    pub(crate) held_back: i64,
    /// What this node told last of ticks that did not run.
    pub(crate) told: Told,
}

/// From where a job goes on that was put in the place of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    /// The schedule is the same, and so is where it stands.
    There,
    /// Another schedule begins when it was registered.
    At(Timestamp, Instant),
}

/// A tick that is due.
#[derive(Debug)]
pub(crate) struct Due {
    pub(crate) registration: Registration,
    pub(crate) job: Arc<Definition>,
    pub(crate) since: Timestamp,
    pub(crate) cursor: Timestamp,
    pub(crate) next: Occurrence,
    pub(crate) basis: Basis,
    /// By how many milliseconds it was held back.
    pub(crate) held_back: i64,
}

/// All jobs, their queue, and nothing that waits.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    by_id: HashMap<JobId, u32, Seeded>,
    plan: Plan,
    registrations: u64,
}

impl Table {
    /// Registers a job; `None` if there is one of its id.
    pub(crate) fn insert(
        &mut self,
        job: Arc<Definition>,
        cursor: Timestamp,
        registered: Instant,
    ) -> Option<Registration> {
        if self.by_id.contains_key(&job.id) {
            return None;
        }
        let id = job.id.clone();
        self.registrations += 1;
        let number = self.registrations;
        let entry = Entry {
            job,
            number,
            since: cursor,
            registered,
            cursor,
            answered: None,
            next: None,
            asking: None,
            parked: false,
            replaced: None,
            looked: false,
            mark_ahead: false,
            held_back: 0,
            told: Told::default(),
        };
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.entries.push(None);
                u32::try_from(self.entries.len() - 1).ok()?
            }
        };
        self.entries[slot as usize] = Some(entry);
        self.by_id.insert(id, slot);
        Some(Registration { slot, number })
    }

    /// Takes a job out.
    pub(crate) fn remove(&mut self, id: &str) -> Option<Entry> {
        let slot = self.by_id.remove(id)?;
        let entry = self.entries[slot as usize].take()?;
        self.free.push(slot);
        if let Some((_, place)) = entry.next {
            self.plan.remove(place, slot);
        }
        Some(entry)
    }

    /// Puts a job in the place of the one of its id while a tick of that is asked for, and gives
    /// the old one back. `None` if none is.
    pub(crate) fn replace_asking(
        &mut self,
        job: &Arc<Definition>,
        now: Timestamp,
        registered: Instant,
    ) -> Option<Arc<Definition>> {
        let slot = *self.by_id.get(job.id.as_str())?;
        let entry = self.entries.get_mut(slot as usize)?.as_mut()?;
        entry.asking?;
        if entry.job.fingerprint != job.fingerprint {
            entry.replaced = Some(Begin::At(now, registered));
        } else if entry.replaced.is_none() {
            entry.replaced = Some(Begin::There);
        }
        Some(std::mem::replace(&mut entry.job, job.clone()))
    }

    pub(crate) fn find(&self, id: &str) -> Option<(Registration, &Entry)> {
        let slot = *self.by_id.get(id)?;
        let entry = self.entries.get(slot as usize)?.as_ref()?;
        Some((Registration { slot, number: entry.number }, entry))
    }

    /// The entry of a registration that is still there.
    pub(crate) fn entry(&mut self, registration: Registration) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(registration.slot as usize)?.as_mut()?;
        (entry.number == registration.number).then_some(entry)
    }

    /// All jobs, in the order of their ids.
    pub(crate) fn jobs(&self) -> Vec<&Entry> {
        let mut jobs: Vec<_> = self.entries.iter().flatten().collect();
        jobs.sort_by(|a, b| a.job.id.cmp(&b.job.id));
        jobs
    }

    /// Any one job, to ask the backend about something: another one each turn.
    pub(crate) fn any(&self, turn: usize) -> Option<&Entry> {
        let turn = turn.checked_rem(self.by_id.len())?;
        self.entries.iter().flatten().nth(turn)
    }

    /// Queues a job for its next tick. Tells whether who sleeps until the next tick of all jobs
    /// has to be woken.
    pub(crate) fn queue(
        &mut self,
        registration: Registration,
        next: Option<(Occurrence, Place)>,
    ) -> bool {
        let slot = registration.slot;
        let Some(entry) = self.entry(registration) else {
            return false;
        };
        (entry.asking, entry.parked) = (None, false);
        let before = std::mem::replace(&mut entry.next, next);
        if let Some((_, place)) = before {
            self.plan.remove(place, slot);
        }
        next.is_some_and(|(_, place)| self.plan.insert(place, slot))
    }

    /// Takes a job out of the queue.
    pub(crate) fn take_out(&mut self, registration: Registration) {
        let next = self.entry(registration).and_then(|entry| entry.next.take());
        if let Some((_, place)) = next {
            self.plan.remove(place, registration.slot);
        }
    }

    /// Takes the next tick that is due. Its job is not due again until it is queued.
    pub(crate) fn take_due(&mut self, clocks: Clocks) -> Option<Due> {
        loop {
            let (slot, basis) = self.plan.pop_due(clocks)?;
            let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::as_mut) else {
                continue;
            };
            let Some((next, _)) = entry.next.take() else {
                continue;
            };
            (entry.asking, entry.parked) = (Some(next), false);
            return Some(Due {
                registration: Registration { slot, number: entry.number },
                job: entry.job.clone(),
                since: entry.since,
                cursor: entry.cursor,
                next,
                basis,
                held_back: std::mem::take(&mut entry.held_back),
            });
        }
    }

    /// Rewinds all jobs that ask for nothing just now, and tells which of them that moved, or holds
    /// back no more.
    pub(crate) fn rewind(&mut self, now: Timestamp) -> Vec<(Registration, Arc<Definition>)> {
        let mut moved = Vec::new();
        for (slot, entry) in (0..).zip(&mut self.entries) {
            let Some(entry) = entry else { continue };
            if entry.asking.is_none()
                && (entry.rewind(now) || std::mem::take(&mut entry.held_back) > 0)
            {
                moved.push((Registration { slot, number: entry.number }, entry.job.clone()));
            }
        }
        moved
    }

    pub(crate) fn next_wake(&self, clocks: Clocks) -> Option<i64> {
        self.plan.next_wake(clocks)
    }
}

impl Entry {
    /// Takes the job back to `now`, when that turns out to be earlier than was thought: of the
    /// ticks after it only those that were answered count as done. Tells whether it moved.
    pub(crate) fn rewind(&mut self, now: Timestamp) -> bool {
        let to = self.answered.map_or(now, |answered| answered.max(now));
        let moves = to < self.cursor;
        if moves {
            (self.since, self.cursor) = (self.since.min(to), to);
        }
        moves
    }

    /// Whether it is queued, by that clock, for the tick that comes first after its cursor, which
    /// was `before` when it was queued: they are of one millisecond, and ticks are whole ones.
    pub(crate) fn waits_for_the_same(&self, before: Timestamp, basis: Basis) -> bool {
        let ms = Timestamp::as_millisecond;
        let queued =
            |(tick, place): (Occurrence, Place)| tick.at() > self.cursor && place.0 == basis;
        ms(before) == ms(self.cursor) && self.next.is_some_and(queued)
    }

    pub(crate) fn next(&self) -> Option<Occurrence> {
        self.next.map(|(tick, _)| tick)
    }

    /// Whether it waits to be looked up, with the tick that it would ask for.
    pub(crate) fn is_parked(&self) -> bool {
        self.parked
    }

    /// Whether its schedule is another one than that of the tick which is asked for.
    pub(crate) fn is_edited(&self) -> bool {
        matches!(self.replaced, Some(Begin::At(..)))
    }

    /// The tick that was asked for is answered or given up, as far as `cursor`. Where the job was
    /// replaced meanwhile: what goes on in its place, and from where.
    pub(crate) fn succeed(&mut self, cursor: Timestamp) -> Option<(Arc<Definition>, Timestamp)> {
        let cursor = match self.replaced.take()? {
            Begin::There => cursor,
            Begin::At(since, registered) => {
                (self.since, self.registered) = (since, registered);
                since
            }
        };
        Some((self.job.clone(), cursor))
    }

    pub(crate) fn asking(&self) -> Option<Occurrence> {
        self.asking
    }

    /// Remembers which tick is really asked for: of several that are due, the newest. Tells whether
    /// it has to wait for the look-up: a backlog is run from its beginning, which that may still
    /// find; and what is past by this node's clock may not be due yet by the backend's.
    pub(crate) fn asks(&mut self, job: &Definition, tick: Tick) -> bool {
        self.asking = Some(tick.occurrence);
        let is_backlog = matches!(job.misfire, Misfire::All { .. });
        self.parked = !self.looked && (is_backlog || tick.intent != Intent::Run);
        self.parked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Job;

    #[test]
    fn a_look_moves_no_job_whose_next_tick_stays_the_same() {
        let mut table = Table::default();
        let job = Job::new("j").cron("* * * * *").unwrap().run(|_| async {});
        let job = Arc::new(Definition::check(job).unwrap());
        let ms = |ms| Timestamp::from_millisecond(ms).unwrap();
        let registration = table.insert(job, ms(5), Instant::now()).unwrap();
        let same = |table: &mut Table, before, cursor, basis| {
            let entry = table.entry(registration).unwrap();
            entry.cursor = cursor;
            entry.waits_for_the_same(before, basis)
        };
        assert!(!same(&mut table, ms(5), ms(5), Basis::Wall), "it waits for nothing yet");
        let next = Occurrence::from_millisecond(60_000).unwrap();
        table.queue(registration, Some((next, (Basis::Wall, 60_000))));
        let within = ms(5) + std::time::Duration::from_nanos(999_999);
        assert!(same(&mut table, ms(5), within, Basis::Wall));
        assert!(!same(&mut table, ms(5), ms(6), Basis::Wall));
        assert!(!same(&mut table, ms(5), ms(5), Basis::Server));
        assert!(!same(&mut table, ms(60_000), ms(60_000), Basis::Wall), "that tick is over");
        table.take_out(registration);
        assert!(!same(&mut table, ms(5), ms(5), Basis::Wall));
        assert!(table.take_due(Clocks { wall: 99_999, server: None }).is_none());
    }
}
