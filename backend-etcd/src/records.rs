//! Records: one key a run, in the order of their creation.
//!
//! A record is a text, `state place count saved token ended rest`: as
//! [`RecordText`](tidelock::stored::RecordText) has it, with `saved` the milliseconds since 1970 at
//! which it was written; `-` for a place that is the key's creation; and `@` for a token that is its
//! last change: the record of a run is written by the very transaction that grants it.

use etcd_client::{Compare, CompareOp, GetOptions, SortOrder, SortTarget, Txn, TxnOp};
use tidelock::stored::{NONE, RecordText};
use tidelock::{BackendError, FencingToken, JobId, Lease, Record, RunId, RunState};

use crate::keys::{self, Keys, Part, absent};
use crate::locks::revision;
use crate::reply::{Entry, Reply};

/// The token of a record that was written with its grant.
const OWN: &str = "@";

/// Where records of that state stand.
pub(crate) fn shelf(state: RunState) -> Part {
    if state.is_tick_not_run() { Part::Skipped } else { Part::Runs }
}

/// The part that is not this one.
fn other(part: Part) -> Part {
    if part == Part::Runs { Part::Skipped } else { Part::Runs }
}

/// A record as it stands in the store.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) record: Record,
    /// Its place in the order of the history.
    pub(crate) place: u64,
    /// When it was written, in milliseconds since 1970.
    pub(crate) saved: i64,
}

fn write(record: &Record, place: Option<u64>, saved: i64, own_token: bool) -> String {
    let text = RecordText::of(record);
    let place = place.map_or_else(|| NONE.to_owned(), |place| place.to_string());
    let token = if own_token { OWN } else { &text.token };
    let RecordText { state, count, ended, rest, .. } = &text;
    format!("{state} {place} {count} {saved} {token} {ended} {rest}")
}

/// `None` for what is no record.
pub(crate) fn read(job: &JobId, entry: &Entry) -> Option<Stored> {
    let run_id: RunId = keys::last(&entry.key)?.parse().ok()?;
    let mut parts = std::str::from_utf8(&entry.value).ok()?.splitn(7, ' ');
    let mut next = || parts.next();
    let (state, place, count, saved) = (next()?, next()?, next()?, next()?);
    let (token, ended, rest) = (next()?, next()?, next()?);
    let own = token == OWN;
    let text = RecordText::new(state, if own { NONE } else { token }, count, ended, rest);
    let mut record = text.record(job, run_id)?;
    if own {
        record.token = Some(FencingToken::new(entry.changed));
    }
    let place = if place == NONE { entry.created } else { place.parse().ok()? };
    Some(Stored { record, place, saved: saved.parse().ok()? })
}

/// How many records a part has.
pub(crate) fn count(keys: &Keys, part: Part) -> TxnOp {
    let options = GetOptions::new().with_range(keys.end(part)).with_count_only();
    TxnOp::get(keys.all(part), Some(options))
}

/// The record of a run, with its grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Running {
    /// It is its first: as a rule. A transaction within another costs the servers as much as two.
    First,
    /// There may be one, which stays where it tells of an end: it knows more.
    Again,
}

impl Running {
    /// What has to be so for it, and how it is stored.
    pub(crate) fn store(self, keys: &Keys, record: &Record, saved: i64) -> (Vec<Compare>, TxnOp) {
        let (here, there) = places(keys, record, Part::Runs);
        let put = || TxnOp::put(here.clone(), write(record, None, saved, true), None);
        let first = vec![absent(here.clone()), absent(there)];
        match self {
            Self::First => (first, put()),
            Self::Again => {
                let again = Txn::new().when(starts(&here, "running ")).and_then([put()]);
                let first = Txn::new().when(first).and_then([put()]);
                (Vec::new(), TxnOp::txn(first.or_else([TxnOp::txn(again)])))
            }
        }
    }
}

/// How a run ended, whose record is still the one that was stored with its grant: what has to be so
/// for that, and how it is stored.
pub(crate) fn store_end(
    keys: &Keys,
    record: &Record,
    saved: i64,
    lease: &Lease,
) -> (Compare, TxnOp) {
    let here = keys.run(Part::Runs, record.run_id);
    let untouched = Compare::mod_revision(here.clone(), CompareOp::Equal, revision(lease.token));
    (untouched, TxnOp::put(here, write(record, None, saved, false), None))
}

/// Stores a record where what is there yields to it, in one step. Where that takes more than
/// comparing texts, nothing is stored and what is there is read: see [`Left`].
///
/// `granted` is the token of the run's grant, where its record may have been created with it.
pub(crate) fn store(keys: &Keys, record: &Record, saved: i64, granted: Option<u64>) -> Txn {
    let part = shelf(record.state);
    let (here, there) = places(keys, record, part);
    let put = || TxnOp::put(here.clone(), write(record, None, saved, false), None);
    let mut otherwise = Txn::new().and_then(look(&here, &there));
    let mut step = |when: Vec<Compare>, then: Vec<TxnOp>| {
        let rest = std::mem::take(&mut otherwise);
        otherwise = Txn::new().when(when).and_then(then).or_else([TxnOp::txn(rest)]);
    };
    let mut first = None;
    match record.state {
        // It keeps what the record that it closes had.
        RunState::Abandoned => {}
        RunState::Running => step([starts(&here, "running ")].concat(), vec![put()]),
        state if part == Part::Runs => {
            debug_assert!(state.is_final());
            let mut when = starts(&here, "abandoned ").to_vec();
            when.push(absent(there.clone()));
            step(when, vec![put()]);
            let mut when = starts(&here, "running ").to_vec();
            when.push(absent(there.clone()));
            first = Some((when, vec![put()]));
        }
        state => {
            let count = RecordText::of(record).count;
            let mut less = vec![
                Compare::value(here.clone(), CompareOp::Greater, format!("{state} - ")),
                Compare::value(here.clone(), CompareOp::Less, format!("{state} - {count} ")),
            ];
            less.push(absent(there.clone()));
            step(less, vec![put()]);
            if let Some(token) = granted {
                // A granted run that was not worth starting: it keeps its place.
                let place = Compare::create_revision(
                    there.clone(),
                    CompareOp::Equal,
                    i64::try_from(token).unwrap_or(i64::MAX),
                );
                let mut when = starts(&there, "running ").to_vec();
                when.extend([place, absent(here.clone())]);
                let text = write(record, Some(token), saved, false);
                let moved =
                    vec![TxnOp::delete(there.clone(), None), TxnOp::put(here.clone(), text, None)];
                first = Some((when, moved));
            }
        }
    }
    step(vec![absent(here.clone()), absent(there.clone())], vec![put()]);
    if let Some((when, then)) = first {
        step(when, then);
    }
    otherwise
}

