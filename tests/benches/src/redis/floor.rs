//! The floor: two scripts by hand on one connection, with the same reads and writes as ours (lock,
//! mark, token, open run, record in its place, TTL, and the oldest run of a full history), and
//! nothing else: no answers but yes and no, no care for what makes no sense, for limits of age, for
//! a run that was abandoned or a call that is made again.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::server::connect;
use crate::load::{Runs, Ticks, now, random};

/// KEYS: lock, mark, open, running, runs, records. ARGV: tick, ttl, holder, run, node, schedule,
/// keep, record.
const BEGIN: &str = r"
local time = redis.call('TIME')
local now = time[1] .. ('000000' .. time[2]):sub(-6)
if redis.call('EXISTS', KEYS[1]) == 1 then return { now, 'held' } end
local mark = redis.call('HMGET', KEYS[2], 'tick', 'schedule', 'token')
if mark[1] and mark[1] >= ARGV[1] then return { now, 'taken' } end
local open = redis.call('ZRANGE', KEYS[3], '0', '-1')
local token = now
if mark[3] and mark[3] >= token then token = string.format('%d', mark[3] + 1) end
local previous = (mark[1] or '') .. ' ' .. (mark[2] or '')
redis.call('HSET', KEYS[2], 'tick', ARGV[1], 'schedule', ARGV[6], 'token', token, 'how', 'granted',
  'holder', ARGV[3], 'run', ARGV[4], 'node', ARGV[5], 'previous', previous, 'at', now)
redis.call('HSET', KEYS[1], 'lease', token .. ' ' .. ARGV[3], 'run', ARGV[4], 'node', ARGV[5],
  'previous', previous)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('ZADD', KEYS[3], token, token .. ' ' .. ARGV[4] .. ' ' .. ARGV[1] .. ' ' .. ARGV[5])
redis.call('ZADD', KEYS[4], '-' .. token, ARGV[4])
redis.call('HSET', KEYS[6], ARGV[4], now .. ' running ' .. token .. ARGV[8])
if redis.call('ZCARD', KEYS[5]) >= tonumber(ARGV[7]) then
  local oldest = redis.call('ZRANGE', KEYS[5], '-1', '-1')[1]
  redis.call('ZREM', KEYS[5], oldest)
  redis.call('HDEL', KEYS[6], oldest)
end
return { now, 'granted', token, previous, unpack(open) }
";

/// KEYS: lock, open, running, runs, records. ARGV: holder, token, run, record.
const FINISH: &str = r"
local time = redis.call('TIME')
local now = time[1] .. ('000000' .. time[2]):sub(-6)
local what = 'not-held'
if redis.call('HGET', KEYS[1], 'lease') == ARGV[2] .. ' ' .. ARGV[1] then
  redis.call('DEL', KEYS[1])
  what = 'released'
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[3])
redis.call('ZADD', KEYS[4], '-' .. ARGV[2], ARGV[3])
redis.call('HSET', KEYS[5], ARGV[3], now .. ' succeeded ' .. ARGV[2] .. ARGV[4])
return { now, what }
";

/// How many runs are kept: the default of ours.
const KEEP: &str = "100";

/// A connection and the keys of some jobs.
pub(crate) struct Floor {
    pub(crate) connection: MultiplexedConnection,
    begin: String,
    finish: String,
    jobs: Vec<Keys>,
    ticks: Ticks,
}

struct Keys {
    begin: [String; 6],
    finish: [String; 5],
}

/// A run on its way.
pub(crate) struct Begun {
    job: usize,
    tick: String,
    holder: String,
    run: String,
    started: i64,
}

impl Floor {
    pub(crate) async fn new(url: &str, namespace: &str, jobs: usize) -> Self {
        let mut connection = connect(url).await;
        let mut load = async |code| -> String {
            let command = redis::cmd("SCRIPT").arg("LOAD").arg(code).to_owned();
            command.query_async(&mut connection).await.expect("a script that is taken")
        };
        let (begin, finish) = (load(BEGIN).await, load(FINISH).await);
        let jobs = (0..jobs).map(|job| Keys::new(namespace, job)).collect();
        Self { connection, begin, finish, jobs, ticks: Ticks::new() }
    }

