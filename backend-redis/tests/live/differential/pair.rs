//! The two backends side by side.

use std::time::Duration;

use jiff::Timestamp;
use tidelock::{
    AcquireRequest, Acquisition, Backend, Clear, Clock, Fingerprint, Holder, IfHeld, Intent, Lease,
    LockBackend, LockKey, NodeId, Occurrence, Record, RecordQuery, RecordStore, RunId, RunState,
    SkipReason, SystemClock, TickSpan,
};
use tidelock_memory::MemoryBackend;
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, namespace};
use tokio::time::{Instant, sleep};

use super::outcome::{Tokens, release};
use super::{Kind, Step};
use crate::bench::{TTL, job, ms};

const BRIEF: Duration = ms(250);
const WAIT: Duration = ms(350);
/// By then every brief lock set before the last wait has expired, and none set since.
const SURE: Duration = ms(150);
const KEEP: u32 = 5;

pub(crate) enum Outcome {
    Same,
    Different(String),
    TooSlow,
}

pub(crate) struct Pair {
    memory: MemoryBackend,
    redis: RedisBackend,
    tokens: [Tokens; 2],
    requests: Vec<AcquireRequest>,
    leases: Vec<[Lease; 2]>,
    records: Vec<Record>,
    base: i64,
    number: u128,
    since: Instant,
}

impl Pair {
    pub(crate) async fn new() -> Self {
        let redis = RedisBackend::builder(namespace()).keep(KEEP);
        let redis = redis.connect_lazy(&RedisServer::shared().url()).unwrap();
        let _ = redis.inspect(&LockKey::of(&job("job"))).await.unwrap();
        Self {
            memory: MemoryBackend::new().keep(KEEP as usize),
            redis,
            tokens: Default::default(),
            requests: Vec::new(),
            leases: Vec::new(),
            records: Vec::new(),
            base: (SystemClock.now().as_second() - 3_600) * 1_000,
            number: 1,
            since: Instant::now(),
        }
    }

    pub(crate) async fn step(&mut self, step: &Step) -> Outcome {
        if let Step::Wait = step {
            sleep(WAIT).await;
            self.since = Instant::now();
            return Outcome::Same;
        }
        let one = self.call(step).await;
        let all = self.look().await;
        if self.since.elapsed() > SURE {
            return Outcome::TooSlow;
        }
        for [memory, redis] in one.into_iter().chain(all) {
            if memory != redis {
                return Outcome::Different(format!("\n memory {memory}\n redis  {redis}"));
            }
        }
        Outcome::Same
    }

    async fn call(&mut self, step: &Step) -> Option<[String; 2]> {
        match *step {
            Step::Ask { tick, brief, kind, begin } => {
                let request = self.request(tick, brief, kind);
                self.requests.push(request.clone());
                Some(self.ask(&request, begin).await)
            }
            Step::AskAgain(n) => {
                let request = choose(&self.requests, n)?;
                Some(self.ask(&request, true).await)
            }
            Step::Renew(n, brief) => {
                let [memory, redis] = choose(&self.leases, n)?;
                let ttl = if brief { BRIEF } else { TTL };
                let memory = self.memory.renew(&memory, ttl).await.unwrap().value;
                let redis = self.redis.renew(&redis, ttl).await.unwrap().value;
                Some([format!("{memory:?}"), format!("{redis:?}")])
            }
            Step::Release(n) => {
                let [memory, redis] = choose(&self.leases, n)?;
                let memory = self.memory.release(&memory).await.unwrap().value;
                let redis = self.redis.release(&redis).await.unwrap().value;
                Some([release(memory), release(redis)])
            }
            Step::Finish(n, state) => {
                let [memory, redis] = choose(&self.leases, n)?;
                let mut done = self.record(memory.run_id, state);
                done.token = Some(memory.token);
                let memory = self.memory.finish(&memory, &done).await.unwrap().value;
                done.token = Some(redis.token);
                let redis = self.redis.finish(&redis, &done).await.unwrap().value;
                assert!(redis.unsaved.is_none(), "{redis:?}");
                Some([release(memory.release), release(redis.release)])
            }
            Step::Force(mark) => {
                let clear = if mark { Clear::LockAndMark } else { Clear::Lock };
                let key = LockKey::of(&job("job"));
                let memory = self.memory.force_release(&key, clear).await.unwrap().value;
                let redis = self.redis.force_release(&key, clear).await.unwrap().value;
                Some([release(memory), release(redis)])
            }
            Step::Save(n, state) => {
                let run = choose(&self.records, n)?.run_id;
                self.save(run, state).await
            }
            Step::SaveNew(state) => {
                let run = RunId::new(self.next());
                self.save(run, state).await
            }
            Step::Wait => None,
        }
    }

