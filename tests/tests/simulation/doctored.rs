//! Traces that were tampered with: what is worked out from what nodes heard is enough to see it.

use tidelock_tests::simulation::{Plan, Promise, Real, Trace, What, draw_real, judge, rehearse};

/// A plan with some runs, and its trace, in which nothing is wrong.
fn played() -> (Plan, Trace) {
    let plan = draw_real(4, 60, Real::new(&[1_000, 2_000]));
    let trace = rehearse(&plan);
    assert_eq!(judge(&plan, &trace), []);
    (plan, trace)
}

/// The promises that are not kept in a trace that was tampered with.
fn broken(tamper: impl FnOnce(&mut Trace)) -> Vec<Promise> {
    let (plan, mut trace) = played();
    tamper(&mut trace);
    let mut broken: Vec<_> = judge(&plan, &trace).iter().map(|finding| finding.promise).collect();
    broken.sort();
    broken.dedup();
    broken
}

fn place(trace: &Trace, is_it: impl Fn(&What) -> bool) -> usize {
    trace.events.iter().position(|event| is_it(&event.what)).expect("such an event")
}

#[test]
fn a_tick_that_runs_twice_is_found() {
    let found = broken(|trace| {
        let at = place(trace, |what| matches!(what, What::Began(it) if it.tick.is_some()));
        trace.events.insert(at, trace.events[at]);
    });
    assert!(found.contains(&Promise::OncePerTick), "{found:?}");
}

#[test]
fn a_handler_that_goes_on_past_the_slack_is_found() {
    let found = broken(|trace| {
        // The end of one comes after the grant of the next of its job but one.
        let ended = place(trace, |what| matches!(what, What::Ended(..)));
        let What::Ended(handler, _) = trace.events[ended].what else { unreachable!() };
        let mut event = trace.events.remove(ended);
        let later = |what: &What| match what {
            What::Granted { ask, .. } => ask.job == handler.job,
            _ => false,
        };
        let later: Vec<_> =
            (ended..trace.events.len()).filter(|&at| later(&trace.events[at].what)).collect();
        let at = later[4];
        event.at = trace.events[at].at;
        trace.events.insert(at + 1, event);
    });
    assert!(found.contains(&Promise::NoOverlap), "{found:?}");
}

#[test]
fn a_token_that_does_not_grow_is_found() {
    let found = broken(|trace| {
        let granted: Vec<_> = (0..trace.events.len())
            .filter(
                |&at| matches!(trace.events[at].what, What::Granted { ask, .. } if ask.job == 0),
            )
            .collect();
        let What::Granted { token: old, .. } = trace.events[granted[2]].what else {
            unreachable!()
        };
        if let What::Granted { token, .. } = &mut trace.events[granted[5]].what {
            *token = old;
        }
    });
    assert!(found.contains(&Promise::TokensGrow), "{found:?}");
}

#[test]
fn a_record_that_is_gone_is_found() {
    let found = broken(|trace| {
        let records = &mut trace.left[0].records;
        let at = records.iter().position(|record| record.token.is_some()).expect("a run");
        records.remove(at);
    });
    assert!(found.contains(&Promise::OneRecord), "{found:?}");
}

#[test]
fn ticks_of_which_nothing_tells_are_found() {
    let found = broken(|trace| {
        for left in &mut trace.left {
            left.records.retain(|record| record.ticks.is_none());
        }
    });
    assert!(found.contains(&Promise::NothingSilent), "{found:?}");
}

#[test]
fn a_fleet_that_does_nothing_after_the_healing_is_found() {
    let found = broken(|trace| {
        let calm = place(trace, |what| *what == What::Calm);
        let mut place = 0;
        trace.events.retain(|event| {
            place += 1;
            place <= calm
                || !matches!(
                    event.what,
                    What::Granted { .. } | What::Consumed { .. } | What::Began(_)
                )
        });
    });
    assert!(found.contains(&Promise::Liveness), "{found:?}");
}

#[test]
fn a_lock_that_is_left_is_found() {
    let found = broken(|trace| {
        let state = &mut trace.left[0].state;
        state.token = None;
    });
    assert_eq!(found, [Promise::Tidy]);
}
