//! Random calls have the same outcomes on the memory backend and on Redis.

mod outcome;
mod pair;

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use pair::{Outcome, Pair};

/// One call, or a wait. Numbers choose among what there is, by remainder.
#[derive(Clone, Debug)]
pub(crate) enum Step {
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
pub(crate) enum Kind {
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

#[test]
fn random_calls_have_the_same_outcomes_in_memory_and_on_redis() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (compared, slow) = (Cell::new(0), Cell::new(0));
    let config = Config {
        cases: 60,
        failure_persistence: None, // a failure prints its steps, shrunk
        max_shrink_iters: 200,
        ..Config::default()
    };
    let cases = prop::collection::vec(step(), 1..60);
    let ran = TestRunner::new(config).run(&cases, |steps| {
        runtime.block_on(async {
            let mut pair = Pair::new().await;
            for step in &steps {
                match pair.step(step).await {
                    Outcome::Same => compared.set(compared.get() + 1),
                    // The machine was too busy to tell what has expired by now.
                    Outcome::TooSlow => {
                        slow.set(slow.get() + 1);
                        return Ok(());
                    }
                    Outcome::Different(how) => {
                        return Err(TestCaseError::fail(format!("{step:?}: {how}")));
                    }
                }
            }
            Ok(())
        })
    });
    if let Err(failure) = ran {
        panic!("{failure}");
    }
    println!("{} calls compared, {} cases too slow", compared.get(), slow.get());
    assert!(compared.get() > 300, "the machine is too busy to tell");
}
