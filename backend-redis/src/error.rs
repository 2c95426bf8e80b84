//! What the driver's errors mean.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use redis::{ErrorKind as Driver, RedisError, ServerErrorKind as Server};
use tidelock::{BackendError, ErrorKind};

/// The name of this backend in errors.
pub(crate) const BACKEND: &str = "redis";

/// What is odd, in words.
#[derive(Debug)]
pub(crate) struct Odd(pub(crate) &'static str);

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Odd {}

/// What the server said of something that it did not do.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Refused {}

/// What to do about an error within the same call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Nothing: the caller hears of it.
    GiveUp,
    /// Nothing, and the next call opens a connection anew: this one may not have come up, and the
    /// driver then keeps it, with its error, for all later calls.
    LetGo,
    /// The server does not know the script: send its text.
    SendText,
    /// The connection is broken: ask again at once, on the next one.
    AskAgain,
    /// It passes: ask again after a moment.
    Wait,
    /// The server at this address is the wrong one by now: ask again after a moment, on a new
    /// connection to wherever its name leads then.
    Replace,
}

/// The one place where an error of the driver gets its meaning.
pub(crate) fn classify(error: &RedisError) -> (ErrorKind, Then) {
    use ErrorKind::{Denied, Malformed, Misconfigured, Unavailable};
    match error.kind() {
        Driver::Io => of_io(error),
        Driver::AuthenticationFailed => match of_words(error.detail().unwrap_or_default()) {
            Some((Unavailable, Then::GiveUp | Then::LetGo)) => (Unavailable, Then::LetGo),
            Some((Unavailable, _)) => (Unavailable, Then::Replace),
            _ => (Denied, Then::LetGo),
        },
        Driver::Server(kind) => match kind {
            Server::NoScript => (Unavailable, Then::SendText),
            Server::BusyLoading | Server::TryAgain | Server::ClusterDown | Server::MasterDown => {
                (Unavailable, Then::Wait)
            }
            Server::ReadOnly => (Unavailable, Then::Replace),
            Server::NoPerm => (Denied, Then::GiveUp),
            // A member of a Cluster that is asked as if it were alone, or keys that belong together
            // in different places.
            Server::Moved | Server::Ask | Server::CrossSlot => (Misconfigured, Then::GiveUp),
            // ERR: the code that counts may stand inside, as that of an error in a script.
            Server::ResponseError => {
                of_words(error.detail().unwrap_or_default()).unwrap_or((Malformed, Then::LetGo))
            }
            Server::ExecAbort | Server::NotBusy | Server::NoSub => (Malformed, Then::GiveUp),
            _ => (Malformed, Then::GiveUp), // the driver's enum may grow
        },
        Driver::Extension => of_words(error.code().unwrap_or_default())
            .or_else(|| of_words(error.detail().unwrap_or_default()))
            .unwrap_or((Malformed, Then::GiveUp)),
        Driver::MasterNameNotFoundBySentinel
        | Driver::NoValidReplicasFoundBySentinel
        | Driver::ClusterConnectionNotFound => (Unavailable, Then::Wait),
        Driver::InvalidClientConfig
        | Driver::Client
        | Driver::EmptySentinelList
        | Driver::RESP3NotSupported => (Misconfigured, Then::LetGo),
        Driver::Parse | Driver::UnexpectedReturnType => (Malformed, Then::GiveUp),
        _ => (Malformed, Then::GiveUp), // the driver's enum may grow
    }
}

fn of_io(error: &RedisError) -> (ErrorKind, Then) {
    if error.is_timeout() {
        return (ErrorKind::Timeout, Then::GiveUp);
    }
    // A Cluster of which no member took the connection: why the last did not stands in its words.
    if let Some(meaning @ (ErrorKind::Denied | ErrorKind::Misconfigured, _)) =
        of_words(error.detail().unwrap_or_default())
    {
        return meaning;
    }
    let kind = error
        .source()
        .and_then(|source| source.downcast_ref::<Arc<dyn Error + Send + Sync>>())
        .and_then(|source| source.downcast_ref::<io::Error>())
        .map(io::Error::kind);
    match kind {
        // What TLS says of a certificate, or of a server that speaks something else.
        Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => {
            (ErrorKind::Misconfigured, Then::GiveUp)
        }
        Some(io::ErrorKind::PermissionDenied) => (ErrorKind::Denied, Then::GiveUp),
        _ => (ErrorKind::Unavailable, Then::AskAgain),
    }
}

