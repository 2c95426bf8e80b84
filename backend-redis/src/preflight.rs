//! Looking at how a server is set up.

use redis::Value;
use tidelock::{BackendError, ErrorKind, JobId, Preflight, Severity};
use tokio::time::Instant;

use crate::error::{BACKEND, kind_of, malformed};
use crate::keys::Part;
use crate::script::{self, Call};
use crate::{RedisBackend, locks};

const PREFLIGHT: &str = "preflight";

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
        let mut preflight = Preflight::new(BACKEND, asked.elapsed());
        self.judge_scripts(&mut preflight).await;
        self.judge_permissions(&mut preflight).await?;
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

    /// Tries what the scripts do, on a key of which nothing stays.
    async fn judge_permissions(&self, preflight: &mut Preflight) -> Result<(), BackendError> {
        let probe = JobId::new(PREFLIGHT).map_err(|_| malformed(PREFLIGHT, "no job id"))?;
        let call = Call::new(&script::PROBE, &self.namespace.of(&probe), &[Part::Probe]);
        let told = match self.wire.run(&call, self.timeouts.operation).await {
            Ok(mut reply) => reply.texts()?,
            // Whoever is asked for its place may be away: it was not by the first probe.
            Err(error) if error.is_retryable() => return Ok(()),
            Err(error) => return Err(error),
        };
        let (mut denied, mut failed) = (Vec::new(), None);
        for pair in told.chunks(2) {
            if let [name, why] = pair {
                match kind_of(why) {
                    ErrorKind::Denied => denied.push(name.as_str()),
                    _ => failed = Some(format!("{name} fails: {why}")),
                }
            }
        }
        if !denied.is_empty() {
            let names = denied.join(", ");
            let text =
                format!("this user may not use {names}: the crate's page says what it needs");
            preflight.add(Severity::Error, "permissions", text);
        }
        // A server that is full, say, or a replica: that passes.
        if let Some(failed) = failed {
            preflight.add(Severity::Warning, "writing", failed);
        }
        self.judge_waiting(preflight).await;
        Ok(())
    }

    async fn judge_waiting(&self, preflight: &mut Preflight) {
        if self.replicas.is_none() {
            return;
        }
        let mut wait = redis::cmd("WAIT");
        wait.arg(0).arg(1); // answers at once
        if let Err(error) = self.wire.command(PREFLIGHT, self.timeouts.operation, &wait).await
            && error.kind == ErrorKind::Denied
        {
            let text =
                "this user may not use wait, and wait_replicas was asked for: no tick will run";
            preflight.add(Severity::Error, "permissions", text);
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
        self.judge_replicas(info, found);
    }

    fn judge_replicas(&self, info: &Info, found: &mut Preflight) {
        if info.field("role") == Some("slave") {
            let text = "this server is a read-only replica: connect to its primary, or through \
                        connect_sentinel";
            return found.add(Severity::Error, "replicas", text);
        }
        let count = info.field("connected_slaves").and_then(|count| count.parse::<u32>().ok());
        let Some(count) = count else { return };
        if let Some(wanted) = self.replicas.as_ref().map(|replicas| replicas.count())
            && count < wanted
        {
            let text = format!(
                "{count}, and wait_replicas asks for {wanted}: until there are as many, no tick runs"
            );
            return found.add(Severity::Warning, "replicas", text);
        }
        if count > 0 {
            let text = format!(
                "{count}, written to asynchronously: a failover may lose the last marks, and their \
                 ticks can run again"
            );
            found.add(Severity::Warning, "replicas", text);
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
