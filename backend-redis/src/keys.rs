//! The names of a job's keys.

use std::fmt;

use tidelock::{BackendError, ErrorKind, JobId, MAX_ID_BYTES};

use crate::error::{BACKEND, Odd};

/// What keeps the jobs of one fleet apart from those of another at one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Namespace {
    name: String,
    /// The name as it stands in keys.
    encoded: String,
}

impl Namespace {
    pub(crate) fn new(name: impl Into<String>) -> Result<Self, BackendError> {
        let name = name.into();
        if name.is_empty() || name.len() > MAX_ID_BYTES || name.chars().any(char::is_control) {
            let error = BackendError::new(ErrorKind::Misconfigured, BACKEND, "connect");
            return Err(error.with_source(Odd(
                "the namespace is no name: expected 1 to 200 bytes without control characters",
            )));
        }
        let mut encoded = String::with_capacity(name.len());
        encode(&name, true, &mut encoded);
        Ok(Self { name, encoded })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The keys of a job.
    pub(crate) fn of(&self, job: &JobId) -> Keys {
        const REST: usize = "tidelock:{:}:".len();
        let mut prefix = String::with_capacity(REST + self.encoded.len() + job.as_str().len());
        prefix.push_str("tidelock:{");
        prefix.push_str(&self.encoded);
        prefix.push(':');
        encode(job.as_str(), false, &mut prefix);
        prefix.push_str("}:");
        Keys { prefix }
    }
}

/// Braces would end the hash tag early, and a colon in the namespace would look like its end.
fn encode(text: &str, colon: bool, out: &mut String) {
    if !text.contains(['%', '{', '}', ':']) {
        return out.push_str(text);
    }
    for character in text.chars() {
        match character {
            '%' => out.push_str("%25"),
            '{' => out.push_str("%7B"),
            '}' => out.push_str("%7D"),
            ':' if colon => out.push_str("%3A"),
            other => out.push(other),
        }
    }
}

/// The keys of one job, all under one hash tag, so that a Cluster keeps them together.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    prefix: String,
}

/// One of a job's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Lock,
    Mark,
    Open,
    Running,
    Runs,
    Skipped,
    Records,
    /// What preflight tries commands on: no part of any job.
    Probe,
}

impl Part {
    pub(crate) const HISTORY: [Self; 4] = [Self::Running, Self::Runs, Self::Skipped, Self::Records];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Mark => "mark",
            Self::Open => "open",
            Self::Running => "running",
            Self::Runs => "runs",
            Self::Skipped => "skipped",
            Self::Records => "records",
            Self::Probe => "probe",
        }
    }
}

impl Keys {
    pub(crate) fn key(&self, part: Part) -> Key<'_> {
        Key { prefix: &self.prefix, part }
    }
}

/// The name of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a> {
    prefix: &'a str,
    part: Part,
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.prefix)?;
        f.write_str(self.part.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn key(namespace: &str, job: &str) -> String {
        let namespace = Namespace::new(namespace).unwrap();
        namespace.of(&JobId::new(job).unwrap()).key(Part::Lock).to_string()
    }

    #[test]
    fn keys_are_readable() {
        assert_eq!(key("billing", "settlement"), "tidelock:{billing:settlement}:lock");
    }

    #[test]
    fn no_two_pairs_of_namespace_and_job_share_a_key() {
        let names =
            ["a", "b", "a:b", "b:c", "c", "a%3Ab", "{", "}", "{}", "%7B", "}:x", "\u{1f600}", "é"];
        let mut all = BTreeSet::new();
        for namespace in names {
            for job in names {
                let key = key(namespace, job);
                let tag = key.split_once('{').unwrap().1.split_once('}').unwrap();
                assert!(!tag.0.is_empty() && tag.1 == ":lock", "{key}");
                assert!(all.insert(key), "{namespace} {job}");
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
