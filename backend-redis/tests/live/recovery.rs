//! What passes, and leaves nothing broken behind.

use std::time::Duration;

use tidelock::{Acquisition, ErrorKind, LockBackend};
use tidelock_tests::servers::{RedisServer, RedisSettings};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::bench::{admin, ask, at, begin, fresh, granted, ms, say};

#[tokio::test]
async fn a_password_that_was_wrong_for_a_while_is_taken_again() {
    let server = RedisServer::start(RedisSettings::new());
    let mut admin = admin(&server.url()).await;
    say(&mut admin, "ACL SETUSER node on >right ~* +@all").await;
    let url = server.url().replace("redis://", "redis://node:right@");
    let backend = fresh().connect(&url).await.unwrap();
    say(&mut admin, "ACL SETUSER node resetpass >other").await;
    say(&mut admin, "CLIENT KILL USER node").await;
    for _ in 0..3 {
        let error = begin(&backend, &ask("job", 1)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Denied, "{error:?}");
    }
    say(&mut admin, "ACL SETUSER node resetpass >right").await;
    granted(&backend, &ask("job", 1)).await;
}

#[tokio::test]
async fn a_server_that_had_too_many_clients_is_asked_again() {
    let server = RedisServer::start(RedisSettings::new());
    let mut admin = admin(&server.url()).await;
    let backend = at(&server.url());
    say(&mut admin, "CONFIG SET maxclients 1").await;
    for _ in 0..3 {
        let error = begin(&backend, &ask("job", 1)).await.unwrap_err();
        assert!(error.is_retryable(), "{error:?} {:?}", std::error::Error::source(&error));
    }
    say(&mut admin, "CONFIG SET maxclients 100").await;
    granted(&backend, &ask("job", 1)).await;
}

#[tokio::test]
async fn a_database_that_there_is_not_is_misconfigured() {
    let server = RedisServer::start(RedisSettings::new().with("databases", "4"));
    let url = format!("{}/4", server.url());
    let error = fresh().connect(&url).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Misconfigured, "{error:?}");
    let backend = fresh().connect(&format!("{}/3", server.url())).await.unwrap();
    granted(&backend, &ask("job", 1)).await;
    let mut admin = admin(&server.url()).await;
    say(&mut admin, "SELECT 3").await;
    let keys: i64 = redis::from_redis_value(say(&mut admin, "DBSIZE").await).unwrap();
    assert!(keys > 0);
}

#[tokio::test]
async fn a_script_that_may_not_write_is_denied() {
    let server = RedisServer::start(RedisSettings::new());
    let mut admin = admin(&server.url()).await;
    for (user, rules) in [
        ("reader", "~* +@all -@write"),
        ("elsewhere", "~other:* +@all"),
        ("partly", "~* +@all -hset"),
        ("norenew", "~* +@all -pexpire"),
    ] {
        say(&mut admin, &format!("ACL SETUSER {user} on >pw {rules}")).await;
        let url = server.url().replace("redis://", &format!("redis://{user}:pw@"));
        let error = begin(&at(&url), &ask("job", 1)).await.unwrap_err();
        assert_eq!(
            error.kind,
            ErrorKind::Denied,
            "{user}: {error:?} {:?}",
            std::error::Error::source(&error)
        );
    }
}

/// A runtime that ends takes its connections' tasks along; a backend may outlive it.
#[test]
fn a_backend_outlives_the_runtime_that_connected_it() {
    let server = RedisServer::start(RedisSettings::new());
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    };
    let first = runtime();
    let backend = first.block_on(async { fresh().connect(&server.url()).await.unwrap() });
    drop(first);
    let second = runtime();
    second.block_on(async {
        granted(&backend, &ask("job", 1)).await;
    });
    // Both at once, and the one that has the connection goes.
    let third = runtime();
    third.block_on(async { granted(&backend, &ask("job-2", 1)).await });
    drop(second);
    third.block_on(async { granted(&backend, &ask("job-3", 1)).await });
}

