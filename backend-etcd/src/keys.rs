//! The names of a job's keys.

use std::fmt::Write;

use etcd_client::{Compare, CompareOp};
use tidelock::{BackendError, JobId, MAX_ID_BYTES, Occurrence, RunId};

use crate::error::misconfigured;

/// What keeps the jobs of one fleet apart from those of another at one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Namespace {
    name: String,
    /// What all keys begin with.
    prefix: String,
}

impl Namespace {
    pub(crate) fn new(name: impl Into<String>) -> Result<Self, BackendError> {
        let name = name.into();
        if name.is_empty() || name.len() > MAX_ID_BYTES || name.chars().any(char::is_control) {
            return Err(misconfigured(
                "the namespace is no name: expected 1 to 200 bytes without control characters",
            ));
        }
        let mut prefix = String::from("tidelock/");
        encode(&name, &mut prefix);
        prefix.push('/');
        Ok(Self { name, prefix })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What all keys of the namespace begin with.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The keys of a job.
    pub(crate) fn of(&self, job: &JobId) -> Keys {
        let mut prefix = self.prefix.clone();
        encode(job.as_str(), &mut prefix);
        prefix.push('/');
        Keys { prefix }
    }
}

/// A slash would look like the end of the name.
fn encode(text: &str, out: &mut String) {
    if !text.contains(['%', '/']) {
        return out.push_str(text);
    }
    for character in text.chars() {
        match character {
            '%' => out.push_str("%25"),
            '/' => out.push_str("%2F"),
            other => out.push(other),
        }
    }
}

/// The keys of one job, all below one prefix.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    prefix: String,
}

/// A part of a job's keys: all keys below one prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// Ticks taken; the newest is the mark.
    Marks,
    /// Runs granted and not released.
    Open,
    /// Records of runs.
    Runs,
    /// Records of ticks that did not run.
    Skipped,
}

impl Part {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Marks => "mark/",
            Self::Open => "open/",
            Self::Runs => "runs/",
            Self::Skipped => "skipped/",
        }
    }
}

impl Keys {
    pub(crate) fn lock(&self) -> String {
        self.with("lock", 0)
    }

    /// Its last change was the newest grant.
    pub(crate) fn token(&self) -> String {
        self.with("token", 0)
    }

    /// A tick in a fixed width, so that keys sort as ticks do.
    pub(crate) fn mark(&self, tick: Occurrence) -> String {
        let mut key = self.with(Part::Marks.as_str(), 15);
        let _ = write!(key, "{:015}", tick.as_millisecond()); // into a String it never fails
        key
    }

    /// A run's key in one of the parts.
    pub(crate) fn run(&self, part: Part, run: RunId) -> String {
        let mut key = self.with(part.as_str(), 32);
        let _ = write!(key, "{run}");
        key
    }

    /// What all keys of the part begin with.
    pub(crate) fn all(&self, part: Part) -> String {
        self.with(part.as_str(), 0)
    }

    /// A key below the prefix, with room for so many bytes more.
    fn with(&self, part: &str, room: usize) -> String {
        let mut key = String::with_capacity(self.prefix.len() + part.len() + room);
        key.push_str(&self.prefix);
        key.push_str(part);
        key
    }

    /// The first key behind those of the part.
    pub(crate) fn end(&self, part: Part) -> String {
        let mut end = self.all(part);
        end.pop();
        end.push('0'); // what comes after the slash
        end
    }
}

/// What stands behind the prefix in a key's name.
pub(crate) fn last(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key).ok()?.rsplit('/').next()
}

/// The key is not there.
pub(crate) fn absent(key: String) -> Compare {
    Compare::create_revision(key, CompareOp::Equal, 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn keys(namespace: &str, job: &str) -> Keys {
        Namespace::new(namespace).unwrap().of(&JobId::new(job).unwrap())
    }

    #[test]
    fn keys_are_readable() {
        let keys = keys("billing", "settlement");
        assert_eq!(keys.lock(), "tidelock/billing/settlement/lock");
        let tick = Occurrence::from_millisecond(1_764_431_132_000).unwrap();
        assert_eq!(keys.mark(tick), "tidelock/billing/settlement/mark/001764431132000");
        assert_eq!(last(keys.mark(tick).as_bytes()), Some("001764431132000"));
    }

    #[test]
    fn the_largest_tick_has_the_width_of_all() {
        let keys = keys("n", "j");
        let (first, last) = (Occurrence::from_millisecond(0).unwrap(), Occurrence::MAX);
        assert_eq!(keys.mark(first).len(), keys.mark(last).len());
        assert!(keys.mark(last) < keys.end(Part::Marks));
        assert!(keys.all(Part::Marks) < keys.mark(first));
    }

    #[test]
    fn no_two_pairs_of_namespace_and_job_share_a_prefix() {
        let names = ["a", "b", "a:b", "a/b", "b/c", "c", "a%2Fb", "/", "//", "%", "\u{1f600}", "é"];
        let mut all = BTreeSet::new();
        for namespace in names {
            for job in names {
                let lock = keys(namespace, job).lock();
                assert_eq!(lock.matches('/').count(), 3, "{lock}");
                assert!(all.insert(lock), "{namespace} {job}");
            }
        }
    }

    #[test]
    fn a_namespace_without_a_name_is_refused() {
        for bad in ["", "a\nb", &"x".repeat(201)] {
            assert!(Namespace::new(bad).is_err(), "{bad:?}");
        }
    }
}