/// What the codes mean that a server puts into its messages.
fn of_words(text: &str) -> Option<(ErrorKind, Then)> {
    use ErrorKind::{Denied, Malformed, Misconfigured, Unavailable};
    const WORDS: [(&str, ErrorKind, Then); 25] = [
        ("READONLY", Unavailable, Then::Replace),
        ("LOADING", Unavailable, Then::Wait),
        ("BUSY", Unavailable, Then::Wait),
        // The same without its code: what the driver leaves of it when a database is chosen.
        ("busy running a", Unavailable, Then::Replace),
        ("UNKILLABLE", Unavailable, Then::Wait),
        ("MASTERDOWN", Unavailable, Then::Wait),
        ("TRYAGAIN", Unavailable, Then::Wait),
        ("CLUSTERDOWN", Unavailable, Then::Wait),
        // Full, not writing to its disk, or short of replicas: that passes, but not in a moment.
        ("OOM", Unavailable, Then::GiveUp),
        ("MISCONF", Unavailable, Then::GiveUp),
        ("NOREPLICAS", Unavailable, Then::GiveUp),
        ("max number of clients", Unavailable, Then::LetGo),
        ("WRONGPASS", Denied, Then::LetGo),
        ("NOAUTH", Denied, Then::LetGo),
        ("NOPERM", Denied, Then::GiveUp),
        // The same inside a script, up to Redis 7.0 and from then on.
        ("can't run this command", Denied, Then::GiveUp),
        ("can't access at least one of the keys", Denied, Then::GiveUp),
        ("ACL failure in script", Denied, Then::GiveUp),
        ("has no permissions", Denied, Then::LetGo),
        ("DB index is out of range", Misconfigured, Then::LetGo),
        ("WRONGTYPE", Malformed, Then::GiveUp),
        ("TIDELOCK", Malformed, Then::GiveUp),
        ("Unknown Redis command", Misconfigured, Then::GiveUp),
        ("unknown command", Misconfigured, Then::GiveUp),
        // Whatever else a script met: the connection is up.
        ("user_script", Malformed, Then::GiveUp),
    ];
    WORDS.iter().find(|(word, ..)| contains_word(text, word)).map(|&(_, kind, then)| (kind, then))
}

/// Whether the word stands in the text by itself: `BUSY`, not `BUSYGROUP`.
fn contains_word(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        !is_part(before) && !is_part(after)
    })
}

/// An error of the driver as one of this backend.
pub(crate) fn failed(operation: &'static str, error: RedisError) -> BackendError {
    BackendError::new(classify(&error).0, BACKEND, operation).with_source(error)
}

/// An answer that makes no sense.
pub(crate) fn malformed(operation: &'static str, what: &'static str) -> BackendError {
    BackendError::new(ErrorKind::Malformed, BACKEND, operation).with_source(Odd(what))
}

/// Why a record was refused, from the words that a script caught.
pub(crate) fn refused(operation: &'static str, words: String) -> BackendError {
    let kind = of_words(&words).map_or(ErrorKind::Malformed, |(kind, _)| kind);
    BackendError::new(kind, BACKEND, operation).with_source(Refused(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: &str, detail: &str) -> (ErrorKind, Then) {
        classify(&redis::make_extension_error(code.to_owned(), Some(detail.to_owned())))
    }

    #[test]
    fn codes_are_found_wherever_they_stand() {
        use ErrorKind::{Denied, Malformed, Unavailable};
        for (code, detail, expected) in [
            (
                "ERR",
                "Error running script (call to f_ab): @user_script:9: -READONLY You can't write",
                (Unavailable, Then::Replace),
            ),
            ("OOM", "command not allowed", (Unavailable, Then::GiveUp)),
            ("BUSY", "Redis is busy running a script", (Unavailable, Then::Wait)),
            ("BUSYKEY", "Target key name already exists", (Malformed, Then::GiveUp)),
            ("WRONGPASS", "invalid pair", (Denied, Then::LetGo)),
            ("NOAUTH", "Authentication required", (Denied, Then::LetGo)),
            (
                "ERR",
                "ACL failure in script: No permissions to access a key",
                (Denied, Then::GiveUp),
            ),
            ("ERR", "max number of clients reached", (Unavailable, Then::LetGo)),
            (
                "ERR",
                "hash value is not an integer script: ab, on @user_script:9.",
                (Malformed, Then::GiveUp),
            ),
            ("ERR", "a proxy's own words", (Malformed, Then::GiveUp)),
            ("WRONGTYPE", "Operation against a key", (Malformed, Then::GiveUp)),
            ("MISCONF", "Redis is configured to save", (Unavailable, Then::GiveUp)),
            ("NEWS", "of a later server", (Malformed, Then::GiveUp)),
        ] {
            assert_eq!(said(code, detail), expected, "{code} {detail}");
        }
    }

    #[test]
    fn a_broken_connection_is_asked_again_and_a_timeout_is_not() {
        let io = |kind| classify(&RedisError::from(io::Error::from(kind)));
        assert_eq!(io(io::ErrorKind::BrokenPipe), (ErrorKind::Unavailable, Then::AskAgain));
        assert_eq!(io(io::ErrorKind::TimedOut), (ErrorKind::Timeout, Then::GiveUp));
        assert_eq!(io(io::ErrorKind::InvalidData), (ErrorKind::Misconfigured, Then::GiveUp));
    }
}
