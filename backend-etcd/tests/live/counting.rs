//! What goes over the wire, counted by the server itself.

use std::sync::Arc;
use std::time::Duration;

use tidelock::{
    Acquisition, Job, LockBackend, RecordStore, Renewal, RunState, Scheduler, SkipReason,
};
use tidelock_etcd::EtcdBackend;
use tidelock_tests::servers::{EtcdServer, EtcdSettings, namespace};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::bench::{ask, begin, finish, granted, ms, named, record};

/// All that a backend may ask for.
const METHODS: [&str; 6] =
    ["Txn", "Range", "LeaseGrant", "LeaseKeepAlive", "LeaseRevoke", "LeaseTimeToLive"];

/// What a server has received since it was last asked.
pub(crate) struct Received<'a> {
    server: &'a EtcdServer,
    before: [u64; 6],
}

impl<'a> Received<'a> {
    pub(crate) fn by(server: &'a EtcdServer) -> Self {
        let mut received = Self { server, before: [0; 6] };
        received.take();
        received
    }

    /// The methods with what came since, those that nothing came for left out.
    pub(crate) fn take(&mut self) -> Vec<(&'static str, u64)> {
        let now = METHODS.map(|method| self.server.received(method));
        let since = METHODS.into_iter().zip(now.into_iter().zip(self.before));
        let taken = since.map(|(method, (now, before))| (method, now - before));
        self.before = now;
        taken.filter(|(_, count)| *count > 0).collect()
    }
}

pub(crate) fn leases(server: &EtcdServer) -> usize {
    server.post("lease/leases", "{}").matches("\"ID\"").count()
}

#[tokio::test]
async fn a_run_is_one_transaction_to_begin_and_one_to_finish_and_a_loser_one() {
    let server = EtcdServer::start(EtcdSettings::new());
    let name = namespace();
    let (a, b) = (named(&name, &server.endpoints()), named(&name, &server.endpoints()));
    let mut received = Received::by(&server);
    for second in 0..10 {
        // Long enough that no lease has aged, however slow the machine is.
        let mut request = ask("job", second);
        request.ttl = std::time::Duration::from_secs(600);
        let grant = granted(&a, &request).await;
        // The first of each node grants it its lease; all others borrow that.
        let lease = if second == 0 { vec![("LeaseGrant", 1)] } else { vec![] };
        assert_eq!(received.take(), [&[("Txn", 1)][..], &lease].concat());
        let mut late = ask("job", second);
        late.ttl = request.ttl;
        let lost = begin(&b, &late).await.unwrap();
        assert!(matches!(lost, Acquisition::AlreadyTaken(_)), "{lost:?}");
        assert_eq!(received.take(), [&[("Txn", 1)][..], &lease].concat());
        finish(&a, &request, &grant.lease).await.unwrap();
        assert_eq!(received.take(), [("Txn", 1)]);
    }
}

#[tokio::test]
async fn a_renewal_is_a_keep_alive_and_a_look_at_the_lock() {
    let server = EtcdServer::start(EtcdSettings::new());
    let backend = named(&namespace(), &server.endpoints());
    let mut received = Received::by(&server);
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    let _ = received.take();
    for _ in 0..3 {
        let renewed = backend.renew(&grant.lease, request.ttl).await.unwrap().value;
        assert_eq!(renewed, Renewal::Renewed);
        assert_eq!(received.take(), [("Range", 1), ("LeaseKeepAlive", 1)]);
    }
}

#[tokio::test]
async fn after_a_thousand_lost_races_there_is_one_lease() {
    let server = EtcdServer::start(EtcdSettings::new());
    let name = namespace();
    let winner = named(&name, &server.endpoints());
    let request = ask("job", 2_000);
    let grant = granted(&winner, &request).await;
    finish(&winner, &request, &grant.lease).await.unwrap();
    assert_eq!(leases(&server), 1);
    let loser = named(&name, &server.endpoints());
    let mut received = Received::by(&server);
    for second in 0..1_000 {
        let lost = begin(&loser, &ask("job", second)).await.unwrap();
        assert!(matches!(lost, Acquisition::AlreadyTaken(_)), "{lost:?}");
    }
    // However it is asked, the lease is kept alive when it has aged, and not each time.
    let mut taken = received.take();
    taken.retain(|(method, count)| *method != "LeaseKeepAlive" || *count > 100);
    assert_eq!(taken, [("Txn", 1_000), ("LeaseGrant", 1)]);
    assert_eq!(leases(&server), 2, "one of each node");
}