fn places(keys: &Keys, record: &Record, part: Part) -> (String, String) {
    (keys.run(part, record.run_id), keys.run(other(part), record.run_id))
}

/// The key's value begins with that word and a blank.
fn starts(key: &str, word: &str) -> [Compare; 2] {
    let mut end = word.to_owned();
    end.pop();
    end.push('!'); // what comes after the blank
    [Compare::value(key, CompareOp::Greater, word), Compare::value(key, CompareOp::Less, end)]
}

fn look(here: &str, there: &str) -> [TxnOp; 2] {
    [TxnOp::get(here, None), TxnOp::get(there, None)]
}

/// What a [`store`] left undone, since it could not tell by comparing.
#[derive(Debug)]
pub(crate) struct Left {
    here: Option<Entry>,
    there: Option<Entry>,
}

/// Whether it was stored, or what was there instead.
pub(crate) fn left(mut reply: Reply) -> Result<Option<Left>, BackendError> {
    loop {
        if reply.is_range() {
            return Ok(Some(Left { here: reply.entry()?, there: reply.entry()? }));
        }
        if reply.succeeded {
            return Ok(None);
        }
        reply = reply.nested()?;
    }
}

impl Left {
    /// Stores what the record makes of what is there; `None` where that stays as it is.
    pub(crate) fn resolve(&self, keys: &Keys, new: &Record, saved: i64) -> Option<Txn> {
        let part = shelf(new.state);
        let (here, there) = places(keys, new, part);
        let found = self.here.as_ref().map(|entry| (entry, true));
        let found = found.or(self.there.as_ref().map(|entry| (entry, false)));
        let (entry, is_here) = found?;
        let same = |key: &str, entry: Option<&Entry>| {
            let changed = entry.map_or(0, |entry| entry.changed);
            let changed = i64::try_from(changed).unwrap_or(i64::MAX);
            Compare::mod_revision(key, CompareOp::Equal, changed)
        };
        let when = [same(&here, self.here.as_ref()), same(&there, self.there.as_ref())];
        let (kept, place) = match read(&new.job, entry) {
            Some(stored) if !stored.record.yields_to(new) => return None,
            Some(stored) => (stored.record.replaced_by(new), stored.place),
            // What is no record yields to any.
            None => (new.clone(), entry.created),
        };
        // A key that stays keeps its creation, and so its place.
        let place = (!is_here || place != entry.created).then_some(place);
        let mut then = vec![TxnOp::put(here.clone(), write(&kept, place, saved, false), None)];
        if !is_here {
            then.push(TxnOp::delete(there.clone(), None));
        }
        let txn = Txn::new().when(when).and_then(then);
        Some(txn.or_else([TxnOp::txn(Txn::new().and_then(look(&here, &there)))]))
    }
}

/// Some records of a part, the oldest or the newest ones first.
pub(crate) fn some(keys: &Keys, part: Part, order: SortOrder, limit: i64) -> TxnOp {
    let options = GetOptions::new()
        .with_range(keys.end(part))
        .with_sort(SortTarget::Create, order)
        .with_limit(limit);
    TxnOp::get(keys.all(part), Some(options))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use tidelock::NodeId;

    use super::*;

    fn record(state: RunState) -> Record {
        let (job, node) = (JobId::new("j").unwrap(), NodeId::new("n").unwrap());
        Record::new(RunId::new(7), job, node, state, Timestamp::UNIX_EPOCH)
    }

    fn entry(value: String) -> Entry {
        let key = format!("tidelock/n/j/runs/{}", RunId::new(7)).into_bytes();
        Entry { key, value: value.into_bytes(), created: 12, changed: 15, lease: 0 }
    }

    #[test]
    fn a_record_reads_back_with_its_place_and_its_token() {
        let mut written = record(RunState::Failed).with_error("\0 é");
        let own = read(&written.job, &entry(write(&written, None, 99, true))).unwrap();
        assert_eq!((own.place, own.saved), (12, 99));
        assert_eq!(own.record.token, Some(FencingToken::new(15)));
        written.token = Some(FencingToken::new(8));
        let moved = read(&written.job, &entry(write(&written, Some(8), 99, false))).unwrap();
        assert_eq!((moved.place, moved.record), (8, written));
    }

    #[test]
    fn what_is_no_record_is_none() {
        let written = record(RunState::Running);
        let good = write(&written, None, 1, true);
        for end in 0..good.len() {
            assert!(read(&written.job, &entry(good[..end].to_owned())).is_none());
        }
    }
}
