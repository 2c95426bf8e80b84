//! Looking at how a server is set up.

use std::fmt;
use std::time::Duration;

use redis::Value;
use tidelock::{BackendError, ErrorKind, JobId};
use tokio::time::Instant;

use crate::error::{BACKEND, Refused, malformed};
use crate::script::{self, Call};
use crate::{RedisBackend, locks};

const PREFLIGHT: &str = "preflight";

/// How much a [`Finding`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    Note,
    /// Works, until something goes wrong.
    Warning,
    /// Breaks a promise: the backend should not be used so.
    Error,
}

/// Something about the server that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What it is about: `version`, `eviction`, `persistence`, `replicas`, `scripts`, `round-trip`
    /// or `info`.
    pub topic: &'static str,
    /// What it is, for people.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.topic, self.text)
    }
}

/// What [`RedisBackend::preflight`] found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Preflight {
    /// The server's version, where it tells.
    pub version: Option<String>,
    /// How long it takes to ask it something. Locks should live at least
    /// [sixty times](Self::shortest_ttl) as long.
    pub round_trip: Duration,
    /// What matters.
    pub findings: Vec<Finding>,
}

impl Preflight {
    /// The error that the worst finding amounts to, if one does.
    ///
    /// # Errors
    ///
    /// There is a finding of [`Severity::Error`].
    pub fn check(&self) -> Result<(), BackendError> {
        let worst = self.findings.iter().find(|f| f.severity == Severity::Error);
        worst.map_or(Ok(()), |finding| {
            let error = BackendError::new(ErrorKind::Misconfigured, BACKEND, PREFLIGHT);
            Err(error.with_source(Refused(finding.to_string())))
        })
    }

    /// The shortest life of a lock ([`lock_ttl`]) that is safe over this way: a renewal may take a
    /// quarter of it, and that should be time for a lost answer and a dozen slow ones.
    ///
    /// [`lock_ttl`]: tidelock::JobBuilder::lock_ttl
    pub fn shortest_ttl(&self) -> Duration {
        self.round_trip * 60
    }

    fn add(&mut self, severity: Severity, topic: &'static str, text: impl Into<String>) {
        let text = text.into();
        if self.findings.iter().any(|f| f.topic == topic && f.text == text) {
            return; // of another member
        }
        match severity {
            Severity::Note => tracing::debug!(topic, "{text}"),
            Severity::Warning | Severity::Error => tracing::warn!(topic, "{text}"),
        }
        self.findings.push(Finding { severity, topic, text });
    }
}

impl RedisBackend {
    /// Looks at how the server is set up: its version, what it evicts, what it keeps over a
    /// restart and a failover, whether it lets this user run scripts, and how far away it is.
    ///
    /// [`connect`](Self::connect) does this, and fails on an error among the findings. It also
    /// makes the scripts known to the server, so that the first tick costs one round trip.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, or does not let this user run scripts. What it does not let
    /// this user look at is a note among the findings.
    pub async fn preflight(&self) -> Result<Preflight, BackendError> {
        let call = self.answered_probe().await?; // brings the connection up
        let asked = Instant::now();
        self.probe(&call).await?;
        let mut preflight =
            Preflight { version: None, round_trip: asked.elapsed(), findings: Vec::new() };
        self.judge_scripts(&mut preflight).await;
        self.judge_round_trip(&mut preflight);
        match self.info().await {
            Ok(members) => members.iter().for_each(|info| self.judge(info, &mut preflight)),
            Err(error) => preflight.add(
                Severity::Note,
                "info",
                format!("the server does not tell how it is set up ({error})"),
            ),
        }
        Ok(preflight)
    }