#[tokio::test]
async fn a_scheduler_sends_a_call_to_begin_one_each_renewal_and_one_to_finish() {
    let server = EtcdServer::start(EtcdSettings::new());
    let (started, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (start, end) = (started.clone(), ended.clone());
    let job = Job::new("job")
        .cron("*/4 * * * * *")
        .unwrap()
        .lock_ttl(ms(3_000)) // renewed each second
        .run(move |_| {
            let (start, end) = (start.clone(), end.clone());
            async move {
                start.notify_one();
                sleep(ms(2_500)).await;
                end.notify_one();
            }
        });
    let backend = EtcdBackend::builder(namespace());
    let backend = backend.connect(&server.endpoints().join(",")).await.unwrap();
    let mut received = Received::by(&server);
    let node = Scheduler::builder(backend).job(job).unwrap().start().await.unwrap();
    timeout(Duration::from_secs(20), started.notified()).await.unwrap();
    sleep(ms(100)).await;
    let began = received.take();
    assert_eq!(began, [("Txn", 2), ("LeaseGrant", 1)], "one look and one begin");
    timeout(Duration::from_secs(20), ended.notified()).await.unwrap();
    sleep(ms(300)).await;
    let ran = [("Txn", 1), ("Range", 2), ("LeaseKeepAlive", 2)];
    assert_eq!(received.take(), ran, "two renewals and the end");
    let _ = node.shutdown(ms(100)).await;
}

#[tokio::test]
async fn a_long_history_is_trimmed_without_a_call_of_its_own_each_run() {
    let server = EtcdServer::start(EtcdSettings::new());
    let backend = EtcdBackend::builder(namespace()).keep(50);
    let backend = backend.connect_lazy(&server.endpoints().join(",")).unwrap();
    let mut received = Received::by(&server);
    let (mut runs, mut calls) = (0, 0);
    for second in 0..200 {
        let request = ask("job", second);
        let grant = granted(&backend, &request).await;
        finish(&backend, &request, &grant.lease).await.unwrap();
        if second >= 100 {
            let sent = received.take().iter().map(|(_, count)| count).sum::<u64>();
            (runs, calls) = (runs + 1, calls + sent);
        } else {
            let _ = received.take();
        }
    }
    // A tenth over its limit, it takes two calls for six records.
    assert!(calls * 10 <= runs * 24, "{calls} calls for {runs} runs");
    let history = crate::bench::history(&backend).await;
    assert_eq!(history.len(), 50);
}

/// Such a record stands elsewhere before: that it came is not in the first count.
#[tokio::test]
async fn runs_that_turn_out_as_ticks_not_run_are_trimmed_as_others_are() {
    let server = EtcdServer::start(EtcdSettings::new());
    let backend = EtcdBackend::builder(namespace()).keep(5);
    let backend = backend.connect_lazy(&server.endpoints().join(",")).unwrap();
    for second in 0..8 {
        let request = ask("job", second);
        for state in [RunState::Running, RunState::Skipped(SkipReason::TooLate)] {
            backend.save(&record(&request, state)).await.unwrap();
        }
    }
    let all = server.post("kv/range", r#"{"key":"AA==","range_end":"AA=="}"#);
    assert_eq!(all.matches("\"key\"").count(), 5);
}

/// One round trip stands between a tick and its handler, also where a history is full at each run.
#[tokio::test]
async fn nothing_is_trimmed_between_a_grant_and_its_run() {
    let server = EtcdServer::start(EtcdSettings::new());
    let backend = EtcdBackend::builder(namespace()).keep(1);
    let backend = backend.connect_lazy(&server.endpoints().join(",")).unwrap();
    let mut received = Received::by(&server);
    for second in 0..5 {
        let mut request = ask("job", second);
        request.ttl = Duration::from_secs(600);
        let _ = received.take();
        let grant = granted(&backend, &request).await;
        let lease = if second == 0 { vec![("LeaseGrant", 1)] } else { vec![] };
        assert_eq!(received.take(), [&[("Txn", 1)][..], &lease].concat(), "{second}");
        finish(&backend, &request, &grant.lease).await.unwrap();
    }
    let _ = received.take();
    assert_eq!(crate::bench::history(&backend).await.len(), 1);
}
