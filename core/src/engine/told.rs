//! What a node has told of ticks that did not run, so that it tells it once.

use crate::{Record, RunId};

/// The records of what was untold when this node last heard of it, and of how many ticks each told.
#[derive(Debug, Default)]
pub(crate) struct Told(Vec<(RunId, Option<u64>)>);

impl Told {
    /// Those of the records that tell of more than was told. `own` is told apart, and for good.
    pub(crate) fn more(&mut self, records: &[Record], own: Option<RunId>) -> Vec<Record> {
        let mut more = Vec::new();
        let before = std::mem::take(&mut self.0);
        for record in records {
            let id = record.run_id;
            let known = before.iter().find(|(known, _)| *known == id).map(|(_, count)| *count);
            let count = Some(record.ticks.map_or(0, |ticks| ticks.count));
            if Some(id) == own || known == Some(None) {
                self.0.push((id, None));
                continue;
            }
            self.0.push((id, count));
            if known != Some(count) {
                more.push(record.clone());
            }
        }
        more
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::{JobId, NodeId, Occurrence, RunState, TickSpan};

    fn record(run: u128, count: u64) -> Record {
        let (job, node) = (JobId::new("j").unwrap(), NodeId::new("n").unwrap());
        let at = Timestamp::UNIX_EPOCH;
        let mut record = Record::new(RunId::new(run), job, node, RunState::Missed, at);
        let tick = Occurrence::new(at).unwrap();
        record.ticks = Some(TickSpan::new(tick, tick, count, false));
        record
    }

    #[test]
    fn what_was_told_is_told_again_only_when_it_is_more() {
        let (mut told, own) = (Told::default(), Some(RunId::new(9)));
        let all = [record(1, 1), record(2, 5), record(9, 3)];
        let ids = |records: Vec<Record>| -> Vec<_> {
            records.iter().map(|record| record.run_id.get()).collect()
        };
        assert_eq!(ids(told.more(&all, own)), [1, 2]);
        // Of its own it has said all that there is to say, whatever else it hears since.
        let later = [record(1, 2), record(2, 5), record(9, 4)];
        assert_eq!(ids(told.more(&later, None)), [1]);
        assert_eq!(ids(told.more(&later, None)), [0_u128; 0]);
    }
}
