//! What a connection to a Cluster outlives.

use std::time::Duration;

use tidelock::ErrorKind;
use tidelock_redis::RedisBackend;
use tidelock_tests::live::words;
use tidelock_tests::servers::namespace;
use tokio::time::{Instant, sleep};

use crate::members::{Members, say};
use crate::run;

/// The driver's task ends with the runtime that it was started on.
#[test]
fn a_backend_outlives_the_runtime_that_connected_it() {
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    };
    let first = runtime();
    let members = first.block_on(Members::start());
    let name = namespace();
    let backend = first.block_on(members.connect(&name));
    first.block_on(run(&backend, "job", 1)).unwrap();
    drop(first);
    runtime().block_on(async {
        let begun = Instant::now();
        while let Err(error) = run(&backend, "job", 2).await {
            assert!(error.is_retryable(), "{error:?}");
            assert!(begun.elapsed() < Duration::from_secs(3), "{error:?}");
            sleep(Duration::from_millis(20)).await;
        }
    });
}

#[tokio::test]
async fn a_password_that_was_wrong_for_a_while_is_taken_again() {
    let members = Members::start().await;
    for server in &members.0 {
        say(server, "ACL SETUSER node on >right ~* &* +@all").await.unwrap();
    }
    let urls = members.0.iter().map(|s| s.url().replace("redis://", "redis://node:right@"));
    let backend = RedisBackend::builder(namespace()).connect_cluster(urls).await.unwrap();
    run(&backend, "job", 1).await.unwrap();
    for server in &members.0 {
        say(server, "ACL SETUSER node resetpass >other").await.unwrap();
        say(server, "CLIENT KILL USER node").await.unwrap();
    }
    for _ in 0..4 {
        assert!(run(&backend, "job", 2).await.is_err());
    }
    let urls = members.0.iter().map(|s| s.url().replace("redis://", "redis://node:right@"));
    let refused = RedisBackend::builder(namespace()).connect_cluster(urls).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Denied, "{refused:?}");
    for server in &members.0 {
        say(server, "ACL SETUSER node resetpass >right").await.unwrap();
    }
    let begun = Instant::now();
    while let Err(error) = run(&backend, "job", 2).await {
        assert!(begun.elapsed() < Duration::from_secs(10), "{error:?}");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn addresses_that_are_none_are_misconfigured_and_never_shown() {
    let fresh = || RedisBackend::builder(namespace());
    let bad = ["redis://u:s3cret@h:x", "s3cret", "redis://u:s3cret@127.0.0.1:1"];
    for url in bad {
        let error =
            fresh().connect_cluster([url, "redis://u:s3cret@127.0.0.1:2"]).await.unwrap_err();
        assert!(!words(&error).contains("s3cret"), "{}", words(&error));
        if !url.ends_with(":1") {
            assert_eq!(error.kind, ErrorKind::Misconfigured, "{error:?}");
        }
    }
    let none: [String; 0] = [];
    let error = fresh().connect_cluster(none).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Misconfigured, "{error:?}");
    let passwords = ["redis://u:s3cret@127.0.0.1:1", "redis://u:other@127.0.0.1:2"];
    let error = fresh().connect_cluster(passwords).await.unwrap_err();
    assert!(!words(&error).contains("s3cret"), "{}", words(&error));
    #[cfg(feature = "sentinel")]
    for (sentinels, url) in [
        (vec!["redis://u:s3cret@h:x"], "redis://main"),
        (vec!["redis://u:s3cret@127.0.0.1:1"], "redis://main:s3cret@"),
        (vec!["redis://u:s3cret@127.0.0.1:1"], "redis://u:s3cret@main"),
        (vec![], "redis://u:s3cret@main"),
    ] {
        let error = fresh().connect_sentinel(sentinels, url).await.unwrap_err();
        assert!(!words(&error).contains("s3cret"), "{}", words(&error));
    }
}