    pub(crate) fn begin(&self, job: usize) -> (Begun, Cmd) {
        let (tick, number) = self.ticks.next();
        self.begin_for(job, tick, number)
    }

    fn begin_for(&self, job: usize, tick: i64, number: u128) -> (Begun, Cmd) {
        let (run, tick) = (format!("{number:032x}"), format!("{tick:015}"));
        let (holder, started) = (format!("node-1/{run}"), now().as_microsecond());
        let mut command = redis::cmd("EVALSHA");
        command.arg(&self.begin).arg(6).arg(&self.jobs[job].begin);
        command.arg(&tick).arg(30_000).arg(&holder).arg(&run).arg("node-1");
        command.arg("0000000000000007").arg(KEEP);
        command.arg(format!(" - - {tick} {started} {{\"node\":\"node-1\"}}"));
        (Begun { job, tick, holder, run, started }, command)
    }

    pub(crate) fn finish(&self, begun: &Begun, token: &str) -> Cmd {
        let (ended, Begun { tick, started, .. }) = (now().as_microsecond() - begun.started, begun);
        let mut command = redis::cmd("EVALSHA");
        command.arg(&self.finish).arg(5).arg(&self.jobs[begun.job].finish);
        command.arg(&begun.holder).arg(token).arg(&begun.run);
        command.arg(format!(" - {ended} {tick} {started} {{\"node\":\"node-1\"}}"));
        command
    }

    /// A run of each of the first jobs, all together, in a pipeline to begin and one to finish.
    pub(crate) async fn pipelined(&self, jobs: usize) {
        let mut connection = self.connection.clone();
        let mut pipe = Pipeline::with_capacity(jobs);
        let mut runs = Vec::with_capacity(jobs);
        for job in 0..jobs {
            let (begun, command) = self.begin(job);
            pipe.add_command(command);
            runs.push(begun);
        }
        let answers: Vec<Vec<String>> = pipe.query_async(&mut connection).await.expect("answers");
        let mut pipe = Pipeline::with_capacity(jobs);
        for (begun, answer) in runs.iter().zip(&answers) {
            assert_eq!(answer[1], "granted");
            pipe.add_command(self.finish(begun, &answer[2]));
        }
        let answers: Vec<[String; 2]> = pipe.query_async(&mut connection).await.expect("answers");
        assert!(answers.iter().all(|[_, what]| what == "released"));
    }
}

impl Floor {
    /// Nodes that ask for one tick of the first job at once, each on a connection of its own: the
    /// time until the last one knows. The run has no length.
    pub(crate) async fn everyone_knows(
        &self,
        nodes: &[MultiplexedConnection],
        tick: i64,
    ) -> Duration {
        let begun = Instant::now();
        let mut tasks = JoinSet::new();
        for (number, node) in (0..).zip(nodes) {
            let (asked, command) = self.begin_for(0, tick, random(tick) ^ number);
            let mut node = node.clone();
            tasks.spawn(async move {
                let answer: Vec<String> = command.query_async(&mut node).await.expect("an answer");
                (answer[1] == "granted").then(|| (asked, answer[2].clone()))
            });
        }
        let answers = tasks.join_all().await;
        let took = begun.elapsed();
        let won: Vec<_> = answers.into_iter().flatten().collect();
        let [(run, token)] = &won[..] else { panic!("one node runs it") };
        let finish = self.finish(run, token);
        let _: [String; 2] =
            finish.query_async(&mut self.connection.clone()).await.expect("an answer");
        took
    }
}

impl Runs for Floor {
    async fn run(&self, job: usize) {
        let mut connection = self.connection.clone();
        let (begun, command) = self.begin(job);
        let answer: Vec<String> = command.query_async(&mut connection).await.expect("an answer");
        assert_eq!(answer[1], "granted");
        let finish = self.finish(&begun, &answer[2]);
        let answer: [String; 2] = finish.query_async(&mut connection).await.expect("an answer");
        assert_eq!(answer[1], "released");
    }
}

impl Keys {
    fn new(namespace: &str, job: usize) -> Self {
        let key = |part| format!("floor:{{{namespace}:job-{job}}}:{part}");
        Self {
            begin: ["lock", "mark", "open", "running", "runs", "records"].map(key),
            finish: ["lock", "open", "running", "runs", "records"].map(key),
        }
    }
}
