//! Plans for real time, in simulated time: what is worked out from what nodes heard is judged as
//! what a backend tells that is looked into.

use tidelock_tests::simulation::{Real, Tally, draw_real, judge, rehearse};

const PLANS: u64 = 150;

#[test]
fn what_nodes_heard_is_enough_to_judge_by() {
    let mut all = Tally::default();
    for seed in 0..PLANS {
        let plan = draw_real(seed, 60, Real::new(&[1_000, 2_000, 3_000]));
        let trace = rehearse(&plan);
        let findings = judge(&plan, &trace);
        assert!(findings.is_empty(), "seed {seed}: {findings:#?}\n{plan}\n{}", trace.text());
        all = all.and(&Tally::of(&plan, &trace, 0));
    }
    println!("{all}");
    assert!(all.runs > 5_000 && all.unknown > 50, "{all}");
}

/// Several nodes asked for a tick whose answer all of them lost: one of those that asked before the
/// next tick was taken moved the mark there.
#[test]
fn a_move_that_nobody_heard_of_is_of_one_who_had_asked_by_then() {
    for seed in [164, 1_190] {
        let plan = draw_real(seed, 60, Real::new(&[1_000, 2_000, 3_000]));
        let findings = judge(&plan, &rehearse(&plan));
        assert!(findings.is_empty(), "seed {seed}: {findings:#?}");
    }
}
