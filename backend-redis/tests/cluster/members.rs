//! Servers that are a Cluster.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};
use tokio::time::{Instant, sleep};

pub(crate) struct Members(pub(crate) Vec<RedisServer>);

async fn connection(server: &RedisServer) -> MultiplexedConnection {
    let client = redis::Client::open(server.url()).unwrap();
    // A busy machine is no failure.
    let patience = Some(std::time::Duration::from_secs(10));
    let patient = redis::AsyncConnectionConfig::new().set_response_timeout(patience);
    client.get_multiplexed_async_connection_with_config(&patient).await.unwrap()
}

pub(crate) async fn say(server: &RedisServer, words: &str) -> redis::RedisResult<redis::Value> {
    let mut words = words.split(' ');
    let mut command = redis::cmd(words.next().unwrap());
    words.for_each(|word| {
        command.arg(word);
    });
    command.query_async(&mut connection(server).await).await
}

pub(crate) async fn text(server: &RedisServer, words: &str) -> String {
    match say(server, words).await.unwrap() {
        redis::Value::BulkString(text) => String::from_utf8(text).unwrap(),
        other => format!("{other:?}"),
    }
}

pub(crate) async fn until(is_so: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < Duration::from_secs(30));
        sleep(Duration::from_millis(50)).await;
    }
}

impl Members {
    pub(crate) fn settings() -> RedisSettings {
        RedisSettings::new()
            .with("cluster-enabled", "yes")
            .with("cluster-require-full-coverage", "no")
            .with("cluster-node-timeout", "1500")
    }

    /// Three members with a third of the slots each.
    pub(crate) async fn start() -> Self {
        let settings = Self::settings();
        let members = Self((0..3).map(|_| RedisServer::start(settings.clone())).collect());
        for (number, server) in members.0.iter().enumerate() {
            let slots: Vec<_> = (0..16_384).filter(|slot| member_of(*slot) == number).collect();
            let slots: Vec<_> = slots.iter().map(usize::to_string).collect();
            say(server, &format!("CLUSTER SET-CONFIG-EPOCH {}", number + 1)).await.unwrap();
            say(server, &format!("CLUSTER ADDSLOTS {}", slots.join(" "))).await.unwrap();
            let port = members.0[0].address().port();
            say(server, &format!("CLUSTER MEET 127.0.0.1 {port}")).await.unwrap();
        }
        for server in &members.0 {
            until(async || {
                let info = text(server, "CLUSTER INFO").await;
                let known = ["cluster_state:ok", "cluster_slots_ok:16384", "cluster_size:3"];
                known.iter().all(|word| info.contains(word))
            })
            .await;
        }
        members
    }

    pub(crate) async fn connect(&self, name: &str) -> RedisBackend {
        let urls: Vec<_> = self.0.iter().map(RedisServer::url).collect();
        RedisBackend::builder(name).connect_cluster(urls).await.unwrap()
    }

    /// A job whose keys are at that member, and its slot.
    pub(crate) async fn job_at(&self, name: &str, member: usize) -> (String, usize) {
        for number in 0.. {
            let job = format!("job-{number}");
            let slot = self.slot(name, &job).await;
            if member_of(slot) == member {
                return (job, slot);
            }
        }
        unreachable!()
    }

    /// The namespace of a fleet whose first probe goes to that member, and whose second to another.
    pub(crate) async fn probing(&self, member: usize) -> String {
        loop {
            let name = namespace();
            let first = member_of(self.slot(&name, "preflight").await);
            if first == member && member_of(self.slot(&name, "preflight-1").await) != member {
                return name;
            }
        }
    }

    async fn slot(&self, name: &str, job: &str) -> usize {
        let command = format!("CLUSTER KEYSLOT tidelock:{{{name}:{job}}}:lock");
        redis::from_redis_value(say(&self.0[0], &command).await.unwrap()).unwrap()
    }
}

fn member_of(slot: usize) -> usize {
    slot * 3 / 16_384
}
