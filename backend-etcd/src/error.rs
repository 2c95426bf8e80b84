//! What the driver's errors mean.

use std::error::Error;
use std::fmt;
use std::io;

use etcd_client::Error as Driver;
use tidelock::{BackendError, ErrorKind};
use tonic::{Code, ConnectError, Status};

/// The name of this backend in errors.
pub(crate) const BACKEND: &str = "etcd";

/// What is odd, in words.
#[derive(Debug)]
pub(crate) struct Odd(pub(crate) &'static str);

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Odd {}

/// The driver's word for a client that sends nothing any more: the runtime that it was made in has
/// ended.
const UNUSABLE: &str = "Service was not ready";

/// How far a call that failed has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It was never sent: another member may be asked.
    NotSent,
    /// The server did nothing, and it passes: it may be asked again after a moment.
    Passing,
    /// The token that it bore is of no use any more: with another one it may be asked again.
    OldToken,
    /// The server did nothing, and would not a moment later.
    Refused,
    /// The store has no space for it. It may have been done all the same: what crosses the limit is
    /// applied, and then answered so.
    Full,
    /// The lease that it named is not there; nothing was done.
    NoLease,
    /// The revision that it named has been compacted away.
    Compacted,
    /// It may have been done.
    Unknown,
}

/// A call that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: BackendError,
    pub(crate) reach: Reach,
}

impl Failure {
    /// No answer in time.
    pub(crate) fn silence(operation: &'static str) -> Self {
        let error = BackendError::new(ErrorKind::Timeout, BACKEND, operation);
        Self { error, reach: Reach::Unknown }
    }
}

