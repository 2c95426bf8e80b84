//! Connections that break, and answers that never come.

use std::time::Duration;

use tidelock::{
    Acquisition, Backend, Clear, ErrorKind, LockBackend, LockKey, RecordQuery, RecordStore,
    Release, Renewal, RunState,
};
use tidelock_tests::servers::{EtcdServer, Proxy, Way, namespace};
use tokio::time::{Instant, sleep};

use crate::bench::{
    PATIENCE, Seen, TTL, ask, assert_taken, at, begin, finish, fresh, granted, held, history, job,
    ms, named, node, record, shut_down, until_told,
};

/// Every operation once, each after something was done to its connection.
macro_rules! each_operation {
    ($backend:ident, $before:expr) => {{
        let (first, second) = (ask("job", 1), ask("job", 2));
        let key = LockKey::of(&job("job"));
        $before;
        let answer = until_told(|| $backend.acquire(&first)).await.value;
        let Acquisition::Granted(grant) = answer else {
            panic!("not granted: {answer:?}");
        };
        $before;
        let renewal = until_told(|| $backend.renew(&grant.lease, TTL)).await.value;
        assert_eq!(renewal, Renewal::Renewed);
        $before;
        let state = until_told(|| $backend.inspect(&key)).await.value;
        assert_eq!(state.token, Some(grant.lease.token));
        $before;
        let _ = until_told(|| $backend.release(&grant.lease)).await;
        assert!(!held(&$backend).await);
        $before;
        let running = record(&second, RunState::Running);
        let answer = until_told(|| $backend.begin(&second, &running)).await.value.acquisition;
        let Acquisition::Granted(grant) = answer else {
            panic!("not granted: {answer:?}");
        };
        $before;
        let finished = until_told(|| finish(&$backend, &second, &grant.lease)).await;
        assert!(finished.unsaved.is_none(), "{:?}", finished.unsaved);
        assert!(!held(&$backend).await);
        $before;
        let third = record(&ask("job", 3), RunState::Failed);
        until_told(|| $backend.save(&third)).await;
        $before;
        let query = RecordQuery::newest(job("job"), 10);
        let states: Vec<_> =
            until_told(|| $backend.list(&query)).await.iter().map(|r| r.state).collect();
        assert_eq!(states, [RunState::Failed, RunState::Succeeded]);
        $before;
        let freed = until_told(|| $backend.force_release(&key, Clear::Lock)).await;
        assert_eq!(freed.value, Release::NotHeld);
        assert_taken(&$backend, 2).await;
    }};
}

#[tokio::test]
async fn a_closed_connection_costs_no_operation() {
    let proxy = Proxy::to(EtcdServer::shared_here().address()).await;
    let backend = at(&[proxy.endpoint()]);
    granted(&backend, &ask("other", 1)).await;
    each_operation!(backend, proxy.close());
}

#[tokio::test]
async fn a_reply_that_is_cut_off_after_the_work_was_done_is_found_out_by_asking_again() {
    let proxy = Proxy::to(EtcdServer::shared_here().address()).await;
    let backend = at(&[proxy.endpoint()]);
    // So that the reply that is cut is the one to the transaction, and not that to a new lease.
    let (one, two) = (ask("other", 1), ask("another", 1));
    for request in [&one, &two] {
        let grant = granted(&backend, request).await;
        finish(&backend, request, &grant.lease).await.unwrap();
    }
    each_operation!(backend, {
        assert_eq!(proxy.still_to_cut(), 0);
        proxy.cut_replies(1);
    });
}

#[tokio::test]
async fn an_answer_that_was_lost_again_and_again_is_found_out_in_the_end() {
    let proxy = Proxy::to(EtcdServer::shared_here().address()).await;
    let backend = at(&[proxy.endpoint()]);
    for lost in 1..=6 {
        let request = ask("job", lost);
        proxy.cut_replies(usize::try_from(lost).unwrap());
        let running = record(&request, RunState::Running);
        let mut answer = backend.begin(&request, &running).await;
        for _ in 0..lost {
            if answer.is_err() {
                answer = backend.begin(&request, &running).await;
            }
        }
        proxy.cut_replies(0);
        let Acquisition::Granted(grant) = answer.unwrap().value.acquisition else {
            panic!("not granted");
        };
        assert_taken(&backend, lost).await;
        let finished = until_told(|| finish(&backend, &request, &grant.lease)).await;
        assert!(finished.unsaved.is_none());
    }
    let history = history(&backend).await;
    assert_eq!(history.len(), 6);
    assert!(history.iter().all(|r| r.state == RunState::Succeeded), "{history:#?}");
}

#[tokio::test]
async fn a_network_that_loses_replies_repeats_no_tick_and_loses_no_record() {
    let server = EtcdServer::shared_here();
    let (name, seen) = (namespace(), Seen::default());
    let (mut proxies, mut nodes) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let proxy = Proxy::to(server.address()).await;
        let jobs = [("job", 700), ("quick", 20)]
            .map(|(job, takes)| seen.job(job, "* * * * * *", Duration::from_secs(3), ms(takes)));
        nodes.push(node(named(&name, &[proxy.endpoint()]), jobs).await);
        proxies.push(proxy);
    }
    let mut cut = 0;
    for _ in 0..30 {
        sleep(ms(200)).await;
        for proxy in &proxies {
            cut += 1 - proxy.still_to_cut();
            proxy.cut_replies(1);
        }
    }
    proxies.iter().for_each(|proxy| proxy.cut_replies(0));
    seen.next("job", 1, PATIENCE).await;
    shut_down(nodes).await;
    seen.assert_once_and_apart();
    assert!(cut > 10, "only {cut} replies were cut");
    for job in ["job", "quick"] {
        let states = seen.states(&named(&name, &server.endpoints()), job).await;
        assert!(states.len() > 3, "{states:?}");
        assert!(states.iter().all(|state| *state == RunState::Succeeded), "{states:?}");
    }
}

#[tokio::test]
async fn a_silent_server_holds_no_call_past_its_deadline() {
    let proxy = Proxy::to(EtcdServer::shared_here().address()).await;
    let backend = fresh().operation_timeout(ms(300)).connect_lazy(&proxy.endpoint()).unwrap();
    let grant = granted(&backend, &ask("job", 1)).await;
    proxy.set(Way::Silent);
    for _ in 0..5 {
        let asked = Instant::now();
        let error = begin(&backend, &ask("job", 2)).await.unwrap_err();
        assert!(error.is_retryable(), "{error:?}");
        assert!(asked.elapsed() < ms(1_500), "{:?}", asked.elapsed());
    }
    let asked = Instant::now();
    let renewal = backend.renew(&grant.lease, TTL).await;
    assert_eq!(renewal.unwrap_err().kind, ErrorKind::Timeout);
    assert!(asked.elapsed() < ms(1_500), "{:?}", asked.elapsed());
    // The connection of then is dead for good: what was sent on it is lost. A new one is not.
    proxy.set(Way::Open);
    let next = ask("job", 2);
    let _ = until_told(|| begin(&backend, &next)).await;
}

#[tokio::test]
async fn a_server_that_never_answered_is_no_success() {
    let proxy = Proxy::to(EtcdServer::shared_here().address()).await;
    proxy.set(Way::Silent);
    let asked = Instant::now();
    let error = fresh().connect(&proxy.endpoint()).await.unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
}

#[tokio::test]
async fn nobody_listening_is_told_soon() {
    let asked = Instant::now();
    let error = fresh().connect("http://127.0.0.1:1").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
}
