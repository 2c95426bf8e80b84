//! Members of a cluster that are killed, frozen or no longer the leader, with a majority left.

use std::time::Duration;

use tidelock::{Acquisition, Job, RunState};
use tidelock_tests::servers::{EtcdCluster, EtcdSettings};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::bench::{PATIENCE, Seen, ask, begin, fresh, ms, shut_down, two_nodes, until_told};

/// Two jobs of each second: one whose runs take longer than what happens to the members, so that
/// it is renewed meanwhile, and one that is quick.
fn jobs(seen: &Seen) -> Vec<Job> {
    let (ttl, every) = (Duration::from_secs(6), "* * * * * *");
    vec![seen.job("job", every, ttl, ms(2_500)), seen.job("quick", every, ttl, ms(50))]
}

/// Lets two nodes run their jobs while `happens` to the cluster, and looks at what came of it.
async fn runs_go_on(happens: impl AsyncFnOnce(&EtcdCluster)) -> Seen {
    let cluster = EtcdCluster::start(EtcdSettings::new());
    let seen = Seen::default();
    let (backend, nodes) = two_nodes(&cluster.endpoints(), || jobs(&seen)).await;
    seen.next("quick", 1, PATIENCE).await;
    seen.next("job", 1, PATIENCE).await;
    happens(&cluster).await;
    seen.next("job", 1, PATIENCE).await;
    shut_down(nodes).await;
    seen.assert_once_and_apart();
    for name in ["job", "quick"] {
        let states = seen.states(&backend, name).await;
        assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
    }
    seen
}

/// How many seconds of the quick job's time went by without a run.
fn missing(seen: &Seen) -> i64 {
    let ticks: Vec<i64> = seen
        .of("quick")
        .iter()
        .filter_map(|ran| ran.tick)
        .map(|tick| tick.as_millisecond())
        .collect();
    let (first, last) = (ticks.iter().min().unwrap(), ticks.iter().max().unwrap());
    (last - first) / 1_000 + 1 - i64::try_from(ticks.len()).unwrap()
}

#[tokio::test]
async fn a_member_that_is_killed_costs_no_run_and_no_tick() {
    let seen = runs_go_on(async |cluster| {
        let follower = (cluster.leader() + 1) % 3;
        cluster.member(follower).kill();
        sleep(ms(2_000)).await;
        cluster.restart();
    });
    assert_eq!(missing(&seen.await), 0);
}

#[tokio::test]
async fn a_leader_that_is_killed_costs_no_run_and_few_ticks() {
    let seen = runs_go_on(async |cluster| {
        cluster.member(cluster.leader()).kill();
        sleep(ms(2_000)).await;
        cluster.restart();
    });
    // Until the others have elected one, nothing is granted.
    assert!(missing(&seen.await) <= 4);
}

#[tokio::test]
async fn a_leader_that_is_frozen_costs_no_run_and_few_ticks() {
    let seen = runs_go_on(async |cluster| {
        let leader = cluster.leader();
        cluster.member(leader).freeze();
        sleep(ms(3_000)).await;
        cluster.member(leader).thaw();
    });
    assert!(missing(&seen.await) <= 4);
}

#[tokio::test]
async fn a_leader_that_is_moved_again_and_again_costs_nothing() {
    let seen = runs_go_on(async |cluster| {
        for _ in 0..4 {
            cluster.move_leader((cluster.leader() + 1) % 3);
            sleep(ms(500)).await;
        }
    });
    assert_eq!(missing(&seen.await), 0);
}

/// With a password, a connection is a call itself, that a member may never answer.
#[tokio::test]
async fn a_member_that_hangs_keeps_no_user_from_the_others() {
    let cluster = EtcdCluster::start(EtcdSettings::new());
    let follower = (cluster.leader() + 1) % 3;
    cluster.member(cluster.leader()).enable_auth("right");
    sleep(ms(500)).await;
    cluster.member(follower).freeze();
    // Each begins with another member, by chance.
    for _ in 0..8 {
        let user = fresh().user("root", "right");
        let backend = user.connect_lazy(&cluster.endpoints().join(",")).unwrap();
        let request = ask("job", 1);
        let answer = until_told(|| begin(&backend, &request)).await;
        assert!(matches!(answer, Acquisition::Granted(_)), "{answer:?}");
    }
    cluster.member(follower).thaw();
}

/// As when a member fails under many runs: a password costs the server a slow hash.
#[tokio::test]
async fn many_calls_at_once_ask_for_one_token() {
    let server = tidelock_tests::servers::EtcdServer::start(EtcdSettings::new());
    server.enable_auth("right");
    let user = fresh().user("root", "right");
    let backend = user.connect_lazy(&server.endpoints().join(",")).unwrap();
    let requests: Vec<_> = (0..64).map(|n| ask(&format!("job-{n}"), 1)).collect();
    let mut asking = JoinSet::new();
    for request in requests {
        let backend = backend.clone();
        asking.spawn(async move { begin(&backend, &request).await });
    }
    for answer in asking.join_all().await {
        assert!(matches!(answer, Ok(Acquisition::Granted(_))), "{answer:?}");
    }
    assert_eq!(server.received("Authenticate"), 1);
}