impl From<Failure> for BackendError {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

/// The one place where an error of the driver gets its meaning.
fn classify(error: &Driver) -> (ErrorKind, Reach) {
    use ErrorKind::{Malformed, Misconfigured, Unavailable};
    match error {
        Driver::GRpcStatus(status) => of_status(status),
        // What the driver makes of a keep-alive that is answered with no life left.
        Driver::LeaseKeepAliveError(words) if words == "lease not found" => {
            (Unavailable, Reach::NoLease)
        }
        // A keep-alive whose stream ended before its answer.
        Driver::LeaseKeepAliveError(_) | Driver::WatchError(_) => (Unavailable, Reach::Unknown),
        Driver::TransportError(_) if speaks_otherwise(error) => {
            (Misconfigured, reach_of_a_stranger(error))
        }
        Driver::TransportError(_) => {
            let reach = if never_sent(error) { Reach::NotSent } else { Reach::Unknown };
            (Unavailable, reach)
        }
        Driver::IoError(_) => (Unavailable, Reach::Unknown),
        Driver::InvalidArgs(_)
        | Driver::InvalidUri(_)
        | Driver::InvalidMetadataValue(_)
        | Driver::EndpointError(_)
        | Driver::EndpointsNotManaged => (Misconfigured, Reach::Refused),
        Driver::Utf8Error(_) | Driver::ElectError(_) | Driver::Internal(_) => {
            (Malformed, Reach::Unknown)
        }
        // One more variant where another crate of the build turns on OpenSSL for the driver.
        #[allow(unreachable_patterns, reason = "the driver's enum has as many as its features")]
        _ => (Misconfigured, Reach::Unknown),
    }
}

fn of_status(status: &Status) -> (ErrorKind, Reach) {
    use ErrorKind::{Denied, Malformed, Misconfigured, Timeout, Unavailable};
    let words = status.message();
    if let Some(meaning) = of_words(words) {
        return meaning;
    }
    if speaks_otherwise(status) {
        return (Misconfigured, reach_of_a_stranger(status));
    }
    // What the transport itself tells, such as a connection that a proxy has ended for too much on
    // it, is no word of the server's: it may come after the work was done.
    let refused = if status.source().is_some() { Reach::Unknown } else { Reach::Refused };
    match status.code() {
        Code::Unavailable if never_sent(status) => (Unavailable, Reach::NotSent),
        Code::Unavailable | Code::Unknown | Code::Aborted => (Unavailable, Reach::Unknown),
        Code::DeadlineExceeded => (Timeout, Reach::Unknown),
        // The transport's word for a deadline of its own, and for a connection that is closed.
        Code::Cancelled if words.contains("Timeout expired") => (Timeout, Reach::Unknown),
        Code::Cancelled => (Unavailable, Reach::Unknown),
        Code::ResourceExhausted => (Unavailable, refused),
        Code::Unauthenticated | Code::PermissionDenied => (Denied, refused),
        Code::Unimplemented | Code::FailedPrecondition => (Misconfigured, refused),
        Code::InvalidArgument | Code::NotFound | Code::AlreadyExists | Code::OutOfRange => {
            (Malformed, refused)
        }
        Code::DataLoss | Code::Internal | Code::Ok => (Malformed, Reach::Unknown),
    }
}

/// What the texts mean that a server puts into its answers. They are fixed (`rpctypes`).
fn of_words(text: &str) -> Option<(ErrorKind, Reach)> {
    use ErrorKind::{Denied, Malformed, Misconfigured, Unavailable};
    const WORDS: [(&str, ErrorKind, Reach); 23] = [
        ("requested lease not found", Unavailable, Reach::NoLease),
        ("required revision has been compacted", Unavailable, Reach::Compacted),
        // That passes, but not in a moment.
        ("database space exceeded", Unavailable, Reach::Full),
        ("too many requests", Unavailable, Reach::Passing),
        ("etcdserver: no leader", Unavailable, Reach::Passing),
        ("etcdserver: not leader", Unavailable, Reach::Passing),
        // These may stand for a proposal that is carried out later.
        ("leader changed", Unavailable, Reach::Unknown),
        ("request timed out", Unavailable, Reach::Unknown),
        ("server stopped", Unavailable, Reach::Unknown),
        ("unhealthy cluster", Unavailable, Reach::Passing),
        ("rpc not supported for learner", Misconfigured, Reach::Refused),
        // The store of users has changed since the token was made, or the token's time is over. The
        // driver asks for another one where a call fails, but not where a keep-alive does.
        ("revision of auth store is old", Unavailable, Reach::OldToken),
        ("revision in header is old", Unavailable, Reach::OldToken), // the same, from a later server
        ("invalid auth token", Unavailable, Reach::OldToken),
        ("authentication failed", Denied, Reach::Refused),
        ("user name is empty", Denied, Reach::Refused),
        ("permission denied", Denied, Reach::Refused),
        ("authentication is not enabled", Misconfigured, Reach::Refused),
        ("request is too large", Malformed, Reach::Refused),
        ("too many operations in txn", Misconfigured, Reach::Refused),
        ("corrupt cluster", Malformed, Reach::Refused),
        ("cluster ID mismatch", Misconfigured, Reach::Refused),
        (UNUSABLE, Unavailable, Reach::NotSent),
    ];
    WORDS.iter().find(|(word, ..)| text.contains(word)).map(|&(_, kind, reach)| (kind, reach))
}

/// Whether no connection came up, so that nothing can have been sent.
fn never_sent(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<ConnectError>() {
            return true;
        }
        let words = error.to_string();
        if words.contains("tcp connect error") || words.contains("dns error") {
            return true;
        }
        next = error.source();
    }
    false
}

/// Whether that client will never send anything again.
pub(crate) fn is_unusable(error: &Driver) -> bool {
    matches!(error, Driver::GRpcStatus(status) if status.message().contains(UNUSABLE))
}

/// What TLS says of a certificate, or of a server that speaks something else.
fn speaks_otherwise(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>()
            && error.kind() == io::ErrorKind::InvalidData
        {
            return true;
        }
        next = error.source();
    }
    false
}

