//! When a backend could not find out.

use std::error::Error;
use std::fmt;

/// What kind of failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The backend cannot be reached or is not ready: refused, loading, no leader. Passes.
    Unavailable,
    /// No answer in time: the operation may have been executed. Passes.
    Timeout,
    /// The backend refuses this user: wrong password, missing permission. Does not pass.
    Denied,
    /// The backend is set up in a way that cannot work. Does not pass.
    Misconfigured,
    /// The backend holds or answers something that makes no sense. Does not pass.
    Malformed,
    /// The backend's code panicked. Does not pass.
    Panicked,
}

impl ErrorKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Timeout => "no answer in time",
            Self::Denied => "denied",
            Self::Misconfigured => "misconfigured",
            Self::Malformed => "malformed data",
            Self::Panicked => "panicked",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A backend could not find out: never a "no", and never a "go ahead".
#[derive(Debug)]
#[non_exhaustive]
pub struct BackendError {
    /// What kind of failure.
    pub kind: ErrorKind,
    /// Which backend, such as `memory`.
    pub backend: &'static str,
    /// Which operation, such as `acquire`.
    pub operation: &'static str,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl BackendError {
    /// A failure of that kind.
    pub fn new(kind: ErrorKind, backend: &'static str, operation: &'static str) -> Self {
        Self { kind, backend, operation, source: None }
    }

    /// The same with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What lies behind it, with its type; [`Display`](fmt::Display) tells it in words.
    pub fn cause(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.source.as_deref()
    }

    /// The same of an operation that this one was part of, such as `connect`, at that place.
    #[must_use]
    pub fn within(self, operation: &'static str, place: impl fmt::Display) -> Self {
        let source = match self.source {
            Some(source) => format!("{place}: {source}"),
            None => place.to_string(),
        };
        Self { operation, source: Some(source.into()), ..self }
    }

    /// Whether trying again may help.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, ErrorKind::Unavailable | ErrorKind::Timeout)
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.backend, self.operation, self.kind)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl Error for BackendError {
    /// What lies behind the [cause](Self::cause), whose own words are part of this error's.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref()?.source()
    }
}
