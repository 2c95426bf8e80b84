//! What can go wrong with a call.

use std::time::Duration;

use tidelock::ErrorKind;

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It is not executed and fails with that kind of error.
    Fail(ErrorKind),
    /// The request arrives that much later. It arrives even when the caller gives up meanwhile.
    Delay(Duration),
    /// It is executed at once, and the answer comes that much later.
    DelayReply(Duration),
    /// It is not executed; the caller sees a timeout.
    LoseRequest,
    /// It is executed; the caller sees a timeout.
    LoseReply,
    /// The caller sees a timeout at once, and that much later it is executed after all.
    ArriveLate(Duration),
    /// It is not executed, and nothing ever answers.
    Hang,
    /// It is executed, and nothing ever answers.
    HangReply,
    /// `begin` and `finish` do the lock's part and tell that the record was not stored; any other
    /// operation fails as with `Fail(Unavailable)`.
    RefuseRecord,
    /// The backend's code panics, before anything is done.
    Panic,
}
