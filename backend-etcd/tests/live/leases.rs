//! Leases that end otherwise than their holder thinks.

use std::time::Duration;

use tidelock::{Acquisition, LockBackend, Release, Renewal, RunState};
use tidelock_tests::servers::{EtcdCluster, EtcdServer, EtcdSettings};
use tokio::time::{Instant, sleep};

use crate::bench::{
    PATIENCE, Seen, ask, assert_taken, at, begin, finish, granted, held, history, ms, named, node,
    two_nodes,
};
use tidelock_tests::servers::namespace;

/// The ids of all leases of a server.
fn leases(server: &EtcdServer) -> Vec<String> {
    let answer = server.post("lease/leases", "{}");
    let ids = answer.split("\"ID\":\"").skip(1);
    ids.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

pub(crate) fn revoke_all(server: &EtcdServer) {
    for id in leases(server) {
        server.post("lease/revoke", &format!(r#"{{"ID":"{id}"}}"#));
    }
}

/// Field report BR-054.
#[tokio::test]
async fn a_lease_revoked_by_hand_is_noticed_within_a_renewal_period() {
    let server = EtcdServer::start(EtcdSettings::new());
    let seen = Seen::default();
    let ttl = Duration::from_secs(6); // renewed each 2 s
    let (backend, nodes) = two_nodes(&server.endpoints(), || {
        vec![
            seen.job("job", "* * * * * *", ttl, Duration::from_secs(60)),
            seen.job("quick", "* * * * * *", ttl, ms(50)),
        ]
    })
    .await;
    let first = seen.next("job", 1, PATIENCE).await;
    sleep(ms(500)).await;
    revoke_all(&server);
    let revoked = Instant::now();
    let second = seen.next("job", 1, PATIENCE).await;
    let dropped = seen.of("job")[0].ended.unwrap_or(second.at);
    assert!(dropped - revoked < ms(2_500), "{:?}", dropped - revoked);
    assert_ne!(first.tick, second.tick);
    seen.next("quick", 2, PATIENCE).await;
    for node in nodes {
        let _ = node.shutdown(ms(100)).await;
    }
    let states = seen.states(&backend, "job").await;
    // Whoever came next found the first run open and closed it; its own word stands all the same.
    assert_eq!(states, [RunState::LockLost, RunState::Cancelled]);
    let states = seen.states(&backend, "quick").await;
    assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
}

#[tokio::test]
async fn who_lost_his_lease_renews_and_releases_nothing_of_the_next() {
    let server = EtcdServer::start(EtcdSettings::new());
    let (one, other) = {
        let name = namespace();
        (named(&name, &server.endpoints()), named(&name, &server.endpoints()))
    };
    let (first, second) = (ask("job", 1), ask("job", 2));
    let lost = granted(&one, &first).await;
    revoke_all(&server);
    let next = granted(&other, &second).await;
    assert!(next.lease.token > lost.lease.token);
    assert_eq!(next.abandoned.len(), 1, "{next:?}");
    assert_eq!(one.renew(&lost.lease, ms(30_000)).await.unwrap().value, Renewal::Lost);
    let finished = finish(&one, &first, &lost.lease).await.unwrap();
    assert_eq!(finished.release, Release::NotHeld);
    assert_eq!(other.renew(&next.lease, ms(30_000)).await.unwrap().value, Renewal::Renewed);
    assert!(held(&other).await);
    assert_eq!(finish(&other, &second, &next.lease).await.unwrap().release, Release::Released);
    assert_taken(&one, 1).await;
}

#[tokio::test]
async fn leases_of_the_pool_that_are_revoked_cost_no_tick() {
    let server = EtcdServer::start(EtcdSettings::new());
    let backend = at(&server.endpoints());
    for second in 1..=3 {
        let request = ask("job", second);
        let grant = granted(&backend, &request).await;
        let finished = finish(&backend, &request, &grant.lease).await.unwrap();
        assert_eq!(finished.release, Release::Released);
        revoke_all(&server);
    }
    assert_eq!(history(&backend).await.len(), 3);
}

/// Field report BR-054: a new leader gives every lease its whole time anew.
#[tokio::test]
async fn a_dead_holders_lock_ends_within_two_ttls_whatever_the_leader_does() {
    let cluster = EtcdCluster::start(EtcdSettings::new());
    let backend = at(&cluster.endpoints());
    let mut request = ask("job", 1);
    request.ttl = Duration::from_secs(3);
    granted(&backend, &request).await;
    let held_since = Instant::now();
    sleep(ms(2_000)).await;
    cluster.member(cluster.leader()).kill();
    let mut second = 1;
    let taken_over = loop {
        second += 1;
        match begin(&backend, &ask("job", second)).await {
            Ok(Acquisition::Granted(_)) => break held_since.elapsed(),
            Ok(Acquisition::Held(_)) => {}
            Err(error) if error.is_retryable() => {}
            other => panic!("{other:?}"),
        }
        assert!(held_since.elapsed() < PATIENCE, "held for ever");
        sleep(ms(100)).await;
    };
    assert!(taken_over >= ms(2_900), "{taken_over:?}");
    // The time to elect a leader, and etcd's own slack.
    assert!(taken_over < ms(6_000 + 3_500), "{taken_over:?}");
}

#[tokio::test]
async fn a_node_that_lost_its_lease_while_nothing_was_due_runs_the_next_tick() {
    let server = EtcdServer::start(EtcdSettings::new());
    let seen = Seen::default();
    let jobs = [seen.job("job", "*/2 * * * * *", ms(3_000), ms(50))];
    let name = namespace();
    let node = node(named(&name, &server.endpoints()), jobs).await;
    for _ in 0..3 {
        seen.next("job", 1, ms(4_500)).await;
        sleep(ms(300)).await;
        revoke_all(&server);
    }
    crate::bench::shut_down([node]).await;
    seen.assert_once_and_apart();
    let states = seen.states(&named(&name, &server.endpoints()), "job").await;
    assert_eq!(states, [RunState::Succeeded; 3]);
}
