//! A fleet of which anything goes wrong at random: the clocks, the network and the processes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tidelock::{
    Clock, ClockPolicy, Job, Misfire, Occurrence, Record, RunContext, RunId, Schedule, Scheduler,
    TestClock,
};
use tidelock_memory::MemoryBackend;
use tidelock_tests::{Chaos, Faults, NodeSpawner};

use crate::fleet::{Fleet, ahead, ms, secs};
use crate::ledger::none_told_twice;
use crate::node::lock;

/// Runs that handlers were in, and the ticks that they were called for.
#[derive(Debug, Default)]
struct Seen {
    /// The largest token that a handler of the job was called with.
    tokens: BTreeMap<String, u64>,
    ticks: BTreeSet<(String, Occurrence)>,
    runs: BTreeMap<RunId, String>,
}

impl Seen {
    fn called(&mut self, run: &RunContext) {
        let (job, token) = (run.job().to_string(), run.fencing_token().get());
        let before = self.tokens.insert(job.clone(), token).unwrap_or(0);
        assert!(token > before, "{run:?} after token {before}");
        if let Some(tick) = run.occurrence() {
            assert!(self.ticks.insert((job.clone(), tick)), "twice: {run:?}");
        }
        assert_eq!(self.runs.insert(run.run_id(), job), None);
    }

    /// A handler at work: no later run of its job may have begun.
    fn works(&self, run: &RunContext) {
        let newest = self.tokens[run.job().as_str()];
        assert_eq!(newest, run.fencing_token().get(), "overlap: {run:?}");
    }
}

type Shared = Arc<Mutex<Seen>>;

fn schedules() -> Vec<(&'static str, Schedule)> {
    vec![
        ("short", Schedule::every(ms(1_500)).unwrap()),
        ("long", Schedule::cron("*/5 * * * * *").unwrap()),
        ("backlog", Schedule::every(secs(7)).unwrap()),
    ]
}

/// A job whose handler works in steps of 50 ms, for up to `most` of them.
fn job(id: &'static str, schedule: Schedule, seen: &Shared) -> Job {
    let (ttl, most) = match id {
        "short" => (ms(700), 12),
        "long" => (ms(2_000), 160),
        _ => (ms(1_000), 60),
    };
    let mut job = Job::new(id).schedule(schedule).lock_ttl(ttl);
    if id == "backlog" {
        job = job.misfire(Misfire::All { max: 3 }).splay(secs(2));
    }
    let seen = seen.clone();
    job.run(move |run| {
        let seen = seen.clone();
        async move {
            seen.lock().unwrap().called(&run);
            let steps = run.run_id().get() % most;
            for _ in 0..steps {
                tokio::time::sleep(ms(50)).await;
                seen.lock().unwrap().works(&run);
            }
        }
    })
}

struct Member {
    scheduler: Scheduler,
    way: Faults<MemoryBackend>,
    process: NodeSpawner,
    clock: TestClock,
}

async fn member(
    fleet: &Fleet,
    seed: u64,
    number: usize,
    random: &mut StdRng,
    seen: &Shared,
) -> Member {
    let way = Faults::new(fleet.backend.clone());
    let chaos = Chaos::seeded(random.random()).fail(0.03).lose_request(0.03);
    let chaos = chaos.lose_reply(0.05).arrive_late(0.03, secs(4));
    way.random(chaos.delay(0.1, ms(600)));
    let process = NodeSpawner::new().linked(way.link());
    let drifting = fleet.clock.drifting(random.random_range(-500..500));
    let clock = drifting.skewed(ahead(random.random_range(-2_500..2_500)));
    let policy = match random.random_range(0..3) {
        0 => ClockPolicy::Correct,
        _ => ClockPolicy::Warn,
    };
    let name = format!("{seed}-{number}");
    let mut node = fleet
        .node_over(way.clone(), clock.clone(), &name)
        .seed(seed * 1_000 + number as u64)
        .spawner(process.clone())
        .clock_policy(policy);
    for (id, schedule) in schedules() {
        node = node.job(job(id, schedule, seen)).unwrap();
    }
    if random.random_range(0..3) == 0 {
        node = node.max_running(random.random_range(1..3));
    }
    let scheduler = node.start().await.unwrap();
    Member { scheduler, way, process, clock }
}

