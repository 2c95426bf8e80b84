//! Random calls and waits of several holders on the memory backend: whatever comes in whatever
//! order, the model finds nothing that must not be.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod model;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tidelock::{
    AcquireRequest, Acquisition, Backend, Clear, Clock, Fingerprint, Holder, IfHeld, Intent, JobId,
    Lease, LockBackend, LockKey, NodeId, Occurrence, Record, RecordQuery, RecordStore, RunId,
    RunState, SkipReason, TestClock,
};
use tidelock_memory::MemoryBackend;

use model::Model;

const SEEDS: u64 = 300;
const STEPS: usize = 300;

/// Tells the seed when a test fails in its scope.
struct Seed(u64);

impl Drop for Seed {
    #[expect(clippy::print_stdout, reason = "what a failed test prints is shown")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("failed with seed {}", self.0);
        }
    }
}

struct World {
    random: StdRng,
    clock: TestClock,
    backend: MemoryBackend,
    models: BTreeMap<LockKey, Model>,
    /// All that was ever asked, to be asked again.
    requests: Vec<AcquireRequest>,
    leases: Vec<Lease>,
    /// What each granted run's record must be.
    states: BTreeMap<RunId, RunState>,
}

impl World {
    fn new(seed: u64) -> Self {
        let start: Timestamp = "2026-01-01T12:00:00.25Z".parse().unwrap();
        let clock = TestClock::new(start);
        let backend = MemoryBackend::new().keep(STEPS).with_clock(clock.clone());
        let keys = ["one", "two"].map(|job| LockKey::of(&JobId::new(job).unwrap()));
        Self {
            random: StdRng::seed_from_u64(seed),
            clock,
            backend,
            models: keys.map(|key| (key, Model::default())).into(),
            requests: Vec::new(),
            leases: Vec::new(),
            states: BTreeMap::new(),
        }
    }

    fn key(&mut self) -> LockKey {
        let at = self.random.random_range(0..self.models.len());
        self.models.keys().nth(at).cloned().unwrap()
    }

    fn request(&mut self) -> AcquireRequest {
        let key = self.key();
        let node = NodeId::new(["a", "b", "c"].choose(&mut self.random).unwrap()).unwrap();
        let tick = self.clock.now().as_second() + self.random.random_range(-4..3);
        let manual = self.random.random_bool(0.1);
        let mut request = AcquireRequest::new(
            key,
            Holder::new(&node, self.random.random()),
            RunId::new(self.random.random()),
            node,
            (!manual).then(|| Occurrence::from_millisecond(tick * 1_000).unwrap()),
            Fingerprint::new(0),
            Duration::from_millis(self.random.random_range(1..4_000)),
        );
        if self.random.random_bool(0.3) {
            request.if_held = IfHeld::Consume;
        }
        if !manual && self.random.random_bool(0.1) {
            request.intent = Intent::Skip(SkipReason::Misfire);
        }
        request
    }

    async fn begin(&mut self, request: AcquireRequest) {
        let state = RunState::Running;
        let (id, node) = (request.run_id, request.node.clone());
        let job = request.key.job().clone();
        let running = Record::new(id, job, node, state, Timestamp::UNIX_EPOCH);
        let begun = self.backend.begin(&request, &running).await.unwrap().value;
        let model = self.models.get_mut(&request.key).unwrap();
        model.acquired(&request, &begun.acquisition);
        if let Acquisition::Granted(grant) = begun.acquisition {
            for dead in &grant.abandoned {
                let state = self.states.get_mut(&dead.run_id).unwrap();
                if *state == RunState::Running {
                    *state = RunState::Abandoned;
                }
            }
            self.states.entry(id).or_insert(state);
            self.leases.push(grant.lease);
        }
        self.requests.push(request);
    }

    async fn finish(&mut self, lease: &Lease) {
        let state = [RunState::Succeeded, RunState::LockLost][self.random.random_range(0..2)];
        let node = NodeId::new("node").unwrap();
        let job = lease.key.job().clone();
        let done = Record::new(lease.run_id, job, node, state, Timestamp::UNIX_EPOCH);
        let finished = self.backend.finish(lease, &done).await.unwrap().value;
        let model = self.models.get_mut(&lease.key).unwrap();
        model.released(lease, finished.release);
        let known = self.states.get_mut(&lease.run_id).unwrap();
        if matches!(known, RunState::Running | RunState::Abandoned) {
            *known = state;
        }
    }

    async fn renew(&mut self, lease: &Lease) {
        let ttl = Duration::from_millis(self.random.random_range(1..4_000));
        let answer = self.backend.renew(lease, ttl).await.unwrap().value;
        let model = self.models.get_mut(&lease.key).unwrap();
        model.renewed(lease, ttl, answer);
    }

    async fn force_release(&mut self) {
        let (key, mark_too) = (self.key(), self.random.random_bool(0.3));
        let clear = if mark_too { Clear::LockAndMark } else { Clear::Lock };
        let answer = self.backend.force_release(&key, clear).await.unwrap().value;
        self.models.get_mut(&key).unwrap().forced(clear, answer);
        if mark_too {
            // What was granted before may be granted anew, with the same run id.
            self.requests.retain(|request| request.key != key);
        }
    }

    async fn step(&mut self) {
        let lease = self.leases.choose(&mut self.random).cloned();
        let newest = self.leases.last().cloned();
        match (self.random.random_range(0..100), lease, newest) {
            (0..35, ..) => {
                let request = self.request();
                self.begin(request).await;
            }
            (35..50, ..) => {
                if let Some(request) = self.requests.choose(&mut self.random).cloned() {
                    self.begin(request).await;
                }
            }
            (50..60, Some(any), _) => self.renew(&any).await,
            (60..68, _, Some(newest)) => self.renew(&newest).await,
            (68..74, Some(any), _) => self.finish(&any).await,
            (74..84, _, Some(newest)) => self.finish(&newest).await,
            (84..86, ..) => self.force_release().await,
            _ => {
                let wait = self.random.random_range(1..2_500);
                tokio::time::sleep(Duration::from_millis(wait)).await;
            }
        }
        for (key, model) in &self.models {
            model.inspected(&self.backend.inspect(key).await.unwrap().value);
        }
    }

    async fn check_records(&self) {
        let mut found = BTreeMap::new();
        for key in self.models.keys() {
            let query = RecordQuery::newest(key.job().clone(), usize::MAX);
            for record in self.backend.list(&query).await.unwrap() {
                let twice = found.insert(record.run_id, record.state);
                assert_eq!(twice, None, "two records of one run");
            }
        }
        assert_eq!(found, self.states, "records");
    }
}

#[tokio::test(start_paused = true)]
async fn random_calls_grant_no_tick_twice_and_let_no_two_hold() {
    let mut runs = 0;
    for seed in 0..SEEDS {
        let told = Seed(seed);
        let mut world = World::new(seed);
        for _ in 0..STEPS {
            world.step().await;
        }
        world.check_records().await;
        runs += world.states.len();
        drop(told);
    }
    assert!(runs > 5_000, "only {runs} runs: the calls are too random");
}
