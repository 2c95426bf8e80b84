use std::time::Duration;

use tidelock::Job;

use super::super::event::Event;
use super::super::lost::lost;
use super::*;
use crate::simulation::Simulation;

const MINUTE: Duration = Duration::from_secs(60);
const SECOND_US: u64 = 1_000_000;

/// What one node and then another one took, and in the middle ticks of which no record tells: the
/// backend was away in minutes 3 and 4.
fn silenced() -> (Trace, Plan) {
    let minutely = Job::new("minutely").cron("* * * * *").unwrap().run(|_| async {});
    let fleet = Simulation::new([minutely]).nodes(2).outage(MINUTE * 5 / 2, 2 * MINUTE);
    let (mut trace, plan) = fleet.run_for(8 * MINUTE).into_parts();
    assert_eq!(lost_ticks(&trace), []);
    trace.left[0].records.retain(|record| !record.state.is_tick_not_run());
    (trace, plan)
}

fn lost_ticks(trace: &Trace) -> Vec<Timestamp> {
    let minutes = (1..=7).map(|n| trace.start + MINUTE * n);
    lost(trace, 0, &minutes.collect::<Vec<_>>())
}

fn silent(trace: &Trace, plan: &Plan) -> Option<(u64, Timestamp)> {
    Losses::of(trace, plan).silent(trace, 0, &lost_ticks(trace))
}

/// The first grant from a moment on.
fn granted(trace: &Trace, from: u64) -> (u64, Ask) {
    let mut granted = trace.events.iter().filter_map(|event| match event.what {
        What::Granted { ask, .. } if event.at >= from => Some((event.at, ask)),
        _ => None,
    });
    granted.next().unwrap()
}

/// A node was not shut down, but died at that moment.
fn dies(trace: &mut Trace, died: Life, at: u64) {
    let shut_down = |what| matches!(what, What::Stopped { life, .. } if life == died);
    trace.events.retain(|event| !shut_down(event.what));
    put(trace, at, What::Killed(died));
}

fn put(trace: &mut Trace, at: u64, what: What) {
    let place = trace.events.partition_point(|event| event.at <= at);
    trace.events.insert(place, Event { at, what });
}

/// As if all grants from a moment on had been this node's.
fn hand_over(trace: &mut Trace, from: u64, life: Life) {
    for event in trace.events.iter_mut().filter(|event| event.at >= from) {
        if let What::Granted { ask, .. } = &mut event.what {
            ask.life = life;
        }
    }
}

#[test]
fn a_tick_that_was_passed_over_and_that_nothing_tells_of_is_found() {
    let (trace, plan) = silenced();
    let lost = lost_ticks(&trace);
    assert_eq!(lost.first(), Some(&(trace.start + MINUTE * 3)));
    let (at, tick) = silent(&trace, &plan).unwrap();
    assert_eq!(tick, lost[0]);
    assert!(at > 4 * 60_000_000, "{at}");
}

#[test]
fn a_node_that_dies_may_take_with_it_what_it_was_told() {
    let (trace, plan) = silenced();
    let (at, _) = silent(&trace, &plan).unwrap();
    let (_, ask) = granted(&trace, at);
    let found = |tamper: &dyn Fn(&mut Trace)| {
        let mut trace = trace.clone();
        tamper(&mut trace);
        silent(&trace, &plan).is_some()
    };
    assert!(!found(&|trace| dies(trace, ask.life, at + SECOND_US)));
    // Not what others were told, and not what it has told long since.
    assert!(found(&|trace| dies(trace, 1 - ask.life, at + SECOND_US)));
    assert!(found(&|trace| dies(trace, ask.life, at + 60 * SECOND_US)));
    assert!(found(&|trace| {
        trace.events.retain(|event| !matches!(event.what, What::Stopped { .. }));
    }));
    // Unless it could not tell it until then.
    assert!(!found(&|trace| {
        put(trace, at - SECOND_US, What::RecordsAway(ask.life));
        put(trace, at + 58 * SECOND_US, What::AsEver(ask.life));
        dies(trace, ask.life, at + 60 * SECOND_US);
    }));
    assert!(found(&|trace| {
        put(trace, at - SECOND_US, What::RecordsAway(ask.life));
        put(trace, at + 30 * SECOND_US, What::AsEver(ask.life));
        dies(trace, ask.life, at + 60 * SECOND_US);
    }));
}

#[test]
fn a_node_may_take_with_it_what_was_named_to_it() {
    let (mut trace, plan) = silenced();
    let (at, ask) = {
        let (at, _) = silent(&trace, &plan).unwrap();
        granted(&trace, at)
    };
    let (next_at, other) = (granted(&trace, at + 1).0, 1 - ask.life);
    hand_over(&mut trace, next_at, other);
    dies(&mut trace, other, next_at + SECOND_US);
    assert!(silent(&trace, &plan).is_some(), "it was told and forgotten before");
    trace
        .events
        .retain(|event| !matches!(event.what, What::Released { run, .. } if run == ask.run));
    assert!(silent(&trace, &plan).is_none());
}

#[test]
fn a_run_may_be_lost_with_its_node_where_its_record_was_not_taken() {
    let (trace, plan) = silenced();
    let (at, ask) = granted(&trace, 0);
    let mut apart = plan.clone();
    apart.store.apart = true;
    let excused = |plan: &Plan, tamper: &dyn Fn(&mut Trace)| {
        let mut trace = trace.clone();
        tamper(&mut trace);
        Losses::of(&trace, plan).excuse_run(at, ask)
    };
    let soon = |trace: &mut Trace| dies(trace, ask.life, at + SECOND_US);
    let late = |trace: &mut Trace| dies(trace, ask.life, at + 70 * SECOND_US);
    let other = |trace: &mut Trace| dies(trace, 1 - ask.life, at + SECOND_US);
    assert!(!excused(&plan, &|_| {}) && !excused(&apart, &|_| {}));
    assert!(!excused(&plan, &soon) && excused(&apart, &soon));
    assert!(!excused(&plan, &late) && !excused(&apart, &late));
    assert!(!excused(&plan, &other) && !excused(&apart, &other));
    // In one place, only what the store did not take.
    let withheld = |from: u64, dies: &dyn Fn(&mut Trace)| {
        excused(&plan, &|trace| {
            dies(trace);
            put(trace, from, What::RecordsAway(ask.life));
        })
    };
    assert!(withheld(at - SECOND_US, &soon) && withheld(at - SECOND_US, &late));
    assert!(!withheld(at + 30 * SECOND_US, &soon) && !withheld(at - SECOND_US, &other));
    // One that had not ended is closed by the next.
    let unended = |trace: &mut Trace| {
        dies(trace, ask.life, at + SECOND_US);
        trace.events.retain(|event| match event.what {
            What::Released { run, .. } | What::Finished { run, .. } => run != ask.run,
            _ => true,
        });
        hand_over(trace, at + 1, 1 - ask.life);
    };
    assert!(!excused(&apart, &unended));
    assert!(excused(&apart, &|trace| {
        unended(trace);
        let (next, _) = granted(trace, at + 1);
        trace.events.retain(|event| event.at < next);
    }));
}
