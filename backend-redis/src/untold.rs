//! What the scripts keep of ticks that did not run: see `_untold.lua`.

use tidelock::{LockKey, MarkPoint, NodeId, Occurrence, PassedOver, RunState, SkippedRow, Untold};

/// Reads it. An entry that makes no sense is left out, with a word to the log: it says nothing
/// about who may run.
pub(crate) fn read(key: &LockKey, text: &str) -> Untold {
    let mut untold = Untold::default();
    for entry in text.split_terminator(';') {
        let parts: Vec<_> = entry.split(',').collect();
        match *parts.as_slice() {
            ["s", state, schedule, run, first, last, count, blocked_by, node] => {
                let parts = [state, schedule, run, first, last, count, blocked_by, node];
                untold.skipped.extend(skipped(parts));
            }
            ["p", run, tick, schedule, until, node] => {
                untold.passed.extend(passed([run, tick, schedule, until, node]));
            }
            _ => {}
        }
    }
    let read = untold.skipped.len() + untold.passed.len();
    if read < text.split_terminator(';').count() {
        tracing::warn!(job = %key.job(), "a word on ticks that did not run makes no sense");
    }
    untold
}

fn skipped(
    [state, schedule, run, first, last, count, blocked_by, by]: [&str; 8],
) -> Option<SkippedRow> {
    let RunState::Skipped(reason) = state.parse().ok()? else {
        return None;
    };
    let blocked_by = match blocked_by {
        "" => None,
        run => Some(run.parse().ok()?),
    };
    let ticks = (tick(first)?, tick(last)?, count.parse().ok()?);
    let kind = (reason, schedule.parse().ok()?);
    Some(SkippedRow::new(run.parse().ok()?, node(by)?, kind, blocked_by, ticks))
}

fn passed([run, at, schedule, until, by]: [&str; 5]) -> Option<PassedOver> {
    let since = MarkPoint::new(tick(at)?, schedule.parse().ok()?);
    Some(PassedOver::new(run.parse().ok()?, node(by)?, since, tick(until)?))
}

fn tick(digits: &str) -> Option<Occurrence> {
    Occurrence::from_millisecond(digits.parse().ok()?)
}

fn node(hex: &str) -> Option<NodeId> {
    let digits = hex.as_bytes().chunks(2);
    let bytes = digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
    NodeId::new(String::from_utf8(bytes.collect::<Option<_>>()?).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use tidelock::{JobId, RunId, SkipReason};

    use super::*;

    const RUN: &str = "0000000000000000000000000000000a";

    fn of(text: &str) -> Untold {
        read(&LockKey::of(&JobId::new("job").unwrap()), text)
    }

    #[test]
    fn entries_read_back() {
        let text = format!(
            "s,skipped-overlap,00000000000000ff,{RUN},000000000001000,000000000003000,2,{RUN},c3a9;\
             p,{RUN},000000000001000,00000000000000ff,000000000009000,61;"
        );
        let untold = of(&text);
        let row = &untold.skipped[0];
        assert_eq!((row.reason, row.count, row.node.as_str()), (SkipReason::Overlap, 2, "é"));
        assert_eq!((row.run_id, row.blocked_by), (RunId::new(10), Some(RunId::new(10))));
        assert_eq!(untold.passed[0].until.as_millisecond(), 9_000);
        assert!(of("").is_empty());
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        let good = format!("p,{RUN},000000000001000,00000000000000ff,000000000009000,61;");
        for bad in ["x;", "s,a,b;", "p,,,,,;", ";", "p,1,2,3,4,5,6;", "p,x,1,ff,2,6;", "é"] {
            assert!(of(bad).is_empty(), "{bad}");
            assert_eq!(of(&format!("{good}{bad}")).passed.len(), 1, "{bad}");
        }
    }
}
