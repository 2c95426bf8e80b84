//! A cluster that has lost its majority, and gets it back.

use std::time::Duration;

use tidelock::{LockBackend, RunState};
use tidelock_tests::servers::{EtcdCluster, EtcdSettings};
use tokio::time::{Instant, sleep};

use crate::bench::{PATIENCE, Seen, TTL, ask, begin, granted, history, ms, shut_down, two_nodes};

#[tokio::test]
async fn without_a_majority_nothing_runs_and_with_it_all_goes_on() {
    let cluster = EtcdCluster::start(EtcdSettings::new());
    let seen = Seen::default();
    let ttl = Duration::from_secs(3);
    let (backend, nodes) = two_nodes(&cluster.endpoints(), || {
        vec![
            seen.job("job", "* * * * * *", ttl, Duration::from_secs(60)),
            seen.job("quick", "* * * * * *", ttl, ms(50)),
        ]
    })
    .await;
    seen.next("job", 1, PATIENCE).await;
    seen.next("quick", 1, PATIENCE).await;
    let (leader, lease) = (cluster.leader(), granted(&backend, &ask("another", 1)).await.lease);
    let lost = Instant::now();
    cluster.member(leader).kill();
    cluster.member((leader + 1) % 3).kill();

    // What was asked before may still have been answered.
    sleep(ms(500)).await;
    let ran = seen.of("quick").len();
    while lost.elapsed() < ms(4_000) {
        let asked = Instant::now();
        let error = begin(&backend, &ask("another", 2)).await.unwrap_err();
        assert!(error.is_retryable(), "{error:?}");
        assert!(asked.elapsed() < ms(2_500), "{:?}", asked.elapsed());
        let asked = Instant::now();
        assert!(backend.renew(&lease, TTL).await.unwrap_err().is_retryable());
        assert!(asked.elapsed() < ms(2_500), "{:?}", asked.elapsed());
    }
    assert_eq!(seen.of("quick").len(), ran, "granted by whom?");
    let dropped = seen.of("job")[0].ended.expect("dropped by the node's own clock");
    assert!(dropped - lost < ttl, "{:?}", dropped - lost);

    cluster.restart();
    seen.next("quick", 2, PATIENCE).await;
    seen.until("job", 2, PATIENCE).await;
    for node in nodes {
        let _ = node.shutdown(ms(100)).await;
    }
    seen.assert_once_and_apart();
    assert_eq!(seen.states(&backend, "job").await, [RunState::LockLost, RunState::Cancelled]);
    let states = seen.states(&backend, "quick").await;
    assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
}

#[tokio::test]
async fn a_cluster_that_was_off_as_a_whole_has_kept_everything() {
    let cluster = EtcdCluster::start(EtcdSettings::new());
    let seen = Seen::default();
    let (backend, nodes) = two_nodes(&cluster.endpoints(), || {
        vec![seen.job("job", "* * * * * *", Duration::from_secs(6), ms(300))]
    })
    .await;
    seen.next("job", 2, PATIENCE).await;
    (0..3).for_each(|number| cluster.member(number).kill());
    sleep(ms(1_000)).await;
    cluster.restart();
    seen.next("job", 2, PATIENCE).await;
    shut_down(nodes).await;
    seen.assert_once_and_apart();
    let states = seen.states(&backend, "job").await;
    assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
    assert!(history(&backend).await.len() >= seen.of("job").len());
}