/// Another member may be one to speak with: its certificate is its own.
fn reach_of_a_stranger(error: &(dyn Error + 'static)) -> Reach {
    if never_sent(error) { Reach::NotSent } else { Reach::Refused }
}

/// Whether the other end closed the connection in the middle of it.
pub(crate) fn hung_up(error: &BackendError) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let mut next: Option<&(dyn Error + 'static)> = error.cause().map(|cause| cause as _);
    while let Some(error) = next {
        let io = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        if let Some(BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof) = io {
            return true;
        }
        // The driver's own error does not tell its cause.
        next = match error.downcast_ref() {
            Some(Driver::GRpcStatus(status)) => status.source(),
            Some(Driver::TransportError(error)) => error.source(),
            Some(Driver::IoError(error)) => Some(error),
            _ => error.source(),
        };
    }
    false
}

/// An error of the driver as one of this backend.
pub(crate) fn failed(operation: &'static str, error: Driver) -> Failure {
    let (kind, reach) = classify(&error);
    let error = BackendError::new(kind, BACKEND, operation).with_source(error);
    Failure { error, reach }
}

/// An answer that makes no sense.
pub(crate) fn malformed(operation: &'static str, what: &'static str) -> BackendError {
    BackendError::new(ErrorKind::Malformed, BACKEND, operation).with_source(Odd(what))
}

/// A setting that cannot work.
pub(crate) fn misconfigured(what: &'static str) -> BackendError {
    BackendError::new(ErrorKind::Misconfigured, BACKEND, "connect").with_source(Odd(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: Code, words: &str) -> (ErrorKind, Reach) {
        classify(&Driver::GRpcStatus(Status::new(code, words)))
    }

    #[test]
    fn what_a_server_says_is_known_by_its_words() {
        use ErrorKind::{Denied, Malformed, Timeout, Unavailable};
        for (code, words, expected) in [
            (
                Code::NotFound,
                "etcdserver: requested lease not found",
                (Unavailable, Reach::NoLease),
            ),
            (Code::Unavailable, "etcdserver: no leader", (Unavailable, Reach::Passing)),
            (Code::Unavailable, "etcdserver: request timed out", (Unavailable, Reach::Unknown)),
            (Code::Unavailable, "tcp connect error", (Unavailable, Reach::NotSent)),
            (Code::Unavailable, "error reading a body", (Unavailable, Reach::Unknown)),
            (Code::Unknown, "h2 protocol error", (Unavailable, Reach::Unknown)),
            (Code::Cancelled, "Timeout expired", (Timeout, Reach::Unknown)),
            (
                Code::ResourceExhausted,
                "etcdserver: mvcc: database space exceeded",
                (Unavailable, Reach::Full),
            ),
            (
                Code::InvalidArgument,
                "etcdserver: authentication failed, invalid user ID or password",
                (Denied, Reach::Refused),
            ),
            (
                Code::Unauthenticated,
                "etcdserver: invalid auth token",
                (Unavailable, Reach::OldToken),
            ),
            (Code::PermissionDenied, "etcdserver: permission denied", (Denied, Reach::Refused)),
            (Code::InvalidArgument, "news of a later server", (Malformed, Reach::Refused)),
        ] {
            assert_eq!(said(code, words), expected, "{words}");
        }
    }

    #[test]
    fn what_the_transport_refuses_may_have_been_done() {
        let mut status =
            Status::new(Code::ResourceExhausted, "h2 protocol error: enhance your calm");
        assert_eq!(of_status(&status).1, Reach::Refused);
        status.set_source(std::sync::Arc::new(Odd("too much on this connection")));
        assert_eq!(of_status(&status), (ErrorKind::Unavailable, Reach::Unknown));
    }

    #[test]
    fn a_connection_that_was_closed_is_known_by_its_cause() {
        let closed = |kind: std::io::ErrorKind| {
            let error = BackendError::new(ErrorKind::Unavailable, BACKEND, "connect");
            hung_up(&error.with_source(Driver::IoError(kind.into())))
        };
        assert!(closed(std::io::ErrorKind::BrokenPipe));
        assert!(!closed(std::io::ErrorKind::ConnectionRefused));
    }

    #[test]
    fn a_keep_alive_without_a_lease_is_no_error_of_the_way() {
        let gone = Driver::LeaseKeepAliveError("lease not found".into());
        assert_eq!(classify(&gone).1, Reach::NoLease);
        let ended = Driver::LeaseKeepAliveError("channel closed".into());
        assert_eq!(classify(&ended), (ErrorKind::Unavailable, Reach::Unknown));
    }
}
