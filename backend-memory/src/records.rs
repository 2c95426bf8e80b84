//! The history of one job.

use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tidelock::{Record, RunId};
use tokio::time::Instant;

use crate::config::Limits;
use crate::hash::ByRunId;

/// The records of one job: those of runs, and apart from them those of ticks that did not run.
#[derive(Debug, Default)]
pub(crate) struct History {
    runs: Shelf,
    not_run: Shelf,
    places: HashMap<RunId, Place, ByRunId>,
    /// The store's own order; the next record's place in it.
    next: u64,
}

/// Where a record is.
#[derive(Clone, Copy, Debug)]
struct Place {
    not_run: bool,
    sequence: u64,
}

impl History {
    pub(crate) fn save(&mut self, record: Record, now: Instant, limits: Limits) {
        let not_run = record.state.is_tick_not_run();
        let run_id = record.run_id;
        let sequence = match self.places.get(&run_id).copied() {
            Some(place) => {
                let stored = self.shelf(place.not_run).get_mut(place.sequence);
                let Some(stored) = stored.filter(|entry| entry.record.yields_to(&record)) else {
                    return;
                };
                stored.record = stored.record.replaced_by(&record);
                stored.saved = now;
                if place.not_run == not_run {
                    return self.trim(not_run, now, limits);
                }
                // A granted run that was not worth starting became a tick that did not run.
                let Some(moved) = self.shelf(place.not_run).remove(place.sequence) else {
                    return;
                };
                self.shelf(not_run).insert(moved);
                place.sequence
            }
            None => {
                let sequence = self.next;
                self.next += 1;
                self.shelf(not_run).insert(Entry { sequence, saved: now, record });
                sequence
            }
        };
        self.places.insert(run_id, Place { not_run, sequence });
        self.trim(not_run, now, limits);
    }

    pub(crate) fn knows(&self, run_id: RunId) -> bool {
        self.places.contains_key(&run_id)
    }

    pub(crate) fn newest(&self, limit: usize, now: Instant, max_age: Duration) -> Vec<Record> {
        let live = |entry: &&Entry| !entry.is_droppable() || !entry.is_older(now, max_age);
        let mut runs = self.runs.0.iter().rev().filter(live).peekable();
        let mut not_run = self.not_run.0.iter().rev().filter(live).peekable();
        let mut newest = Vec::new();
        while newest.len() < limit {
            let of_runs = runs.peek().map(|entry| entry.sequence);
            let next = if of_runs >= not_run.peek().map(|entry| entry.sequence) {
                runs.next()
            } else {
                not_run.next()
            };
            let Some(entry) = next else { break };
            newest.push(entry.record.clone());
        }
        newest
    }

    fn shelf(&mut self, not_run: bool) -> &mut Shelf {
        if not_run { &mut self.not_run } else { &mut self.runs }
    }

    fn trim(&mut self, not_run: bool, now: Instant, limits: Limits) {
        while let Some(dropped) = self.shelf(not_run).drop_one(now, limits) {
            self.places.remove(&dropped);
        }
    }
}

/// Records in the store's order, oldest first.
#[derive(Debug, Default)]
struct Shelf(VecDeque<Entry>);

#[derive(Debug)]
struct Entry {
    sequence: u64,
    /// When it last changed.
    saved: Instant,
    record: Record,
}

impl Entry {
    fn is_droppable(&self) -> bool {
        self.record.state.is_final()
    }

    fn is_older(&self, now: Instant, max_age: Duration) -> bool {
        now - self.saved > max_age
    }
}

impl Shelf {
    /// Where that entry is or would be. The newest ones are asked for most.
    fn find(&self, sequence: u64) -> Result<usize, usize> {
        match self.0.back().map(|entry| entry.sequence.cmp(&sequence)) {
            None | Some(Ordering::Less) => return Err(self.0.len()),
            Some(Ordering::Equal) => return Ok(self.0.len() - 1),
            Some(Ordering::Greater) => {}
        }
        self.0.binary_search_by_key(&sequence, |e| e.sequence)
    }

    fn get_mut(&mut self, sequence: u64) -> Option<&mut Entry> {
        let at = self.find(sequence).ok()?;
        self.0.get_mut(at)
    }

    fn insert(&mut self, entry: Entry) {
        let (Ok(at) | Err(at)) = self.find(entry.sequence);
        if self.0.capacity() == 0 {
            // The first one gets no room for three others: many jobs have no more for long.
            self.0.reserve_exact(1);
        }
        self.0.insert(at, entry);
    }

    fn remove(&mut self, sequence: u64) -> Option<Entry> {
        let at = self.find(sequence).ok()?;
        self.0.remove(at)
    }

    /// Drops the oldest that is over the limits. What still runs is passed over, and only that:
    /// the cost is that of the runs still going at the old end, whatever the length.
    fn drop_one(&mut self, now: Instant, limits: Limits) -> Option<RunId> {
        let over = self.0.len().saturating_sub(limits.keep);
        let at = self.0.iter().position(Entry::is_droppable)?;
        let oldest = self.0.get(at)?;
        if at < over || oldest.is_older(now, limits.max_age) {
            return self.0.remove(at).map(|entry| entry.record.run_id);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use tidelock::{JobId, NodeId, RunState, SkipReason};

    use super::*;

    const LIMITS: Limits = Limits { keep: 2, max_age: Duration::from_secs(60) };

    fn record(number: u128, state: RunState) -> Record {
        let (job, node) = (JobId::new("job").unwrap(), NodeId::new("node").unwrap());
        Record::new(RunId::new(number), job, node, state, Timestamp::UNIX_EPOCH)
    }

    fn numbers(history: &History, now: Instant) -> Vec<u128> {
        let newest = history.newest(9, now, LIMITS.max_age);
        newest.iter().map(|record| record.run_id.get()).collect()
    }

    #[test]
    fn the_newest_stay_and_so_does_what_still_runs() {
        let (mut history, now) = (History::default(), Instant::now());
        history.save(record(0, RunState::Running), now, LIMITS);
        for number in 1..=5 {
            history.save(record(number, RunState::Succeeded), now, LIMITS);
        }
        assert_eq!(numbers(&history, now), [5, 4, 0]);
        history.save(record(0, RunState::Succeeded), now, LIMITS);
        assert_eq!(numbers(&history, now), [5, 4]);
        assert_eq!(history.places.len(), 2);
    }

    #[test]
    fn a_run_that_was_not_worth_starting_is_counted_among_the_ticks_that_did_not_run() {
        let (mut history, now) = (History::default(), Instant::now());
        let too_late = RunState::Skipped(SkipReason::TooLate);
        for number in 1..=4 {
            history.save(record(number, RunState::Running), now, LIMITS);
            history.save(record(number, too_late), now, LIMITS);
        }
        history.save(record(5, RunState::Succeeded), now, LIMITS);
        assert_eq!(numbers(&history, now), [5, 4, 3]);
        assert_eq!((history.runs.0.len(), history.not_run.0.len()), (1, 2));
    }

    #[test]
    fn what_is_older_than_the_limit_goes() {
        let (mut history, start) = (History::default(), Instant::now());
        history.save(record(1, RunState::Succeeded), start, LIMITS);
        history.save(record(2, RunState::Running), start, LIMITS);
        let later = start + LIMITS.max_age + Duration::from_millis(1);
        assert_eq!(numbers(&history, later), [2]);
        history.save(record(3, RunState::Succeeded), later, LIMITS);
        assert_eq!(history.places.len(), 2);
    }
}
