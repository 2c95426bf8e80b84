//! Looking at how a cluster is set up.

use std::time::Duration;

use etcd_client::{
    AlarmAction, AlarmType, Compare, CompareOp, DeleteOptions, GetOptions, StatusResponse, Txn,
    TxnOp,
};
use tidelock::{BackendError, ErrorKind, Preflight, Severity};
use tokio::time::{Instant, timeout};

use crate::EtcdBackend;
use crate::calls::Repeat;
use crate::error::{BACKEND, failed};
use crate::http;

const PREFLIGHT: &str = "preflight";

impl EtcdBackend {
    /// Looks at how the cluster is set up: its version, whether its members are well and how full
    /// they are, whether this user may do what it has to, whether a clock is to be seen, and how
    /// far away it is.
    ///
    /// [`connect`](Self::connect) does this, and fails on an error among the findings.
    ///
    /// # Errors
    ///
    /// The cluster cannot be reached, has no leader, or does not let this user read and write the
    /// keys of the namespace. What it does not let this user look at is a note among the findings.
    pub async fn preflight(&self) -> Result<Preflight, BackendError> {
        self.probe().await?; // brings the connection up
        let asked = Instant::now();
        let options = GetOptions::new().with_count_only();
        let within = self.timeouts().operation;
        self.wire.get(PREFLIGHT, within, self.namespace.prefix(), options).await?;
        let mut preflight = Preflight::new(BACKEND, asked.elapsed());
        self.judge_round_trip(&mut preflight);
        self.judge_members(&mut preflight).await;
        self.judge_alarms(&mut preflight).await;
        self.judge_quota(&mut preflight).await;
        self.clock.look().await;
        if !self.clock.is_known() {
            preflight.add(
                Severity::Warning,
                "clock",
                "no member shows its clock over HTTP: nothing bounds a node whose own is far ahead",
            );
        }
        if !self.with_user && self.wire.endpoint().is_some() {
            let text = "no user: whoever reaches the cluster can free locks and move marks";
            preflight.add(Severity::Note, "auth", text);
        }
        Ok(preflight)
    }

    /// Whether this user may read and write all keys of the namespace. It changes nothing: what it
    /// compares is never so, but permissions are looked at first.
    async fn probe(&self) -> Result<(), BackendError> {
        let prefix = self.namespace.prefix();
        let key = format!("{prefix}{PREFLIGHT}");
        let all = DeleteOptions::new().with_prefix();
        let txn = Txn::new()
            .when([Compare::create_revision(key.as_str(), CompareOp::Less, 0)])
            .and_then([TxnOp::delete(prefix, Some(all))])
            .or_else([TxnOp::get(key, None)]);
        match self.wire.txn(PREFLIGHT, Repeat::Safe, txn).await {
            Ok(_) => Ok(()),
            Err(failure) if failure.error.kind == ErrorKind::Denied => {
                let prefix = self.namespace.prefix();
                let needs = format!("this user needs readwrite on the prefix {prefix}");
                Err(failure.error.within(PREFLIGHT, needs))
            }
            Err(failure) => Err(failure.error),
        }
    }

    fn judge_round_trip(&self, found: &mut Preflight) {
        let (took, operation) = (found.round_trip, self.timeouts().operation);
        if took > operation / 4 {
            let text = format!(
                "{took:?}, and an operation may take {operation:?}: raise operation_timeout, and \
                 keep locks for at least {:?}",
                found.shortest_ttl()
            );
            found.add(Severity::Warning, "round-trip", text);
        }
    }

    async fn judge_members(&self, found: &mut Preflight) {
        for member in 0..self.wire.count() {
            let endpoint = self.wire.endpoint_of(member).unwrap_or("the client given").to_owned();
            match self.status_of(member).await {
                Ok(status) => {
                    let version = status.version().to_owned();
                    if older_than_3_4(&version) {
                        let text = format!("{endpoint} has {version}: at least 3.4 is needed");
                        found.add(Severity::Error, "version", text);
                    }
                    found.version.get_or_insert(version);
                    if status.is_learner() {
                        let text = format!("{endpoint} is a learner, which takes no calls");
                        found.add(Severity::Warning, "members", text);
                    }
                }
                Err(error) => {
                    let severity = match error.kind {
                        ErrorKind::Denied => Severity::Note,
                        _ => Severity::Warning,
                    };
                    let text = format!("{endpoint} does not tell how it is ({error})");
                    found.add(severity, "members", text);
                }
            }
        }
    }

