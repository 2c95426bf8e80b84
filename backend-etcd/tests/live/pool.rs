//! The pool of leases.

use std::time::Duration;

use tidelock::{Acquisition, LockBackend, Renewal};
use tidelock_etcd::EtcdBackend;
use tidelock_tests::servers::{EtcdServer, EtcdSettings, Proxy};
use tokio::time::sleep;

use crate::bench::{ask, at, begin, finish, granted, ms, until_told};
use crate::counting::{Received, leases};
use crate::leases::revoke_all;

/// Fills the pool with as many leases.
async fn lend(backend: &EtcdBackend, count: usize) {
    let mut lent = Vec::new();
    for number in 0..count {
        let request = ask(&format!("job-{number}"), 1);
        let grant = granted(backend, &request).await;
        lent.push((request, grant));
    }
    for (request, grant) in lent {
        finish(backend, &request, &grant.lease).await.unwrap();
    }
}

/// As after a suspend, or in a store that was set back.
#[tokio::test]
async fn a_pool_whose_leases_have_all_gone_delays_no_tick() {
    let server = EtcdServer::start(EtcdSettings::new());
    let backend = at(&server.endpoints());
    lend(&backend, 10).await;
    assert_eq!(leases(&server), 10);
    revoke_all(&server);
    granted(&backend, &ask("job", 1)).await;
    granted(&backend, &ask("other", 1)).await;
}

/// A server gives a lease at least one and a half election timeouts.
#[tokio::test]
async fn leases_that_live_longer_than_asked_for_are_lent_again() {
    let slow = EtcdSettings::new().with("heartbeat-interval", "500");
    let server = EtcdServer::start(slow.with("election-timeout", "5000"));
    let backend = at(&server.endpoints());
    let mut received = Received::by(&server);
    for second in 0..5 {
        let mut request = ask("job", second);
        request.ttl = Duration::from_secs(3);
        let grant = granted(&backend, &request).await;
        let renewed = backend.renew(&grant.lease, request.ttl).await.unwrap().value;
        assert_eq!(renewed, Renewal::Renewed);
        finish(&backend, &request, &grant.lease).await.unwrap();
    }
    let taken = received.take();
    assert!(taken.contains(&("LeaseGrant", 1)), "{taken:?}");
    assert!(taken.contains(&("Txn", 10)), "{taken:?}");
    assert_eq!(leases(&server), 1);
}

/// One round trip stands between a tick and its handler, whatever the lease's age: the reply that is
/// lost is the only one that is waited for.
#[tokio::test]
async fn a_lease_that_has_aged_is_kept_alive_while_its_tick_is_asked_for() {
    let server = EtcdServer::start(EtcdSettings::new());
    let proxy = Proxy::to(server.address()).await;
    let backend = at(&[proxy.endpoint()]);
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    finish(&backend, &request, &grant.lease).await.unwrap();
    sleep(ms(1_600)).await; // more than a twentieth of 30 s
    let mut received = Received::by(&server);
    proxy.set(tidelock_tests::servers::Way::Slow(ms(100)));
    let request = ask("job", 2);
    let asked = begin(&backend, &request);
    tokio::pin!(asked);
    // Long enough for what was sent to arrive, and too short for any reply.
    tokio::select! {
        answer = &mut asked => panic!("answered by {answer:?}"),
        () = sleep(ms(150)) => {}
    }
    assert_eq!(received.take(), [("Txn", 1), ("LeaseKeepAlive", 1)]);
    let answer = asked.await.unwrap();
    assert!(matches!(answer, Acquisition::Granted(_)), "{answer:?}");
    assert_eq!(received.take(), [], "and not once more");
    // What was sent anew is fresh.
    finish(&backend, &request, &granted_lease(answer)).await.unwrap();
    let _ = received.take();
    granted(&backend, &ask("job", 3)).await;
    assert_eq!(received.take(), [("Txn", 1)]);
}

fn granted_lease(answer: Acquisition) -> tidelock::Lease {
    match answer {
        Acquisition::Granted(grant) => grant.lease,
        other => panic!("{other:?}"),
    }
}

/// Whichever of the two arrives later takes nothing: its lease is gone.
#[tokio::test]
async fn a_request_that_was_sent_twice_at_once_is_settled_whole() {
    let server = EtcdServer::start(EtcdSettings::new());
    let proxy = Proxy::to(server.address()).await;
    let backend = at(&[proxy.endpoint()]);
    lend(&backend, 2).await;
    let request = ask("job", 1);
    proxy.cut_replies(1);
    let (one, other) = tokio::join!(begin(&backend, &request), begin(&backend, &request));
    assert!(one.is_err() && other.is_err(), "one connection: {one:?} {other:?}");
    let answer = until_told(|| begin(&backend, &request)).await;
    finish(&backend, &request, &granted_lease(answer)).await.unwrap();
    assert_eq!(leases(&server), 1, "the one that the lock stood under");
}

/// A program may connect in a runtime of its start, and run in another.
#[test]
fn a_backend_outlives_the_runtime_that_it_was_made_in() {
    let server = EtcdServer::shared_here();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let backend = first.block_on(async {
        let backend = at(&server.endpoints());
        lend(&backend, 1).await;
        backend
    });
    drop(first);
    runtime().block_on(async {
        let request = ask("job", 1);
        let Acquisition::Granted(grant) = until_told(|| begin(&backend, &request)).await else {
            panic!("not granted");
        };
        finish(&backend, &request, &grant.lease).await.unwrap();
    });
}