/// Two minutes in which anything goes wrong, and half a minute in which nothing does.
async fn fleet_at_random(seed: u64, deaths: bool) {
    let (fleet, seen) = (Fleet::new(), Shared::default());
    let mut random = StdRng::seed_from_u64(seed);
    let begin = fleet.clock.now();
    let (mut nodes, mut born) = (Vec::new(), random.random_range(2..5));
    for number in 0..born {
        nodes.push(member(&fleet, seed, number, &mut random, &seen).await);
    }
    while fleet.clock.now().duration_since(begin).as_secs() < 120 {
        tokio::time::sleep(ms(random.random_range(1..2_000))).await;
        let at = random.random_range(0..nodes.len());
        let nap = ms(random.random_range(1..4_000));
        match random.random_range(0..13) {
            0 | 1 if deaths => {
                nodes[at].process.kill();
                drop(nodes.remove(at));
                nodes.push(member(&fleet, seed, born, &mut random, &seen).await);
                born += 1;
            }
            2 | 3 => {
                nodes[at].process.freeze();
                tokio::time::sleep(nap).await;
                nodes[at].process.thaw();
            }
            4 => {
                nodes[at].way.link().cut();
                tokio::time::sleep(nap).await;
                nodes[at].way.link().heal();
            }
            5 => {
                nodes[at].way.link().cut_silently();
                tokio::time::sleep(nap).await;
                nodes[at].way.link().heal();
            }
            6 => nodes[at].clock.step(ahead(random.random_range(-5_000..5_000))),
            7 => {
                let by = random.random_range(-100_000..100_000);
                nodes[at].clock.step(ahead(by));
                tokio::time::sleep(nap).await;
                nodes[at].clock.step(ahead(-by));
            }
            8 if deaths => {
                // As a deployment does it.
                let old = nodes.remove(at);
                nodes.push(member(&fleet, seed, born, &mut random, &seen).await);
                born += 1;
                let _ = old.scheduler.shutdown(nap).await;
            }
            9 => {
                let (id, schedule) = schedules().swap_remove(random.random_range(0..3));
                let new = job(id, schedule, &seen);
                nodes[at].scheduler.replace(new).unwrap();
            }
            10 | 11 => {
                let id = schedules()[random.random_range(0..3)].0;
                // Given up after a moment, granted or not.
                let asked = nodes[at].scheduler.run_now(id);
                let _ = tokio::time::timeout(nap / 4, asked).await;
            }
            _ => {}
        }
    }
    for node in &nodes {
        node.way.clear();
        // A clock far behind would come to the last ticks after the end.
        node.clock.step(fleet.clock.now().duration_since(node.clock.now()));
    }
    tokio::time::sleep(secs(100)).await;
    let calm = fleet.clock.now();
    tokio::time::sleep(secs(60)).await;
    let stopped = fleet.clock.now();
    for node in nodes {
        let report = node.scheduler.shutdown(secs(30)).await;
        assert_eq!((report.cancelled, report.unsaved_records), (0, 0));
        assert_eq!(node.process.tasks(), 0, "a task is left");
    }
    let reader = fleet.node("reader").start().await.unwrap();
    for (id, schedule) in schedules() {
        let told = &reader.history(id, 100_000).await.unwrap();
        account(told, &schedule, (begin, calm, stopped));
        let state = lock(&fleet, id).await;
        assert_eq!((&state.held, &state.open_runs[..]), (&None, &[][..]));
        let runs = seen.lock().unwrap();
        let ran = runs.runs.values().filter(|job| *job == id).count();
        assert!(ran > 10, "{id} ran {ran} times");
        for (run, _) in runs.runs.iter().filter(|(_, job)| *job == id) {
            let ends: Vec<_> = told.iter().filter(|r| r.run_id == *run).collect();
            assert_eq!(ends.len(), 1, "{run} of {id}: {told:#?}");
        }
    }
}

fn account(
    told: &[Record],
    schedule: &Schedule,
    (begin, calm, end): (Timestamp, Timestamp, Timestamp),
) {
    let mut ticks = Vec::new();
    let mut t = begin - secs(200);
    while let Some(tick) = schedule.next_after(t).filter(|tick| *tick <= end + secs(200)) {
        ticks.push(tick);
        t = tick;
    }
    none_told_twice(told, &ticks);
    for tick in ticks.into_iter().filter(|tick| *tick > calm && *tick < end - secs(10)) {
        let tells = |r: &&Record| match (r.ticks, r.occurrence) {
            (Some(span), _) => span.first.at() <= tick && tick <= span.last.at(),
            (None, run) => run.is_some_and(|it| it.at() == tick),
        };
        assert_eq!(told.iter().filter(tells).count(), 1, "{tick}: {told:#?}");
    }
    assert!(told.iter().all(|record| record.state.is_final()), "{told:#?}");
}

#[test]
fn a_fleet_of_which_anything_goes_wrong_at_random_keeps_its_promise() {
    let seeds = std::env::var("FLEET_SEEDS").unwrap_or_default();
    let mut ends = seeds.split("..").map(|n| n.parse::<u64>().ok());
    let from = ends.next().flatten().unwrap_or(0);
    let to = ends.next().flatten().unwrap_or(from + 8);
    for seed in from..to {
        println!("seed {seed}");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(fleet_at_random(seed, seed % 2 == 0));
    }
}
