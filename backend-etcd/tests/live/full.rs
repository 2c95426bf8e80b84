//! A server whose space is used up (the alarm NOSPACE).

use std::time::Duration;

use tidelock::{Acquisition, ErrorKind, LockBackend, RecordStore, Release, Renewal, RunState};
use tidelock_tests::servers::{EtcdServer, EtcdSettings, json_text};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::bench::{
    PATIENCE, Seen, TTL, ask, at, begin, finish, granted, held, history, ms, record, two_nodes,
};

/// As when the quota is reached, and as when an operator has made room.
fn set_full(server: &EtcdServer, full: bool) {
    let action = if full { "ACTIVATE" } else { "DEACTIVATE" };
    let status = server.post("maintenance/status", "{}");
    let member = json_text(&status, "member_id").unwrap();
    let alarm = format!(r#"{{"action":"{action}","memberID":"{member}","alarm":"NOSPACE"}}"#);
    server.post("maintenance/alarm", &alarm);
}

#[tokio::test]
async fn a_full_server_grants_nothing_and_lets_runs_end() {
    let server = EtcdServer::start(EtcdSettings::new());
    let backend = at(&server.endpoints());
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    set_full(&server, true);
    for second in [1, 2] {
        let error = begin(&backend, &ask("other", second)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unavailable, "{error:?}");
    }
    let renewal = backend.renew(&grant.lease, TTL).await.unwrap().value;
    assert_eq!(renewal, Renewal::Renewed);
    let finished = finish(&backend, &request, &grant.lease).await.unwrap();
    assert_eq!(finished.release, Release::Released);
    assert!(!held(&backend).await);
    // The record may have found room or not.
    let unsaved = finished.unsaved.is_some();
    let done = record(&request, RunState::Succeeded);
    let saved = backend.save(&done).await;
    assert!(saved.is_ok() || saved.is_err_and(|error| error.is_retryable()));

    set_full(&server, false);
    if unsaved {
        backend.save(&done).await.unwrap();
    }
    assert_eq!(history(&backend).await[0].state, RunState::Succeeded);
    granted(&backend, &ask("other", 1)).await;
}

#[tokio::test]
async fn runs_that_end_while_the_server_is_full_have_their_records_later() {
    let server = EtcdServer::start(EtcdSettings::new());
    let seen = Seen::default();
    let ttl = Duration::from_secs(3);
    let (backend, nodes) = two_nodes(&server.endpoints(), || {
        vec![
            seen.job("job", "* * * * * *", ttl, ms(1_500)),
            seen.job("quick", "* * * * * *", ttl, ms(50)),
        ]
    })
    .await;
    seen.next("job", 1, PATIENCE).await;
    seen.next("quick", 1, PATIENCE).await;
    set_full(&server, true);
    sleep(ms(200)).await;
    let ran = seen.of("quick").len();
    sleep(ms(3_000)).await;
    assert_eq!(seen.of("quick").len(), ran, "granted on a full server");
    assert!(!held(&backend).await, "the lock is given back all the same");
    set_full(&server, false);
    seen.next("quick", 2, PATIENCE).await;
    seen.next("job", 1, PATIENCE).await;
    sleep(ms(500)).await;
    for node in nodes {
        let _ = node.shutdown(ms(5_000)).await;
    }
    seen.assert_once_and_apart();
    for name in ["job", "quick"] {
        let states = seen.states(&backend, name).await;
        assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
    }
}

/// What crosses the limit is applied, and answered as if it were not.
#[tokio::test]
async fn what_a_server_did_as_it_ran_out_of_space_is_found_out() {
    let server = EtcdServer::start(EtcdSettings::new().with("quota-backend-bytes", "600000"));
    let backend = at(&server.endpoints());
    let (mut refused, mut wave) = (Vec::new(), 0);
    while refused.is_empty() {
        wave += 1;
        let requests: Vec<_> = (0..64).map(|n| ask(&format!("job-{wave}-{n}"), 1)).collect();
        let mut asking = JoinSet::new();
        for request in requests {
            let backend = backend.clone();
            asking.spawn(async move {
                let answer = begin(&backend, &request).await;
                (request, answer)
            });
        }
        for (request, answer) in asking.join_all().await {
            if answer.is_err() {
                refused.push(request);
            }
        }
        assert!(wave < 200, "never full");
    }
    // Nothing is lent again that a lock may stand under.
    let pool = format!("{backend:?}");
    assert!(pool.contains("idle: 0"), "{pool}");
    for request in &refused {
        // (A server that is over its limit, and not just told so, may refuse transactions that read.)
        if backend.inspect(&request.key).await.is_ok_and(|state| state.value.held.is_some())
            && let Ok(answer) = begin(&backend, request).await
        {
            assert!(matches!(answer, Acquisition::Granted(_)), "{answer:?}");
        }
    }
}
