//! TLS, Sentinel and Cluster: `cargo test -p tidelock-redis --all-features --test flavours`.

#![cfg(all(feature = "tls", feature = "sentinel", feature = "cluster"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use jiff::Timestamp;
use tidelock::{
    AcquireRequest, Acquisition, Backend, BackendError, ErrorKind, Fingerprint, Holder, JobId,
    LockKey, NodeId, Occurrence, Record, RecordQuery, RecordStore, RunId, RunState,
};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};
use tokio::time::{Instant, sleep};

fn ask(number: u128) -> AcquireRequest {
    let node = NodeId::new("node").unwrap();
    AcquireRequest::new(
        LockKey::of(&JobId::new("job {1}:x").unwrap()),
        Holder::new(&node, number),
        RunId::new(number),
        node,
        Occurrence::from_millisecond(i64::try_from(number).unwrap() * 1_000),
        Fingerprint::new(1),
        Duration::from_secs(30),
    )
}

fn record(request: &AcquireRequest, state: RunState) -> Record {
    let (job, node) = (request.key.job().clone(), request.node.clone());
    Record::new(request.run_id, job, node, state, Timestamp::UNIX_EPOCH)
}

async fn begin(backend: &RedisBackend, number: u128) -> Result<Acquisition, BackendError> {
    let request = ask(number);
    let running = record(&request, RunState::Running);
    Ok(backend.begin(&request, &running).await?.value.acquisition)
}

/// A whole run, and its record.
async fn assert_runs(backend: &RedisBackend, number: u128) {
    let Acquisition::Granted(grant) = begin(backend, number).await.unwrap() else {
        panic!("not granted");
    };
    let done = record(&ask(number), RunState::Succeeded);
    let finished = backend.finish(&grant.lease, &done).await.unwrap().value;
    assert!(finished.unsaved.is_none(), "{:?}", finished.unsaved);
    let query = RecordQuery::newest(done.job.clone(), 1);
    let newest = backend.list(&query).await.unwrap();
    assert_eq!((newest[0].run_id, newest[0].state), (done.run_id, done.state));
}

async fn say(url: &str, words: &str) -> redis::RedisResult<redis::Value> {
    let client = redis::Client::open(url)?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    let mut words = words.split(' ');
    let mut command = redis::cmd(words.next().unwrap());
    words.for_each(|word| {
        command.arg(word);
    });
    command.query_async(&mut connection).await
}

/// Certificates of an authority, of a server and of a client, in a folder of their own.
struct Certificates(PathBuf);

impl Certificates {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(namespace());
        std::fs::create_dir_all(&folder).unwrap();
        let made = Self(folder);
        made.openssl("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.crt");
        std::fs::write(made.path("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n").unwrap();
        for name in ["server", "client"] {
            made.openssl(&format!(
                "req -newkey rsa:2048 -nodes -subj /CN={name} -keyout {name}.key -out {name}.csr"
            ));
            made.openssl(&format!(
                "x509 -req -days 2 -in {name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial \
                 -extfile names -out {name}.crt"
            ));
        }
        made
    }

    fn openssl(&self, words: &str) {
        let made = Command::new("openssl")
            .args(words.split_whitespace())
            .current_dir(&self.0)
            .output()
            .expect("the program openssl, to make certificates for this test");
        assert!(made.status.success(), "{words}: {made:?}");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn text(path: &Path) -> &str {
        path.to_str().unwrap()
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn tls_with_an_authority_and_a_client_certificate() {
    let made = Certificates::new();
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let settings = RedisSettings::new()
        .with("tls-port", &port.to_string())
        .with("tls-cert-file", Certificates::text(&made.path("server.crt")))
        .with("tls-key-file", Certificates::text(&made.path("server.key")))
        .with("tls-ca-cert-file", Certificates::text(&made.path("ca.crt")));
    let server = RedisServer::start(settings);
    let url = format!("rediss://127.0.0.1:{port}");
    let fresh = || RedisBackend::builder(namespace());
    let backend = fresh()
        .ca_certificate(made.read("ca.crt"))
        .client_certificate(made.read("client.crt"), made.read("client.key"))
        .connect(&url)
        .await
        .unwrap();
    assert_runs(&backend, 1).await;
    assert!(!format!("{backend:?}").contains("KEY"));

    // A server that nobody vouches for, a client without a certificate, and a port without TLS.
    let asked = Instant::now();
    let unknown = fresh().connect(&url).await.unwrap_err();
    assert_eq!(unknown.kind, ErrorKind::Misconfigured, "{unknown:?}");
    let nobody = fresh().ca_certificate(made.read("ca.crt"));
    assert!(nobody.connect(&url).await.is_err());
    let plain = server.url().replace("redis://", "rediss://");
    let plain = fresh().ca_certificate(made.read("ca.crt")).connect(&plain).await;
    assert!(plain.is_err());
    assert!(asked.elapsed() < Duration::from_secs(6), "{:?}", asked.elapsed());
}

#[tokio::test]
async fn a_cluster_keeps_the_keys_of_a_job_together() {
    let settings = RedisSettings::new().with("cluster-enabled", "yes");
    let server = RedisServer::start(settings);
    let url = server.url();
    // Redis 6.2 takes no ranges.
    let slots: Vec<String> = (0..16_384).map(|slot| slot.to_string()).collect();
    say(&url, &format!("CLUSTER ADDSLOTS {}", slots.join(" "))).await.unwrap();
    let begun = Instant::now();
    loop {
        let info = say(&url, "CLUSTER INFO").await.unwrap();
        let info: String = redis::from_redis_value(info).unwrap();
        if info.contains("cluster_state:ok") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{info}");
        sleep(Duration::from_millis(50)).await;
    }
    let backend = RedisBackend::builder(namespace());
    let backend = backend.connect_cluster([url.clone()]).await.unwrap();
    assert_runs(&backend, 1).await;
    say(&url, "SCRIPT FLUSH").await.unwrap();
    assert_runs(&backend, 2).await;
    // Keys in different places would be refused: the one address of a member serves as well.
    let direct = RedisBackend::builder(namespace());
    assert_runs(&direct.connect(&url).await.unwrap(), 3).await;
}

#[tokio::test]
async fn sentinels_lead_to_the_primary_and_to_its_successor() {
    let primary = RedisServer::start(RedisSettings::new());
    let port = primary.address().port().to_string();
    let settings = RedisSettings::new().with("replicaof", &format!("127.0.0.1 {port}"));
    let _replica = RedisServer::start(settings);
    let sentinel = RedisServer::start(RedisSettings::new().sentinel(&format!(
        "sentinel monitor main 127.0.0.1 {port} 1\n\
         sentinel down-after-milliseconds main 1000\n\
         sentinel failover-timeout main 4000\n"
    )));
    let backend = RedisBackend::builder(namespace())
        .connect_sentinel([sentinel.url()], "redis://main/0")
        .await
        .unwrap();
    assert_runs(&backend, 1).await;
    // The Sentinel has to find the replica before it can make it the successor.
    sleep(Duration::from_secs(12)).await;
    primary.kill();
    let died = Instant::now();
    while let Err(error) = begin(&backend, 2).await {
        assert!(error.is_retryable(), "{error:?}");
        assert!(died.elapsed() < Duration::from_secs(60), "{error:?}");
        sleep(Duration::from_millis(100)).await;
    }
    assert!(matches!(begin(&backend, 1).await.unwrap(), Acquisition::AlreadyTaken(_)));
}
