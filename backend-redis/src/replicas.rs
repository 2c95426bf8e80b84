//! Grants that replicas have acknowledged.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::Value;
use redis::aio::MultiplexedConnection;
use tidelock::{
    AcquireRequest, BackendError, ErrorKind, LockKey, MarkPoint, SkipReason, SkippedRow, Untold,
};
use tokio::time::Instant;

use crate::connection::{Timeouts, Wire};
use crate::error::{BACKEND, failed};
use crate::origin::Origin;
use crate::reply::Reply;
use crate::script::Call;

/// How many replicas shall have a grant, and how long they have for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) count: u32,
    pub(crate) timeout: Duration,
}

/// Connections of which each has one grant at a time: `WAIT` blocks its connection, and counts what
/// was written on it.
pub(crate) struct Replicas {
    wanted: Wanted,
    idle: Mutex<Vec<MultiplexedConnection>>,
    /// Of each job the newest ticks in a row whose grants too few replicas had. The marks say that
    /// these were granted.
    rows: Mutex<HashMap<LockKey, SkippedRow>>,
}

/// A scheduler gives a call a sixth of the lock's life and no more than two seconds: it must hear that
/// too few have the grant, and the lock be given up by then.
const LONGEST_WAIT: Duration = Duration::from_millis(1_500);

/// More than that are closed after use.
const MOST_IDLE: usize = 64;

impl Replicas {
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self { wanted, idle: Mutex::default(), rows: Mutex::default() }
    }

    /// Adds the tick of a grant that too few replicas have to what is untold: in a row with those
    /// before it.
    pub(crate) fn skipped(
        &self,
        request: &AcquireRequest,
        previous: Option<MarkPoint>,
        untold: &mut Untold,
    ) {
        untold.skip(request, SkipReason::Unreplicated, None);
        let Some(row) = untold.skipped.last_mut() else {
            return;
        };
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = |before: &&SkippedRow| {
            let last = MarkPoint::new(before.last, before.fingerprint);
            previous == Some(last) && row.fingerprint == before.fingerprint
        };
        if let Some(before) = rows.get(&request.key).filter(goes_on) {
            (row.run_id, row.first) = (before.run_id, before.first);
            row.count = before.count.saturating_add(1);
        }
        rows.insert(request.key.clone(), row.clone());
    }

    /// How many must have a grant.
    pub(crate) fn count(&self) -> u32 {
        self.wanted.count
    }

    /// Runs a script whose answer `read` may call a grant of that TTL; tells whether enough replicas
    /// have it.
    pub(crate) async fn run<T>(
        &self,
        wire: &Wire,
        timeouts: Timeouts,
        call: &Call,
        ttl: Duration,
        read: impl Fn(Reply) -> Result<(T, bool), BackendError>,
    ) -> Result<(T, bool), BackendError> {
        let deadline = Instant::now() + timeouts.operation;
        loop {
            let idle = self.idle().pop();
            let was_idle = idle.is_some();
            let connection = match idle {
                Some(connection) => connection,
                None => self.open(wire, timeouts, call).await?,
            };
            let own = Wire::new(Origin::Given(Arc::new(connection.clone())), timeouts);
            let left = deadline.saturating_duration_since(Instant::now());
            let reply = match own.run(call, left).await {
                Ok(reply) => reply,
                // It may have broken while nobody looked. The script may run again.
                Err(error) if was_idle && error.kind == ErrorKind::Unavailable => continue,
                Err(error) => return Err(error),
            };
            let (answer, is_grant) = read(reply)?;
            let enough = !is_grant || self.has_enough(&own, timeouts, ttl).await;
            let mut idle = self.idle();
            if enough && idle.len() < MOST_IDLE {
                idle.push(connection);
            }
            return Ok((answer, enough));
        }
    }

    async fn open(
        &self,
        wire: &Wire,
        timeouts: Timeouts,
        call: &Call,
    ) -> Result<MultiplexedConnection, BackendError> {
        let within = timeouts.operation + self.wanted.timeout;
        let opened = tokio::time::timeout(timeouts.operation, wire.own(within)).await;
        let operation = call.script.operation;
        match opened {
            Ok(opened) => opened.map_err(|error| failed(operation, error)),
            Err(_) => Err(BackendError::new(ErrorKind::Timeout, BACKEND, operation)),
        }
    }

    async fn has_enough(&self, own: &Wire, timeouts: Timeouts, ttl: Duration) -> bool {
        let Wanted { count, timeout } = self.wanted;
        let timeout = timeout.min(ttl / 8).min(LONGEST_WAIT);
        let mut wait = redis::cmd("WAIT");
        wait.arg(count).arg(timeout.as_millis().max(1).to_string());
        let within = timeout + timeouts.operation;
        let told = own.command("wait", within, &wait).await;
        matches!(told, Ok(Value::Int(told)) if told >= i64::from(count))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<MultiplexedConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Replicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.wanted, f)
    }
}
