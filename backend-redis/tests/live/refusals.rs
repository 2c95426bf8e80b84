//! A server that refuses: wrong users, wrong types, a script that takes long.

use tidelock::{Acquisition, Backend, ErrorKind, Release, RunState};
use tidelock_redis::RedisBackend;
use tidelock_tests::live::words;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};
use tokio::time::Instant;

use crate::bench::{admin, ask, at, begin, finish, fresh, granted, held, ms, record, say};

#[tokio::test]
async fn a_wrong_password_is_denied_at_once_and_never_shown() {
    let server = RedisServer::start(RedisSettings::new().with("requirepass", "right"));
    let url = server.url().replace("redis://", "redis://:s3cret@");
    let asked = Instant::now();
    let error = fresh().connect(&url).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied, "{error:?}");
    assert!(!error.is_retryable() && asked.elapsed() < ms(1_000));
    assert!(!words(&error).contains("s3cret"), "{}", words(&error));
    let missing = fresh().connect(&server.url()).await.unwrap_err();
    assert_eq!(missing.kind, ErrorKind::Denied, "{missing:?}");

    let right = server.url().replace("redis://", "redis://:right@");
    let backend = fresh().connect(&right).await.unwrap();
    assert!(!format!("{backend:?}").contains("right"), "{backend:?}");
    granted(&backend, &ask("job", 1)).await;
}

#[tokio::test]
async fn a_url_that_is_none_is_misconfigured_and_never_shown() {
    for url in ["s3cret", "http://u:s3cret@h", "redis://u:s3cret@h:x", ""] {
        let error = fresh().connect_lazy(url).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Misconfigured, "{url}");
        assert!(!words(&error).contains("s3cret"), "{}", words(&error));
    }
    let error = RedisBackend::connect("redis://127.0.0.1", "").await;
    assert_eq!(error.unwrap_err().kind, ErrorKind::Misconfigured);
}

#[tokio::test]
async fn a_user_without_permissions_is_denied_and_one_with_few_is_enough() {
    let server = RedisServer::start(RedisSettings::new());
    let mut admin = admin(&server.url()).await;
    say(&mut admin, "ACL SETUSER weak on >pw ~* +@connection +info").await;
    let url = server.url().replace("redis://", "redis://weak:pw@");
    let error = fresh().connect(&url).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied, "{error:?}");
    // What the crate's page says that a user needs.
    say(
        &mut admin,
        "ACL SETUSER node on >pw ~tidelock:* +@connection +info +eval +evalsha +script|load +time \
         +hget +hset +hsetnx +hmget +hgetall +hdel +pexpire +pttl +del +zadd +zrem +zrange \
         +zrangebyscore +zremrangebyscore +zremrangebyrank +zcard +zcount +zscore",
    )
    .await;
    let url = server.url().replace("redis://", "redis://node:pw@");
    let backend = fresh().connect(&url).await.unwrap();
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    let finished = finish(&backend, &request, &grant.lease).await.unwrap();
    assert!(finished.unsaved.is_none(), "{:?}", finished.unsaved);
}

#[tokio::test]
async fn a_lock_key_of_the_wrong_type_never_means_go_ahead() {
    let url = RedisServer::shared_here().url();
    let mut admin = admin(&url).await;
    for part in ["lock", "mark", "open"] {
        let name = namespace();
        let backend = RedisBackend::builder(&name).connect_lazy(&url).unwrap();
        let key = format!("tidelock:{{{name}:job}}:{part}");
        say(&mut admin, &format!("SET {key} x")).await;
        for _ in 0..2 {
            let error = begin(&backend, &ask("job", 1)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Malformed, "{part}: {error:?}");
        }
        // Nothing was written by half.
        let keys = say(&mut admin, &format!("KEYS tidelock:{{{name}:job}}:*")).await;
        let keys: Vec<String> = redis::from_redis_value(keys).unwrap();
        assert_eq!(keys, [key]);
    }
}

#[tokio::test]
async fn marks_and_locks_that_make_no_sense_are_errors() {
    let url = RedisServer::shared_here().url();
    let mut admin = admin(&url).await;
    for (part, fields) in [
        ("lock", "somebody else"),
        ("mark", "tick soon"),
        ("mark", "tick 00176725x000000 schedule 1 holder a how granted"),
        ("mark", "token 12"),
        ("mark", "token 9999999999999999"),
    ] {
        let name = namespace();
        let backend = RedisBackend::builder(&name).connect_lazy(&url).unwrap();
        say(&mut admin, &format!("HSET tidelock:{{{name}:job}}:{part} {fields}")).await;
        let error = begin(&backend, &ask("job", 1)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Malformed, "{fields}: {error:?}");
    }
}

#[tokio::test]
async fn records_that_are_refused_leave_grant_and_release_as_they_are() {
    let url = RedisServer::shared_here().url();
    let mut admin = admin(&url).await;
    for part in ["running", "runs", "records"] {
        let name = namespace();
        let backend = RedisBackend::builder(&name).connect_lazy(&url).unwrap();
        let key = format!("tidelock:{{{name}:job}}:{part}");
        say(&mut admin, &format!("SET {key} x")).await;
        let request = ask("job", 1);
        let running = record(&request, RunState::Running);
        let begun = backend.begin(&request, &running).await.unwrap().value;
        let Acquisition::Granted(grant) = begun.acquisition else {
            panic!("not granted");
        };
        let finished = finish(&backend, &request, &grant.lease).await.unwrap();
        assert_eq!(finished.release, Release::Released);
        assert!(!held(&backend).await);
        let unsaved = finished.unsaved.or(begun.unsaved);
        assert_eq!(unsaved.unwrap().kind, ErrorKind::Malformed, "{part}");
    }
}

#[tokio::test]
async fn a_server_busy_with_a_script_is_waited_for() {
    let server = RedisServer::start(RedisSettings::new().with("lua-time-limit", "50"));
    let backend = fresh().operation_timeout(ms(10_000)).connect(&server.url()).await.unwrap();
    let mut admin = admin(&server.url()).await;
    let url = server.url();
    let spinning = async {
        let mut other = crate::bench::admin(&url).await;
        let endless: Result<(), _> =
            redis::cmd("EVAL").arg("while true do end").arg(0).query_async(&mut other).await;
        endless
    };
    let asking = async {
        tokio::time::sleep(ms(150)).await;
        granted(&backend, &ask("job", 1)).await
    };
    let killing = async {
        tokio::time::sleep(ms(500)).await;
        say(&mut admin, "SCRIPT KILL").await
    };
    let (_, grant, _) = tokio::join!(spinning, asking, killing);
    assert_eq!(grant.previous, None);
    let quick = at(&server.url());
    granted(&quick, &ask("job", 1)).await;
}