    async fn status_of(&self, member: usize) -> Result<StatusResponse, BackendError> {
        let asking = async {
            let (client, _) = self.wire.client_of(member).await.map_err(|(error, _)| error)?;
            client.maintenance_client().status().await
        };
        match timeout(self.timeouts().operation, asking).await {
            Ok(Ok(status)) => Ok(status),
            Ok(Err(error)) => Err(failed(PREFLIGHT, error).error),
            Err(_) => Err(BackendError::new(ErrorKind::Timeout, BACKEND, PREFLIGHT)),
        }
    }

    async fn judge_alarms(&self, found: &mut Preflight) {
        let within = self.timeouts().operation;
        let asking = self.wire.call(PREFLIGHT, within, Repeat::Safe, |client| async move {
            client.maintenance_client().alarm(AlarmAction::Get, AlarmType::None, None).await
        });
        let alarms = match asking.await {
            Ok(alarms) => alarms,
            Err(failure) => {
                let text = format!("the cluster does not tell its alarms ({})", failure.error);
                return found.add(Severity::Note, "alarms", text);
            }
        };
        for alarm in alarms.alarms() {
            match alarm.alarm() {
                AlarmType::None => {}
                AlarmType::Nospace => found.add(
                    Severity::Warning,
                    "alarms",
                    "NOSPACE: no tick is granted until space is made and the alarm is disarmed; \
                     runs under way renew and end",
                ),
                AlarmType::Corrupt => found.add(
                    Severity::Error,
                    "alarms",
                    "CORRUPT: a member holds other data than the rest",
                ),
            }
        }
    }

    /// The quota is told among the metrics alone.
    async fn judge_quota(&self, found: &mut Preflight) {
        let Some(endpoint) = self.wire.endpoint().map(str::to_owned) else {
            return;
        };
        let within = self.timeouts().connect;
        let Ok(page) = self.clock.page(&endpoint, "/metrics", within).await else {
            return; // often closed, and no loss
        };
        let quota = metric(&page.body, "etcd_server_quota_backend_bytes");
        let size = metric(&page.body, "etcd_mvcc_db_total_size_in_bytes");
        if let (Some(quota), Some(size)) = (quota, size)
            && quota > 0.0
            && size > quota * 0.8
        {
            let text = format!("{:.0} % of the space is used", size / quota * 100.0);
            found.add(Severity::Warning, "quota", text);
        }
    }
}

impl crate::clock::ServerClock {
    async fn page(
        &self,
        endpoint: &str,
        path: &str,
        within: Duration,
    ) -> Result<http::Page, Box<dyn std::error::Error + Send + Sync>> {
        http::get(endpoint, path, self.tls(), within).await
    }
}

fn metric(page: &str, name: &str) -> Option<f64> {
    page.lines().find_map(|line| {
        let (found, value) = line.split_once(' ')?;
        (found == name).then(|| value.trim().parse().ok())?
    })
}

fn older_than_3_4(version: &str) -> bool {
    let mut numbers = version.split('.').map_while(|part| part.parse::<u32>().ok());
    let (major, minor) = (numbers.next(), numbers.next().unwrap_or(0));
    major.is_some_and(|major| (major, minor) < (3, 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_read_by_name() {
        let page = "# HELP a b\na_total 1\na 8.589934592e+09\n";
        assert_eq!(metric(page, "a"), Some(8_589_934_592.0));
        assert_eq!(metric(page, "b"), None);
    }

    #[test]
    fn versions_are_compared_by_number() {
        for (version, older) in [("3.3.27", true), ("3.4.0", false), ("3.10.1", false), ("", false)]
        {
            assert_eq!(older_than_3_4(version), older, "{version}");
        }
    }
}
