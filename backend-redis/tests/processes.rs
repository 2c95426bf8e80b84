//! Five processes, killed and restarted at random, over one server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tidelock::{JobId, RecordQuery, RecordStore, RunState};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, RedisSettings, namespace};
use tokio::time::{Instant, sleep};

const TTL: &str = "2000";
const TAKES: &str = "150";

/// Which process runs in which place, what all of them printed, in the order it came.
struct Fleet {
    program: PathBuf,
    url: String,
    namespace: String,
    nodes: Vec<Option<Child>>,
    printed: Arc<Mutex<Vec<String>>>,
}

impl Fleet {
    fn start(&mut self, place: usize) {
        let skew = [0, 300, -300, 900, -1_500][place];
        let mut child = Command::new(&self.program)
            .args(["--redis", &self.url, "--namespace", &self.namespace])
            .args(["--node", &format!("node-{place}"), "--takes", TAKES])
            .args(["--ttl", TTL, "--skew", &skew.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let printed = self.printed.clone();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                printed.lock().unwrap().push(line);
            }
        });
        self.nodes[place] = Some(child);
    }

    fn kill(&mut self, place: usize) {
        if let Some(mut child) = self.nodes[place].take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn terminate(&mut self) {
        for child in self.nodes.iter_mut().filter_map(Option::as_mut) {
            let kill = format!("kill -TERM {}", child.id());
            assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        }
        for mut child in self.nodes.iter_mut().filter_map(Option::take) {
            assert!(child.wait().unwrap().success(), "a node drains at SIGTERM");
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for place in 0..self.nodes.len() {
            self.kill(place);
        }
    }
}

/// The example, which cargo builds beside the tests.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().unwrap().parent().unwrap();
    let program = profile.join("examples/node");
    assert!(program.exists(), "cargo build -p tidelock-redis --example node");
    program
}

#[tokio::test]
async fn killed_processes_repeat_no_tick_and_every_run_is_accounted_for() {
    let seed = 20_261_129;
    let mut random = StdRng::seed_from_u64(seed);
    let server = RedisServer::start(RedisSettings::new());
    let mut fleet = Fleet {
        program: example(),
        url: server.url(),
        namespace: namespace(),
        nodes: (0..5).map(|_| None).collect(),
        printed: Arc::default(),
    };
    (0..5).for_each(|place| fleet.start(place));
    let begun = Instant::now();
    let mut kills = 0;
    while begun.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(random.random_range(300..2_500))).await;
        let place = random.random_range(0..5);
        if fleet.nodes[place].is_some() {
            fleet.kill(place);
            kills += 1;
        } else {
            fleet.start(place);
        }
    }
    // One more run closes what the last ones killed have left.
    (0..5).for_each(|place| {
        if fleet.nodes[place].is_none() {
            fleet.start(place);
        }
    });
    sleep(Duration::from_secs(6)).await;
    fleet.terminate();
    sleep(Duration::from_millis(300)).await;

    let backend = RedisBackend::builder(&fleet.namespace);
    let backend = backend.connect_lazy(&fleet.url).unwrap();
    let query = RecordQuery::newest(JobId::new("example").unwrap(), 1_000);
    let records = backend.list(&query).await.unwrap();
    let printed = fleet.printed.lock().unwrap().clone();
    let lines: Vec<Vec<&str>> = printed.iter().map(|line| line.split(' ').collect()).collect();

    // What the handlers did: no tick twice, no two at a time.
    let mut starts = BTreeMap::new();
    for line in lines.iter().filter(|line| line[0] == "start") {
        let before = starts.insert(line[1], line[3]);
        assert_eq!(before, None, "tick {} ran twice (seed {seed})", line[1]);
    }
    assert!(starts.len() > 20, "only {} runs (seed {seed})", starts.len());
    assert!(kills > 5, "only {kills} kills (seed {seed})");

    let time = |line: &Vec<&str>| line[4].parse::<i64>().unwrap();
    for end in lines.iter().filter(|line| line[0] == "end") {
        let of_this = |line: &&Vec<&str>| line[0] == "start" && line[3] == end[3];
        let start = time(lines.iter().find(of_this).unwrap());
        let inside = |line: &&Vec<&str>| {
            line[3] != end[3] && line[0] != "end" && (start..time(end)).contains(&time(line))
        };
        let other = lines.iter().filter(|line| line.len() == 5).find(inside);
        assert_eq!(other, None, "overlaps {end:?} (seed {seed})");
    }

    // What the records say of them.
    let mut ended = 0;
    for run in starts.values() {
        let record = records.iter().find(|r| r.run_id.to_string() == *run);
        let record = record.unwrap_or_else(|| panic!("run {run} has no record (seed {seed})"));
        let told = lines.iter().any(|line| line[0] == "end" && line[3] == *run);
        match record.state {
            RunState::Succeeded => ended += 1,
            // Its node was killed, between the end and the record at the latest.
            RunState::Abandoned => {}
            RunState::LockLost if !told => {}
            other => panic!("run {run} is {other} (seed {seed})"),
        }
    }
    // And every tick between the first and the last has a record or is among those missed.
    let mut accounted = BTreeMap::new();
    for record in &records {
        if let Some(ticks) = record.ticks {
            let (first, last) = (ticks.first.as_millisecond(), ticks.last.as_millisecond());
            for tick in (first..=last).step_by(1_000) {
                accounted.entry(tick).or_insert(record.state);
            }
        } else if let Some(tick) = record.occurrence {
            accounted.insert(tick.as_millisecond(), record.state);
        }
    }
    let (first, last) = (*accounted.keys().next().unwrap(), *accounted.keys().next_back().unwrap());
    let silent: Vec<_> =
        (first..=last).step_by(1_000).filter(|tick| !accounted.contains_key(tick)).collect();
    println!(
        "{} runs, {ended} ended, {kills} kills, {} ticks, unaccounted: {silent:?}",
        starts.len(),
        (last - first) / 1_000 + 1
    );
    // The reason of a tick that a killed node had skipped dies with it: the mark alone knows.
    assert!(silent.len() <= kills, "{silent:?} (seed {seed})");
}