#[tokio::test]
async fn times_without_end_are_no_panic() {
    let server = RedisServer::start(RedisSettings::new());
    let backend = fresh()
        .operation_timeout(Duration::MAX)
        .connect_timeout(Duration::MAX)
        .max_age(Duration::MAX)
        .connect(&server.url())
        .await
        .unwrap();
    let mut request = ask("job", 1);
    request.ttl = Duration::MAX;
    request.max_ahead = Duration::MAX;
    let grant = granted(&backend, &request).await;
    let _ = backend.renew(&grant.lease, Duration::MAX).await.unwrap();
    let replicated = fresh()
        .operation_timeout(Duration::MAX)
        .wait_replicas(0, Duration::MAX)
        .connect(&server.url())
        .await
        .unwrap();
    granted(&replicated, &ask("job", 1)).await;
}

/// Each call is dropped at another moment; none gets another's answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_dropped_in_the_middle_mix_up_no_answers() {
    let server = RedisServer::start(RedisSettings::new());
    let backend = at(&server.url());
    for round in 0..300_u64 {
        let request = ask(&format!("dropped-{round}"), 1);
        let call = begin(&backend, &request);
        let _ = tokio::time::timeout(Duration::from_micros(round * 3), call).await;
        let name = format!("kept-{round}");
        let request = ask(&name, 1);
        let grant = granted(&backend, &request).await;
        assert_eq!(grant.lease.run_id, request.run_id);
        let state = backend.inspect(&request.key).await.unwrap().value;
        assert_eq!(state.held.unwrap().run_id, request.run_id);
    }
}

#[tokio::test]
async fn scripts_forgotten_over_and_over_cost_no_call() {
    let server = RedisServer::start(RedisSettings::new());
    let mut admin = admin(&server.url()).await;
    let backend = at(&server.url());
    let forgetting = async {
        for _ in 0..2_000 {
            say(&mut admin, "SCRIPT FLUSH").await;
        }
    };
    let asking = async {
        for second in 1.. {
            let answer = begin(&backend, &ask("job", second)).await.unwrap();
            assert!(matches!(answer, Acquisition::Granted(_) | Acquisition::Held(_)), "{answer:?}");
        }
    };
    tokio::select! {
        () = forgetting => {}
        () = asking => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_calls_at_once_are_all_answered() {
    let server = RedisServer::start(RedisSettings::new());
    let backend = fresh().operation_timeout(ms(10_000)).connect(&server.url()).await.unwrap();
    let mut calls = JoinSet::new();
    for number in 0..5_000 {
        let (backend, request) = (backend.clone(), ask(&format!("job-{}", number % 50), 1));
        calls.spawn(async move { begin(&backend, &request).await.unwrap() });
    }
    let answers = calls.join_all().await;
    let grants = answers.iter().filter(|answer| matches!(answer, Acquisition::Granted(_))).count();
    assert_eq!(grants, 50);
}

#[tokio::test]
async fn a_paused_server_holds_no_call_and_is_used_again_at_once() {
    let server = RedisServer::start(RedisSettings::new());
    let mut admin = admin(&server.url()).await;
    let backend = fresh().operation_timeout(ms(300)).connect(&server.url()).await.unwrap();
    say(&mut admin, "CLIENT PAUSE 1000 ALL").await;
    let asked = Instant::now();
    let error = begin(&backend, &ask("job", 1)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(asked.elapsed() < ms(900));
    sleep(ms(1_000)).await;
    let answer = begin(&backend, &ask("job", 1)).await.unwrap();
    assert!(matches!(answer, Acquisition::AlreadyTaken(_) | Acquisition::Granted(_)), "{answer:?}");
}

/// The driver keeps an error of choosing the database without its code.
#[tokio::test]
async fn a_busy_server_is_waited_for_when_a_connection_comes_up_too() {
    let server = RedisServer::start(RedisSettings::new().with("lua-time-limit", "50"));
    let url = format!("{}/1", server.url());
    let backend = fresh().operation_timeout(ms(10_000)).connect_lazy(&url).unwrap();
    let mut admin = admin(&server.url()).await;
    let mut other = crate::bench::admin(&server.url()).await;
    let spinning = async {
        let mut endless = redis::cmd("EVAL");
        endless.arg("while true do end").arg(0);
        let _: redis::RedisResult<()> = endless.query_async(&mut other).await;
    };
    let asking = async {
        sleep(ms(150)).await;
        granted(&backend, &ask("job", 1)).await
    };
    let killing = async {
        sleep(ms(500)).await;
        say(&mut admin, "SCRIPT KILL").await
    };
    let _ = tokio::join!(spinning, asking, killing);
}
