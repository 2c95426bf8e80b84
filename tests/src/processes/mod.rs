//! Nodes as processes, killed and started again at random.

mod account;
mod contained;
mod containers;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tidelock::Record;
use tokio::time::{Instant, sleep};

pub use account::Account;
pub use contained::ContainedFleet;
pub use containers::Containers;

/// How wrong each node's clock is, in milliseconds.
const SKEWS: [i64; 5] = [0, 300, -300, 900, -1_500];

/// Five processes of a backend's example `node`, whose job `example` is due each second, takes
/// 150 ms and prints when it starts and when it ends. They end with this value.
#[derive(Debug)]
pub struct Fleet {
    program: PathBuf,
    arguments: Vec<String>,
    nodes: Vec<Option<Child>>,
    printed: Arc<Mutex<Vec<String>>>,
    seed: u64,
    kills: usize,
}

impl Fleet {
    /// Starts five nodes with these arguments, of which the first is the option that says where the
    /// backend is, and with a name, a skew and `--takes` of their own.
    ///
    /// # Panics
    ///
    /// When cargo has not built the example beside this test.
    pub fn start(arguments: &[&str]) -> Self {
        let mut fleet = Self {
            program: program(arguments[0]),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            nodes: SKEWS.iter().map(|_| None).collect(),
            printed: Arc::default(),
            seed: 20_261_129,
            kills: 0,
        };
        fleet.start_all();
        fleet
    }

    /// Kills (SIGKILL) and starts nodes at random for that long; then all run, and end as a
    /// service is ended.
    ///
    /// # Panics
    ///
    /// When a node does not drain at SIGTERM.
    pub async fn live_dangerously(&mut self, time: Duration) {
        let mut random = StdRng::seed_from_u64(self.seed);
        let begun = Instant::now();
        while begun.elapsed() < time {
            sleep(Duration::from_millis(random.random_range(300..2_500))).await;
            let place = random.random_range(0..self.nodes.len());
            if self.nodes[place].is_some() {
                self.kill(place);
                self.kills += 1;
            } else {
                self.launch(place);
            }
        }
        // One more run closes what the last ones killed have left.
        self.start_all();
        sleep(Duration::from_secs(6)).await;
        self.terminate();
        sleep(Duration::from_millis(300)).await;
    }

    /// What the nodes' job did, compared with what the records say of it.
    ///
    /// # Panics
    ///
    /// When a tick ran twice, two runs overlapped, or one is not accounted for.
    pub fn account(&self, records: &[Record]) -> Account {
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        account::settle(&printed, records, self.kills, self.seed)
    }

    fn start_all(&mut self) {
        for place in 0..self.nodes.len() {
            if self.nodes[place].is_none() {
                self.launch(place);
            }
        }
    }

    fn launch(&mut self, place: usize) {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .args(["--node", &format!("node-{place}"), "--takes", "150"])
            .args(["--skew", &SKEWS[place].to_string()]);
        self.nodes[place] = Some(collect(&mut command, &self.printed));
    }

    fn kill(&mut self, place: usize) {
        if let Some(mut child) = self.nodes[place].take() {
            child.kill().expect("a process of this one");
            child.wait().expect("its end");
        }
    }

    fn terminate(&mut self) {
        for child in self.nodes.iter_mut().filter_map(Option::as_mut) {
            let kill = format!("kill -TERM {}", child.id());
            let sent = Command::new("sh").args(["-c", &kill]).status();
            assert!(sent.is_ok_and(|status| status.success()), "{kill}");
        }
        for mut child in self.nodes.iter_mut().filter_map(Option::take) {
            let ended = child.wait().expect("its end");
            assert!(ended.success(), "a node drains at SIGTERM");
        }
    }
}

/// Starts a program and collects what it prints.
fn collect(command: &mut Command, printed: &Arc<Mutex<Vec<String>>>) -> Child {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("a program");
    let printed = printed.clone();
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            printed.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    });
    child
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in self.nodes.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The example that knows that option: the backends' examples share a name, and cargo a folder
/// for them.
fn program(option: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    let profile = test.ancestors().nth(2).expect("a folder of cargo's");
    let files = std::fs::read_dir(profile.join("examples")).into_iter().flatten().flatten();
    let mut found: Vec<_> = files
        .filter(|file| file.file_name().to_string_lossy().starts_with("node-"))
        .map(|file| file.path())
        .filter(|path| path.extension().is_none())
        .collect();
    found.sort_by_key(|path| path.metadata().and_then(|file| file.modified()).ok());
    let knows = |path: &&PathBuf| {
        let asked = Command::new(path).output();
        asked.is_ok_and(|said| String::from_utf8_lossy(&said.stderr).contains(option))
    };
    let newest = found.iter().rev().find(knows);
    newest.unwrap_or_else(|| panic!("cargo build --example node: none knows {option}")).clone()
}
