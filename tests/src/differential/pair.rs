//! The two backends side by side.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tidelock::{
    AcquireRequest, Acquisition, Backend, BackendError, Begun, Clear, Clock, Combined, Fingerprint,
    Holder, IfHeld, Intent, JobId, Lease, LockKey, NodeId, Occurrence, Record, RecordQuery, RunId,
    RunState, SkipReason, SystemClock, TickSpan,
};
use tidelock_memory::MemoryBackend;
use tokio::time::{Instant, sleep};

use super::history::History;
use super::outcome::{Tokens, release};
use super::{KEEP, Kind, Step, Times};

/// A TTL that no case outlives.
const LONG: Duration = Duration::from_secs(30);

pub(super) enum Outcome {
    Same,
    Different(String),
    TooSlow,
}

/// The reference, and what is compared with it.
pub(super) struct Pair {
    memory: Arc<dyn Backend>,
    other: Arc<dyn Backend>,
    times: Times,
    tokens: [Tokens; 2],
    requests: Vec<AcquireRequest>,
    leases: Vec<[Lease; 2]>,
    records: Vec<Record>,
    history: History,
    base: i64,
    number: u128,
    since: Instant,
}

impl Pair {
    pub(super) async fn new(other: Arc<dyn Backend>, times: Times, closes: bool) -> Self {
        let _ = must(other.inspect(&key()).await); // brings the connection up
        let memory = MemoryBackend::new().keep(KEEP as usize);
        // By halves, it names abandoned runs instead of closing their records.
        let memory: Arc<dyn Backend> =
            if closes { Arc::new(memory) } else { Arc::new(Combined::new(memory.clone(), memory)) };
        let clocks = other.has_clock();
        Self {
            memory,
            other,
            times,
            tokens: [Tokens::new(clocks), Tokens::new(clocks)],
            requests: Vec::new(),
            leases: Vec::new(),
            records: Vec::new(),
            history: History::default(),
            base: (SystemClock.now().as_second() - 3_600) * 1_000,
            number: 1,
            since: Instant::now(),
        }
    }