    /// A probe that was answered. One of several servers may be away, and with it the place of a
    /// probe: the others serve their jobs, and a node may start.
    async fn answered_probe(&self) -> Result<Call, BackendError> {
        let most = if self.wire.is_to_several() { 4 } else { 1 };
        let mut number = 0;
        loop {
            let name = if number == 0 { PREFLIGHT.into() } else { format!("{PREFLIGHT}-{number}") };
            let probe = JobId::new(name).map_err(|_| malformed(PREFLIGHT, "no job id"))?;
            let call = locks::inspect(&self.namespace.of(&probe));
            number += 1;
            match self.probe(&call).await {
                Ok(()) => return Ok(call),
                Err(error) if error.is_retryable() && number < most => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn probe(&self, call: &Call) -> Result<(), BackendError> {
        self.wire.run(call, self.timeouts.operation).await.map(drop)
    }

    async fn judge_scripts(&self, preflight: &mut Preflight) {
        for script in script::all() {
            let command = script::load(script);
            let loaded = self.wire.command(PREFLIGHT, self.timeouts.operation, &command).await;
            if let Err(error) = loaded {
                let text = format!("SCRIPT LOAD fails ({error}): texts are sent when needed");
                return preflight.add(Severity::Note, "scripts", text);
            }
        }
    }

    fn judge_round_trip(&self, preflight: &mut Preflight) {
        let took = preflight.round_trip;
        if took > self.timeouts.operation / 4 {
            preflight.add(
                Severity::Warning,
                "round-trip",
                format!(
                    "{took:?}, and an operation may take {:?}: raise operation_timeout, and keep \
                     locks for at least {:?}",
                    self.timeouts.operation,
                    preflight.shortest_ttl()
                ),
            );
        }
    }

    /// What each member says: one server, or those of a Cluster.
    async fn info(&self) -> Result<Vec<Info>, BackendError> {
        let command = redis::cmd("INFO");
        match self.wire.command(PREFLIGHT, self.timeouts.operation, &command).await? {
            Value::Map(members) => members.into_iter().map(|(_, said)| Info::new(said)).collect(),
            said => Ok(vec![Info::new(said)?]),
        }
    }

    fn judge(&self, info: &Info, found: &mut Preflight) {
        found.version = info.version().map(str::to_owned);
        if let Some(version) = &found.version
            && older_than_6_2(version)
        {
            let text = format!("{version}: the scripts need 6.2");
            found.add(Severity::Error, "version", text);
        }
        let policy = info.field("maxmemory_policy").unwrap_or("noeviction");
        if policy.starts_with("allkeys") {
            let severity = if self.allow_eviction { Severity::Warning } else { Severity::Error };
            let text = format!(
                "maxmemory-policy {policy} can evict the marks that make a tick unrepeatable: set \
                 noeviction, or say allow_eviction()"
            );
            found.add(severity, "eviction", text);
        } else if policy.starts_with("volatile") {
            let text = format!(
                "maxmemory-policy {policy} can evict the lock of a run that goes on: its run ends \
                 as lock-lost"
            );
            found.add(Severity::Warning, "eviction", text);
        }
        let aof = info.field("aof_enabled") == Some("1");
        if !aof {
            found.add(
                Severity::Warning,
                "persistence",
                "no append-only file: a restart may forget marks, and their ticks can run again",
            );
        }
        match info.field("connected_slaves") {
            Some("0") | None => {}
            Some(count) => {
                let text = format!(
                    "{count}, written to asynchronously: a failover may lose the last marks, and \
                     their ticks can run again"
                );
                found.add(Severity::Warning, "replicas", text);
            }
        }
        if info.field("role") == Some("slave") {
            found.add(
                Severity::Warning,
                "replicas",
                "this server is a replica by now: it takes no locks",
            );
        }
    }
}

/// What `INFO` says.
struct Info(String);

impl Info {
    fn new(said: Value) -> Result<Self, BackendError> {
        match said {
            Value::BulkString(bytes) => Ok(Self(String::from_utf8_lossy(&bytes).into_owned())),
            Value::VerbatimString { text, .. } | Value::SimpleString(text) => Ok(Self(text)),
            _ => Err(malformed(PREFLIGHT, "INFO is no text")),
        }
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| {
            let (field, value) = line.trim_end().split_once(':')?;
            (field == name).then_some(value)
        })
    }

    /// Valkey tells of the Redis that it is compatible with, too.
    fn version(&self) -> Option<&str> {
        self.field("redis_version")
    }
}

fn older_than_6_2(version: &str) -> bool {
    let mut numbers = version.split('.').map_while(|part| part.parse::<u32>().ok());
    let (major, minor) = (numbers.next(), numbers.next().unwrap_or(0));
    major.is_some_and(|major| (major, minor) < (6, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_is_read_by_field() {
        let info = Info("# Server\r\nredis_version:7.0.15\r\nrole:master\r\n".into());
        assert_eq!(info.version(), Some("7.0.15"));
        assert_eq!(info.field("rol"), None);
    }

    #[test]
    fn versions_are_compared_by_number() {
        for (version, older) in [
            ("6.0.16", true),
            ("6.2.0", false),
            ("7.0.15", false),
            ("10.0", false),
            ("unstable", false),
        ] {
            assert_eq!(older_than_6_2(version), older, "{version}");
        }
    }
}
