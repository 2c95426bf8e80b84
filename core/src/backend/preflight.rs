//! What a look at a backend's store finds, before a service relies on it.

use std::fmt;
use std::time::Duration;

use super::{BackendError, ErrorKind};

/// How much a [`Finding`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    Note,
    /// Works, until something goes wrong.
    Warning,
    /// Breaks a promise, or cannot work: the store should not be used so.
    Error,
}

/// Something about a store that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What it is about, in a word, such as `version` or `round-trip`.
    pub topic: &'static str,
    /// What it is, for people.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.topic, self.text)
    }
}

/// What a look at a store found: how it is set up, and what that means.
///
/// Backends make it as their `preflight`; `connect` does, too, and fails on an error in it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Preflight {
    /// Which backend looked, such as `redis`.
    pub backend: &'static str,
    /// The server's version, where it tells.
    pub version: Option<String>,
    /// How long it takes to ask it something. Locks should live at least
    /// [sixty times](Self::shortest_ttl) as long.
    pub round_trip: Duration,
    /// What matters.
    pub findings: Vec<Finding>,
}

impl Preflight {
    /// Nothing was found yet.
    pub fn new(backend: &'static str, round_trip: Duration) -> Self {
        Self { backend, version: None, round_trip, findings: Vec::new() }
    }

    /// The shortest life of a lock ([`lock_ttl`]) that is safe over this way: a renewal may take a
    /// quarter of it, and that should be time for a lost answer and a dozen slow ones.
    ///
    /// [`lock_ttl`]: crate::JobBuilder::lock_ttl
    pub fn shortest_ttl(&self) -> Duration {
        self.round_trip * 60
    }

    /// The error that the worst finding amounts to, if one does.
    ///
    /// # Errors
    ///
    /// There is a finding of [`Severity::Error`].
    pub fn check(&self) -> Result<(), BackendError> {
        let worst = self.findings.iter().find(|f| f.severity == Severity::Error);
        worst.map_or(Ok(()), |finding| {
            let error = BackendError::new(ErrorKind::Misconfigured, self.backend, "preflight");
            Err(error.with_source(finding.to_string()))
        })
    }

    /// Adds a finding, and logs it: a warning or an error at `WARN`, a note at `DEBUG`. What was
    /// found at one server already is not told of the next.
    pub fn add(&mut self, severity: Severity, topic: &'static str, text: impl Into<String>) {
        let found = Finding { severity, topic, text: text.into() };
        if self.findings.contains(&found) {
            return;
        }
        let (backend, text) = (self.backend, &found.text);
        match severity {
            Severity::Note => tracing::debug!(backend, topic, "{text}"),
            Severity::Warning | Severity::Error => tracing::warn!(backend, topic, "{text}"),
        }
        self.findings.push(found);
    }
}
