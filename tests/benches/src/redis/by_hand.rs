//! A peer: the lock of `rslock`, and by hand what it has not: a tick that runs once, and records.
//! Five steps: lock, move the mark, record that it runs, record how it ended, unlock.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use rslock::LockManager;

use super::server::connect;
use crate::load::{Runs, Ticks, now};

const MOVE: &str = r"
local tick = redis.call('HGET', KEYS[1], 'tick')
if tick and tick >= ARGV[1] then return false end
redis.call('HSET', KEYS[1], 'tick', ARGV[1], 'run', ARGV[2])
return redis.call('HINCRBY', KEYS[1], 'token', 1)
";

pub(crate) struct ByHand {
    locks: LockManager,
    connection: MultiplexedConnection,
    mark: redis::Script,
    jobs: Vec<String>,
    ticks: Ticks,
}

impl ByHand {
    pub(crate) async fn new(url: &str, namespace: &str, jobs: usize) -> Self {
        let key = |job| format!("hand:{{{namespace}:job-{job}}}");
        Self {
            locks: LockManager::new(vec![url]),
            connection: connect(url).await,
            mark: redis::Script::new(MOVE),
            jobs: (0..jobs).map(key).collect(),
            ticks: Ticks::new(),
        }
    }
}

impl Runs for ByHand {
    async fn run(&self, job: usize) {
        let (mut connection, key) = (self.connection.clone(), &self.jobs[job]);
        let (tick, number) = self.ticks.next();
        let (run, started) = (format!("{number:032x}"), now().as_microsecond());
        let name = format!("{key}:lock");
        let lock = loop {
            // Its own patience is half a second.
            if let Ok(lock) = self.locks.lock(name.as_str(), Duration::from_secs(30)).await {
                break lock;
            }
        };
        let mut mark = self.mark.key(format!("{key}:mark"));
        let mark = mark.arg(format!("{tick:015}")).arg(&run);
        let token: Option<u64> = mark.invoke_async(&mut connection).await.expect("an answer");
        let token = token.expect("a tick that nobody else asks for");
        let record = format!("running {token} {tick} {started} node-1");
        let mut step = redis::cmd("HSET");
        let running = format!("{key}:running");
        let step = step.arg(&running).arg(&run).arg(record);
        let () = step.query_async(&mut connection).await.expect("an answer");
        let (ended, runs) = (now().as_microsecond(), format!("{key}:runs"));
        let record = format!("{run} succeeded {token} {tick} {started} {ended} node-1");
        let mut step = redis::pipe();
        step.lpush(&runs, record).ignore().ltrim(&runs, 0, 99).ignore();
        step.hdel(&running, &run).ignore();
        let () = step.query_async(&mut connection).await.expect("an answer");
        self.locks.unlock(&lock).await;
    }
}