    async fn ask(&mut self, request: &AcquireRequest, begin: bool) -> [String; 2] {
        let (memory, redis) = if begin {
            let mut running = self.record(request.run_id, 0);
            running.node = request.node.clone();
            running.occurrence = request.occurrence;
            running.state = RunState::Running;
            running.ended = None;
            running.ticks = None;
            self.records.push(running.clone());
            let redis = self.redis.begin(request, &running).await.unwrap().value;
            let memory = self.memory.begin(request, &running).await.unwrap().value;
            assert!(redis.unsaved.is_none(), "{redis:?}");
            (memory.acquisition, redis.acquisition)
        } else {
            let redis = self.redis.acquire(request).await.unwrap().value;
            let memory = self.memory.acquire(request).await.unwrap().value;
            (memory, redis)
        };
        if let (Acquisition::Granted(memory), Acquisition::Granted(redis)) = (&memory, &redis) {
            self.leases.push([memory.lease.clone(), redis.lease.clone()]);
        }
        [self.tokens[0].acquisition(&memory), self.tokens[1].acquisition(&redis)]
    }

    async fn save(&mut self, run: RunId, state: u8) -> Option<[String; 2]> {
        let record = self.record(run, state);
        self.memory.save(&record).await.unwrap();
        self.redis.save(&record).await.unwrap();
        self.records.push(record);
        None
    }

    /// What both know by now.
    async fn look(&mut self) -> Vec<[String; 2]> {
        let key = LockKey::of(&job("job"));
        let memory = self.memory.inspect(&key).await.unwrap().value;
        let redis = self.redis.inspect(&key).await.unwrap().value;
        let states = [self.tokens[0].state(&memory), self.tokens[1].state(&redis)];
        let query = RecordQuery::newest(job("job"), 12);
        let memory = self.memory.list(&query).await.unwrap();
        let redis = self.redis.list(&query).await.unwrap();
        let memory = self.tokens[0].history(&memory);
        let redis = self.tokens[1].history(&redis);
        vec![states, [memory.join("\n"), redis.join("\n")]]
    }

    fn next(&mut self) -> u128 {
        self.number += 1;
        self.number
    }

    fn request(&mut self, tick: u8, brief: bool, kind: Kind) -> AcquireRequest {
        let node = NodeId::new(["a", "b {\"}"][usize::from(tick % 2)]).unwrap();
        let second = match kind {
            Kind::Early => 8_000,
            _ => i64::from(tick),
        };
        let occurrence = Occurrence::from_millisecond(self.base + second * 1_000);
        let mut request = AcquireRequest::new(
            LockKey::of(&job("job")),
            Holder::new(&node, self.next()),
            RunId::new(self.next()),
            node,
            occurrence.filter(|_| kind != Kind::Manual),
            Fingerprint::new(u64::from(tick / 4)),
            if brief { BRIEF } else { TTL },
        );
        request.skew = Some(jiff::SignedDuration::from_millis(i64::from(tick) - 5));
        match kind {
            Kind::Consume => request.if_held = IfHeld::Consume,
            Kind::Skip => request.intent = Intent::Skip(SkipReason::Misfire),
            Kind::Plain | Kind::Manual | Kind::Early => {}
        }
        request
    }

    fn record(&mut self, run: RunId, state: u8) -> Record {
        let states = [
            RunState::Succeeded,
            RunState::Failed,
            RunState::Abandoned,
            RunState::Running,
            RunState::Missed,
            RunState::Skipped(SkipReason::TooLate),
            RunState::LockLost,
        ];
        let state_now = states[usize::from(state) % states.len()];
        let node = NodeId::new("n").unwrap();
        let started = Timestamp::from_nanosecond(i128::try_from(self.next()).unwrap()).unwrap();
        let mut record = Record::new(run, job("job"), node, state_now, started);
        record.attempt = u32::from(state % 3);
        record.ended = state_now.is_final().then_some(started + ms(u64::from(state)));
        if state_now.is_tick_not_run() {
            let tick = Occurrence::from_millisecond(self.base).unwrap();
            record.ticks = Some(TickSpan::new(tick, tick, u64::from(state / 7), false));
        }
        record
    }
}

fn choose<T: Clone>(all: &[T], n: u8) -> Option<T> {
    all.get(usize::from(n).checked_rem(all.len())?).cloned()
}
