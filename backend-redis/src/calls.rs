//! Sending calls: each has a deadline, and is repeated where that can help.

use std::time::Duration;

use redis::{Cmd, ErrorKind as Driver, RedisError, ServerErrorKind as Server, Value};
use tidelock::{BackendError, ErrorKind};
use tokio::time::{Instant, sleep, timeout_at};

use crate::connection::Wire;
use crate::error::{BACKEND, Then, classify};
use crate::reply::Reply;
use crate::script::Call;

const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_millis(200);

impl Wire {
    /// Runs a script. Every script may be run again when its answer did not come, so that a broken
    /// connection costs a second try, at once.
    pub(crate) async fn run(&self, call: &Call, within: Duration) -> Result<Reply, BackendError> {
        let operation = call.script.operation;
        let value = self.repeat(operation, within, &call.by_hash, Some(call)).await?;
        Reply::new(operation, value)
    }

    /// Sends a command that changes nothing, or nothing that matters.
    pub(crate) async fn command(
        &self,
        operation: &'static str,
        within: Duration,
        command: &Cmd,
    ) -> Result<Value, BackendError> {
        self.repeat(operation, within, command, None).await
    }

    async fn repeat(
        &self,
        operation: &'static str,
        within: Duration,
        command: &Cmd,
        call: Option<&Call>,
    ) -> Result<Value, BackendError> {
        let deadline = Instant::now() + within;
        let (mut wait, mut broken, mut with_text) = (FIRST_WAIT, false, None);
        let mut told = None;
        loop {
            let error = match self.send(deadline, with_text.as_ref().unwrap_or(command)).await {
                Sent::Answer(value) => return Ok(value),
                Sent::Silence => {
                    let error = BackendError::new(ErrorKind::Timeout, BACKEND, operation);
                    let silence = || error.with_source(format!("none within {within:?}"));
                    // What it said before, while there was time, tells more.
                    return Err(told.unwrap_or_else(silence));
                }
                Sent::Failure(error, number) => {
                    let (kind, then) = self.meaning(&error);
                    let moved = then == Then::AskAgain && self.leads_elsewhere(broken);
                    if matches!(then, Then::Replace | Then::LetGo) || moved {
                        self.replace(number);
                    }
                    let failed =
                        |kind| BackendError::new(kind, BACKEND, operation).with_source(error);
                    match (then, call) {
                        (Then::SendText, Some(call)) if with_text.is_none() => {
                            with_text = Some(call.by_text());
                            continue;
                        }
                        (Then::AskAgain, _) if !broken => {
                            broken = true;
                            continue;
                        }
                        (Then::Wait | Then::Replace, _) => failed(kind),
                        _ => return Err(failed(kind)),
                    }
                }
            };
            if Instant::now() + wait >= deadline {
                return Err(error);
            }
            told = Some(error);
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// What an error means here. At a Cluster, a slot that is on its way to another member comes to
    /// rest; one server that is asked alone stays the wrong one.
    fn meaning(&self, error: &RedisError) -> (ErrorKind, Then) {
        match error.kind() {
            Driver::Server(Server::Moved | Server::Ask) if self.is_to_several() => {
                (ErrorKind::Unavailable, Then::Wait)
            }
            _ => classify(error),
        }
    }

    /// Sends once.
    async fn send(&self, deadline: Instant, command: &Cmd) -> Sent {
        let handle = match self.ready() {
            Some(handle) => Ok(Ok(handle)),
            None => timeout_at(deadline, self.handle()).await,
        };
        let (mut connection, number) = match handle {
            Err(_) => return Sent::Silence,
            Ok(Err(error)) => return Sent::Failure(error, 0),
            Ok(Ok(handle)) => handle,
        };
        let answer = timeout_at(deadline, connection.req_packed_command(command)).await;
        // No script answers with an error within a list.
        let answer = answer.map(|answer| match answer {
            Ok(Value::ServerError(error)) => Err(RedisError::from(error)),
            other => other,
        });
        match answer {
            Ok(Ok(value)) => {
                self.answered(number);
                Sent::Answer(value)
            }
            Ok(Err(error)) if error.is_timeout() => {
                self.silent(number);
                Sent::Silence
            }
            Ok(Err(error)) => {
                self.answered(number);
                Sent::Failure(error, number)
            }
            Err(_) => {
                self.silent(number);
                Sent::Silence
            }
        }
    }
}

/// What became of a command.
enum Sent {
    Answer(Value),
    /// An error, on the connection of that number.
    Failure(RedisError, u64),
    Silence,
}
