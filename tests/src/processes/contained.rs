//! Nodes in containers: killed, paused, and cut off from one another at random.

use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tidelock::Record;
use tokio::time::{Instant, sleep};

use super::{Account, Containers, SKEWS, account, collect, program};

/// Five containers of a backend's example `node`, as of [`Processes`](super::Processes).
#[derive(Debug)]
pub struct ContainedProcesses<'a> {
    containers: &'a Containers,
    image: String,
    /// Its name in the image.
    program: String,
    arguments: Vec<String>,
    nodes: Vec<Node>,
    printed: Arc<Mutex<Vec<String>>>,
    seed: u64,
    troubles: usize,
}

/// One place in the fleet.
#[derive(Debug, Default)]
struct Node {
    process: Option<Child>,
    trouble: Option<Trouble>,
}

/// What is done to a container, until it is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Cut,
    Paused,
}

impl<'a> ContainedProcesses<'a> {
    /// Starts five nodes with these arguments, of which the first is the option that says where the
    /// backend is, and with a name, a skew and `--takes` of their own.
    ///
    /// # Panics
    ///
    /// When cargo has not built the example beside this test, or no container engine answers.
    pub fn start(containers: &'a Containers, seed: u64, arguments: &[&str]) -> Self {
        let program = program(arguments[0]);
        let mut fleet = Self {
            containers,
            image: containers.image(&program),
            program: program.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            nodes: SKEWS.iter().map(|_| Node::default()).collect(),
            printed: Arc::default(),
            seed,
            troubles: 0,
        };
        (0..fleet.nodes.len()).for_each(|place| fleet.launch(place));
        fleet
    }

    /// The seed and the time of a run by hand, from `TIDELOCK_FLEET_SEED` and
    /// `TIDELOCK_FLEET_SECONDS`; by default one seed, and that time.
    ///
    /// # Panics
    ///
    /// When they are no numbers.
    pub fn chosen(time: Duration) -> (u64, Duration) {
        let number = |name| {
            let text = std::env::var(name).ok()?;
            Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a number")))
        };
        let seconds = number("TIDELOCK_FLEET_SECONDS").unwrap_or(time.as_secs());
        (number("TIDELOCK_FLEET_SEED").unwrap_or(20_261_129), Duration::from_secs(seconds))
    }

    /// Kills and starts, pauses, cuts off and puts back nodes and servers at random for that long;
    /// then all is well, and all nodes end as a service is ended.
    ///
    /// # Panics
    ///
    /// When a node does not drain at SIGTERM.
    pub async fn live_dangerously(&mut self, servers: &[&str], time: Duration) {
        let mut random = StdRng::seed_from_u64(self.seed);
        let mut server_trouble: Option<(&str, Trouble)> = None;
        let begun = Instant::now();
        while begun.elapsed() < time {
            sleep(Duration::from_millis(random.random_range(300..1_500))).await;
            // The servers have one trouble at a time: with more, no tick would run at all.
            if random.random_range(0..4) == 0 {
                server_trouble = match server_trouble.take() {
                    Some((name, trouble)) => {
                        self.undo(name, trouble);
                        None
                    }
                    None => {
                        let name = servers[random.random_range(0..servers.len())];
                        let trouble = any_trouble(&mut random);
                        assert!(self.make(name, trouble), "{name} has ended");
                        Some((name, trouble))
                    }
                };
                continue;
            }
            let place = random.random_range(0..self.nodes.len());
            self.next_of(place, &mut random);
        }
        if let Some((name, trouble)) = server_trouble {
            self.undo(name, trouble);
        }
        // One more run closes what the last ones killed have left. A node whose server was not yet
        // there at its start has ended, and is started again.
        for _ in 0..8 {
            (0..self.nodes.len()).for_each(|place| self.mend(place));
            sleep(Duration::from_secs(1)).await;
        }
        self.terminate().await;
        sleep(Duration::from_millis(300)).await;
    }

    /// What the nodes' job did, compared with what the records say of it.
    ///
    /// # Panics
    ///
    /// When a tick ran twice, two runs overlapped, or one is not accounted for.
    pub fn account(&self, records: &[Record]) -> Account {
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        account::settle(&printed, records, self.troubles, self.seed)
    }

    /// A node that is well gets a trouble, one that is not is well again.
    fn next_of(&mut self, place: usize, random: &mut StdRng) {
        if !self.runs(place) || self.nodes[place].trouble.is_some() {
            self.mend(place);
        } else if random.random_range(0..3) == 0 {
            self.kill(place);
        } else {
            let trouble = any_trouble(random);
            // It may have ended just now, where it did not reach its server at its start.
            self.nodes[place].trouble = self.make(&name(place), trouble).then_some(trouble);
        }
    }

    fn mend(&mut self, place: usize) {
        // One that was cut off before it reached its server has ended.
        if let Some(trouble) = self.nodes[place].trouble.take()
            && self.runs(place)
        {
            self.undo(&name(place), trouble);
        }
        if !self.runs(place) {
            self.launch(place);
        }
    }

    /// A node that does not reach its server at its start has ended.
    fn runs(&mut self, place: usize) -> bool {
        let process = self.nodes[place].process.as_mut();
        process.is_some_and(|process| matches!(process.try_wait(), Ok(None)))
    }

    /// Whether there was one to do it to.
    fn make(&mut self, name: &str, trouble: Trouble) -> bool {
        let made = match trouble {
            Trouble::Cut => self.containers.cut(name),
            Trouble::Paused => self.containers.pause(name),
        };
        self.troubles += usize::from(made);
        made
    }

    fn undo(&self, name: &str, trouble: Trouble) {
        match trouble {
            Trouble::Cut => self.containers.heal(name),
            Trouble::Paused => self.containers.unpause(name),
        };
    }

    fn launch(&mut self, place: usize) {
        let mut command = self.containers.foreground(&self.image, &name(place));
        command
            .arg(&self.program)
            .args(&self.arguments)
            .args(["--node", &name(place), "--takes", "150"])
            .args(["--skew", &SKEWS[place].to_string()]);
        self.nodes[place].process = Some(collect(&mut command, &self.printed));
    }

    fn kill(&mut self, place: usize) {
        self.containers.signal(&name(place), "KILL");
        self.troubles += 1;
        if let Some(mut process) = self.nodes[place].process.take() {
            let _ = process.wait();
        }
    }

    /// Tells all nodes to end, again and again: the first process of a container that does not
    /// listen yet hears no signal.
    async fn terminate(&mut self) {
        let begun = Instant::now();
        while (0..self.nodes.len()).any(|place| self.runs(place)) {
            assert!(begun.elapsed() < Duration::from_secs(60), "a node does not end at SIGTERM");
            for place in 0..self.nodes.len() {
                self.containers.signal(&name(place), "TERM");
            }
            sleep(Duration::from_secs(1)).await;
        }
        for mut process in self.nodes.iter_mut().filter_map(|node| node.process.take()) {
            let ended = process.wait().expect("its end");
            assert!(ended.success(), "a node drains at SIGTERM");
        }
    }
}

fn any_trouble(random: &mut StdRng) -> Trouble {
    if random.random() { Trouble::Cut } else { Trouble::Paused }
}

fn name(place: usize) -> String {
    format!("node-{place}")
}
