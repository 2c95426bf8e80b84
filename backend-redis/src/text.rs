//! Records as texts: `saved state token count ended rest`, of which scripts read the first five.

use tidelock::stored::RecordText;
use tidelock::{JobId, Record};

/// Reads a stored text; `None` for one that is no record.
pub(crate) fn read(job: &JobId, run: &[u8], text: &[u8]) -> Option<Record> {
    let run_id = std::str::from_utf8(run).ok()?.parse().ok()?;
    let mut parts = std::str::from_utf8(text).ok()?.splitn(6, ' ').skip(1);
    let mut next = || parts.next();
    let (state, token, count, ended) = (next()?, next()?, next()?, next()?);
    RecordText::new(state, token, count, ended, next()?).record(job, run_id)
}

#[cfg(test)]
mod tests {
    use tidelock::{NodeId, RunId, RunState};

    use super::*;

    #[test]
    fn what_is_no_record_is_none() {
        let (job, node) = (JobId::new("j").unwrap(), NodeId::new("n").unwrap());
        let run_id = RunId::new(7);
        let record =
            Record::new(run_id, job.clone(), node, RunState::Running, jiff::Timestamp::MIN);
        let text = RecordText::of(&record);
        let (state, token, count) = (text.state, text.token, text.count);
        let good = format!("1764431132123 {state} {token} {count} {} {}", text.ended, text.rest);
        let run = run_id.to_string();
        assert_eq!(read(&job, run.as_bytes(), good.as_bytes()), Some(record));
        for end in 0..good.len() {
            assert!(read(&job, run.as_bytes(), &good.as_bytes()[..end]).is_none());
        }
        for bad in [&b"\xff"[..], b"{\"a\":1}", b"1 running - - - - x {}"] {
            assert!(read(&job, run.as_bytes(), bad).is_none());
        }
        assert!(read(&job, b"next", good.as_bytes()).is_none());
    }
}