    pub(super) async fn step(&mut self, step: &Step) -> Outcome {
        if let Step::Wait = step {
            sleep(self.times.wait).await;
            self.since = Instant::now();
            return Outcome::Same;
        }
        let one = self.call(step).await;
        let all = self.look().await;
        if self.since.elapsed() > self.times.sure {
            return Outcome::TooSlow;
        }
        for [memory, other] in one.into_iter().chain(all) {
            if memory != other {
                return Outcome::Different(format!("\n memory {memory}\n other  {other}"));
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
                self.history.may_save(request.run_id)?;
                Some(self.ask(&request, true).await)
            }
            Step::Renew(n, brief) => {
                let [memory, other] = choose(&self.leases, n)?;
                let ttl = if brief { self.times.brief } else { LONG };
                let memory = must(self.memory.renew(&memory, ttl).await).value;
                let other = must(self.other.renew(&other, ttl).await).value;
                Some([format!("{memory:?}"), format!("{other:?}")])
            }
            Step::Release(n) => {
                let [memory, other] = choose(&self.leases, n)?;
                let memory = must(self.memory.release(&memory).await).value;
                let other = must(self.other.release(&other).await).value;
                Some([release(memory), release(other)])
            }
            Step::Finish(n, state) => {
                let [memory, other] = choose(&self.leases, n)?;
                self.history.may_save(memory.run_id)?;
                let mut done = self.record(memory.run_id, state);
                done.token = Some(memory.token);
                let memory = must(self.memory.finish(&memory, &done).await).value;
                done.token = Some(other.token);
                let other = must(self.other.finish(&other, &done).await).value;
                assert!(other.unsaved.is_none(), "{other:?}");
                Some([release(memory.release), release(other.release)])
            }
            Step::Force(mark) => {
                let clear = if mark { Clear::LockAndMark } else { Clear::Lock };
                self.tokens.iter_mut().for_each(|tokens| tokens.cleared |= mark);
                let key = key();
                let memory = must(self.memory.force_release(&key, clear).await).value;
                let other = must(self.other.force_release(&key, clear).await).value;
                Some([release(memory), release(other)])
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
        let (memory, other) = if begin {
            let mut running = self.record(request.run_id, 0);
            running.node = request.node.clone();
            running.occurrence = request.occurrence;
            running.state = RunState::Running;
            running.ended = None;
            running.ticks = None;
            self.records.push(running.clone());
            let other = must(self.other.begin(request, &running).await).value;
            let memory = must(self.memory.begin(request, &running).await).value;
            close(&self.other, request, &other).await;
            close(&self.memory, request, &memory).await;
            (memory.acquisition, other.acquisition)
        } else {
            let other = must(self.other.acquire(request).await).value;
            let memory = must(self.memory.acquire(request).await).value;
            (memory, other)
        };
        if let (Acquisition::Granted(memory), Acquisition::Granted(other)) = (&memory, &other) {
            self.leases.push([memory.lease.clone(), other.lease.clone()]);
        }
        [self.tokens[0].acquisition(&memory), self.tokens[1].acquisition(&other)]
    }

    async fn save(&mut self, run: RunId, state: u8) -> Option<[String; 2]> {
        self.history.may_save(run)?;
        let record = self.record(run, state);
        must(self.memory.save(&record).await);
        must(self.other.save(&record).await);
        self.records.push(record);
        None
    }

    /// What both know by now.
    async fn look(&mut self) -> Vec<[String; 2]> {
        let key = key();
        let memory = must(self.memory.inspect(&key).await).value;
        let other = must(self.other.inspect(&key).await).value;
        let states = [self.tokens[0].state(&memory), self.tokens[1].state(&other)];
        let query = RecordQuery::newest(job(), 200);
        let mut memory = must(self.memory.list(&query).await);
        let mut other = must(self.other.list(&query).await);
        self.history.look(&memory);
        self.history.pass_over(&mut memory);
        self.history.pass_over(&mut other);
        let memory = self.tokens[0].history(&memory);
        let other = self.tokens[1].history(&other);
        vec![states, [memory.join("\n"), other.join("\n")]]
    }

    fn next(&mut self) -> u128 {
        self.number += 1;
        self.number
    }

    fn request(&mut self, tick: u8, brief: bool, kind: Kind) -> AcquireRequest {
        let node = NodeId::new(["a", "b {\"}"][usize::from(tick % 2)]).expect("within range");
        let second = match kind {
            Kind::Early => 8_000,
            _ => i64::from(tick),
        };
        let occurrence = Occurrence::from_millisecond(self.base + second * 1_000);
        let mut request = AcquireRequest::new(
            key(),
            Holder::new(&node, self.next()),
            RunId::new(self.next()),
            node,
            occurrence.filter(|_| kind != Kind::Manual),
            Fingerprint::new(u64::from(tick / 4)),
            if brief { self.times.brief } else { LONG },
        );
        request.skew = Some(jiff::SignedDuration::from_millis(i64::from(tick) - 5));
        let before = Occurrence::from_millisecond(self.base + (second - 1) * 1_000);
        request.after = before.filter(|_| !tick.is_multiple_of(3));
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
        let node = NodeId::new("n").expect("within range");
        let started =
            Timestamp::from_nanosecond(i128::try_from(self.next()).expect("within range"))
                .expect("within range");
        let mut record = Record::new(run, job(), node, state_now, started);
        record.attempt = u32::from(state % 3);
        record.ended =
            state_now.is_final().then_some(started + Duration::from_millis(u64::from(state)));
        if state_now.is_tick_not_run() {
            let tick = Occurrence::from_millisecond(self.base).expect("within range");
            record.ticks = Some(TickSpan::new(tick, tick, u64::from(state / 7), false));
        }
        record
    }
}

fn choose<T: Clone>(all: &[T], n: u8) -> Option<T> {
    all.get(usize::from(n).checked_rem(all.len())?).cloned()
}

/// What whoever begins a run is to do for those whose records were not closed with it.
async fn close(backend: &Arc<dyn Backend>, request: &AcquireRequest, begun: &Begun) {
    assert!(begun.unsaved.is_none(), "{begun:?}");
    for run in begun.unclosed.iter().filter(|run| run.run_id != request.run_id) {
        let job = request.key.job().clone();
        must(backend.save(&Record::abandoned(job, run, Timestamp::UNIX_EPOCH)).await);
    }
}

fn job() -> JobId {
    JobId::new("job").expect("a job's name")
}

fn key() -> LockKey {
    LockKey::of(&job())
}

fn must<T>(result: Result<T, BackendError>) -> T {
    result.unwrap_or_else(|error| panic!("the backend could not find out: {error:?}"))
}
