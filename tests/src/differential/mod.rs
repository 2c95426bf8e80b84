//! Random calls have the same outcomes on the memory backend and on another one.

mod history;
mod outcome;
mod pair;

use std::future::Future;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use pair::{Outcome, Pair};
use tidelock::Backend;

/// How many records of a kind the backends shall keep.
pub const KEEP: u32 = 5;

/// How fast a backend forgets.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The TTL of locks that are waited for.
    pub brief: Duration,
    /// How long it takes until such a lock has surely expired.
    pub wait: Duration,
    /// For how long after it was set such a lock has surely not expired.
    pub sure: Duration,
}

/// How two backends are compared.
#[derive(Clone, Copy, Debug)]
pub struct Differential {
    /// How fast the other one forgets.
    pub times: Times,
    /// How many series of up to 60 calls.
    pub cases: u32,
    /// Whether it closes the records of abandoned runs with the grant that names them.
    pub closes: bool,
}

/// One call, or a wait. Numbers choose among what there is, by remainder.
#[derive(Clone, Debug)]
enum Step {
    Ask { tick: u8, brief: bool, kind: Kind, begin: bool },
    AskAgain(u8),
    Renew(u8, bool),
    Release(u8),
    Finish(u8, u8),
    Force(bool),
    Save(u8, u8),
    SaveNew(u8),
    Wait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Consume,
    Skip,
    Manual,
    Early,
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        6 => Just(Kind::Plain),
        3 => Just(Kind::Consume),
        1 => Just(Kind::Skip),
        2 => Just(Kind::Manual),
        1 => Just(Kind::Early),
    ];
    prop_oneof![
        10 => (0..12u8, any::<bool>(), kind, prop::bool::weighted(0.7))
            .prop_map(|(tick, brief, kind, begin)| Step::Ask { tick, brief, kind, begin }),
        4 => any::<u8>().prop_map(Step::AskAgain),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(lease, brief)| Step::Renew(lease, brief)),
        2 => any::<u8>().prop_map(Step::Release),
        5 => (any::<u8>(), any::<u8>()).prop_map(|(lease, state)| Step::Finish(lease, state)),
        1 => any::<bool>().prop_map(Step::Force),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(run, state)| Step::Save(run, state)),
        3 => any::<u8>().prop_map(Step::SaveNew),
        1 => Just(Step::Wait),
    ]
}

impl Differential {
    /// Sends random calls to the memory backend and to a fresh other one, and compares each answer
    /// and all that both know after it. `fresh` gives one that keeps [`KEEP`] records of a kind.
    /// Several series go on at a time: they mostly wait.
    ///
    /// # Panics
    ///
    /// When they differ, with the calls, shrunk; or when the machine is too busy to tell.
    pub fn run<F>(self, fresh: impl Fn() -> F + Sync)
    where
        F: Future<Output = Arc<dyn Backend>>,
    {
        let counts = Counts::default();
        let ran: Result<(), String> = thread::scope(|threads| {
            let each = || self.series(&fresh, &counts);
            let all: Vec<_> = (0..AT_A_TIME).map(|_| threads.spawn(each)).collect();
            let ran: Vec<_> = all.into_iter().map(thread::ScopedJoinHandle::join).collect();
            ran.into_iter().try_for_each(|ran| ran.unwrap_or_else(|it| resume_unwind(it)))
        });
        if let Err(failure) = ran {
            panic!("{failure}");
        }
        let [compared, slow] =
            [&counts.compared, &counts.slow].map(|count| count.load(Ordering::Relaxed));
        tell(&format!("{compared} calls compared, {slow} cases too slow"));
        assert!(compared > 300, "the machine is too busy to tell");
    }

    /// One after the other, its part of all cases.
    fn series<F>(self, fresh: &impl Fn() -> F, counts: &Counts) -> Result<(), String>
    where
        F: Future<Output = Arc<dyn Backend>>,
    {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let config = Config {
            cases: self.cases.div_ceil(AT_A_TIME),
            failure_persistence: None, // a failure prints its steps, shrunk
            max_shrink_iters: 60,
            ..Config::default()
        };
        let cases = prop::collection::vec(step(), 1..60);
        let ran = TestRunner::new(config).run(&cases, |steps| {
            runtime.block_on(async {
                let mut pair = Pair::new(fresh().await, self.times, self.closes).await;
                for step in &steps {
                    match pair.step(step).await {
                        Outcome::Same => counts.compared.fetch_add(1, Ordering::Relaxed),
                        // The machine was too busy to tell what has expired by now.
                        Outcome::TooSlow => {
                            counts.slow.fetch_add(1, Ordering::Relaxed);
                            return Ok(());
                        }
                        Outcome::Different(how) => {
                            // Before the series is shrunk, which may take long.
                            tell(&format!("{steps:?}\n{step:?}: {how}"));
                            return Err(TestCaseError::fail(format!("{step:?}: {how}")));
                        }
                    };
                }
                Ok(())
            })
        });
        ran.map_err(|failure| failure.to_string())
    }
}

/// How many series go on at a time.
const AT_A_TIME: u32 = 4;

/// What became of the calls.
#[derive(Debug, Default)]
struct Counts {
    compared: AtomicUsize,
    slow: AtomicUsize,
}

#[expect(clippy::print_stdout, reason = "for whoever runs the test")]
fn tell(what: &str) {
    println!("{what}");
}
