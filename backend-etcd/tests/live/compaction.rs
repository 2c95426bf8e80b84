//! A store that forgets its past every few ticks.

use tidelock::RunState;
use tidelock_tests::servers::{EtcdServer, EtcdSettings, json_text};
use tokio::time::sleep;

use crate::bench::{
    PATIENCE, Seen, ask, assert_taken, at, finish, granted, history, ms, shut_down, two_nodes,
};

/// Forgets all revisions but the last.
fn compact(server: &EtcdServer) {
    let status = server.post("kv/range", r#"{"key":"AA==","count_only":true}"#);
    let revision = json_text(&status, "revision").unwrap();
    // Something new, since what is forgotten already cannot be forgotten again.
    server.post("kv/put", r#"{"key":"AA=="}"#);
    server.post("kv/compaction", &format!(r#"{{"revision":"{revision}","physical":true}}"#));
}

#[tokio::test]
async fn compaction_every_few_ticks_is_not_noticed() {
    let server = EtcdServer::start(EtcdSettings::new());
    let seen = Seen::default();
    let (backend, nodes) = two_nodes(&server.endpoints(), || {
        vec![
            seen.job("job", "* * * * * *", ms(3_000), ms(1_500)),
            seen.job("quick", "* * * * * *", ms(3_000), ms(20)),
        ]
    })
    .await;
    for _ in 0..6 {
        seen.next("quick", 1, PATIENCE).await;
        compact(&server);
        sleep(ms(300)).await;
        compact(&server);
    }
    shut_down(nodes).await;
    seen.assert_once_and_apart();
    for name in ["job", "quick"] {
        let states = seen.states(&backend, name).await;
        assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
    }
    let ticks: Vec<_> =
        seen.of("quick").iter().map(|ran| ran.tick.unwrap().as_millisecond()).collect();
    assert!(ticks.windows(2).all(|two| two[1] - two[0] == 1_000), "{ticks:?}");
}

#[tokio::test]
async fn a_grant_is_the_same_again_after_its_past_was_forgotten() {
    let server = EtcdServer::start(EtcdSettings::new());
    let backend = at(&server.endpoints());
    let first = ask("job", 1);
    let grant = granted(&backend, &first).await;
    finish(&backend, &first, &grant.lease).await.unwrap();
    let second = ask("job", 2);
    let grant = granted(&backend, &second).await;
    compact(&server);
    // Of a node that has forgotten, too.
    let again = granted(&backend, &second).await;
    assert_eq!(again.lease, grant.lease);
    assert_eq!(again.previous, grant.previous);
    compact(&server);
    finish(&backend, &second, &grant.lease).await.unwrap();
    compact(&server);
    assert_taken(&backend, 2).await;
    assert_eq!(history(&backend).await.len(), 2);
}
