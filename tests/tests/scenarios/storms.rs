//! Faults at random: whatever gets lost, late or refused, the account comes out right.

use tidelock::{Clock, Job, RunState};
use tidelock_tests::{Chaos, Faults};

use crate::fleet::{Diary, Fleet, ahead, at, ms, secs};
use crate::ledger::{
    each_told_once, held_by, never_two, none_told_twice, open_runs, records, ticks,
};

const FIRST: &str = "2026-01-01T12:00:00Z";

/// Half an hour of a job that takes 3 of its 10 s, on three nodes whose calls fail, get lost,
/// arrive late or take long; one of them at a time is cut off now and then, or `all`, with a
/// moment of connection in between.
async fn storm(seed: u64, all: bool) {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let (mut nodes, mut ways) = (Vec::new(), Vec::new());
    for (n, name) in ["a", "b", "c"].into_iter().enumerate() {
        let way = Faults::new(fleet.backend.clone());
        let chaos = Chaos::seeded(seed * 3 + n as u64).fail(0.05).lose_request(0.05);
        let chaos = chaos.lose_reply(0.1).arrive_late(0.05, secs(8)).delay(0.1, secs(3));
        way.random(chaos);
        let diary = diary.clone();
        let job = Job::new("j").cron("*/10 * * * * *").unwrap().run(move |run| {
            let open = diary.open(&run);
            async move {
                tokio::time::sleep(secs(3)).await;
                drop(open);
            }
        });
        let clock = fleet.clock.skewed(ahead(300 * n as i64 - 300));
        let node = fleet.node_over(way.clone(), clock, &format!("{name}{seed}"));
        nodes.push(node.job(job).unwrap().start().await.unwrap());
        ways.push(way);
    }
    for step in 0..30_u64 {
        tokio::time::sleep(ms(43_000 + 400 * seed)).await;
        let one = usize::try_from((step + seed) % 3).unwrap();
        let hit = if all { &ways[..] } else { &ways[one..=one] };
        for (times, apart) in [(7_000, 500), (31_000, 1)] {
            for way in hit {
                if step % 2 == 0 {
                    way.link().cut();
                } else {
                    way.link().cut_silently();
                }
            }
            tokio::time::sleep(ms(times + 300 * step)).await;
            hit.iter().for_each(|way| way.link().heal());
            tokio::time::sleep(ms(apart)).await;
        }
    }
    ways.iter().for_each(Faults::clear);
    // A minute of calm, up to 8 s after a tick.
    let calm = 68_000 - fleet.clock.now().as_millisecond() % 10_000;
    tokio::time::sleep(ms(calm.unsigned_abs())).await;
    let told = records(&nodes).await;
    let passed = fleet.clock.now().duration_since(at(FIRST));
    let count = passed.as_secs() / 10 + 1;
    if all {
        none_told_twice(&told, &ticks(FIRST, 10, count));
    } else {
        each_told_once(&told, &ticks(FIRST, 10, count));
    }
    never_two(&diary);
    assert_eq!((held_by(&fleet, "j").await, open_runs(&fleet, "j").await), (None, 0));
    assert!(told.iter().all(|record| record.state.is_final()), "{told:#?}");
    let ran = told.iter().filter(|record| record.state == RunState::Succeeded).count();
    assert!(ran as i64 > count / 3, "{ran} of {count}");
}

#[tokio::test(start_paused = true)]
async fn in_any_storm_no_tick_runs_twice_and_each_is_told_once() {
    for seed in 0..50 {
        println!("seed {seed}");
        storm(seed, false).await;
    }
}

/// A tick that was consumed or granted without its node hearing of it, and whose mark has moved
/// on when the node asks again, is told of by nobody, or only as a run that was abandoned.
#[tokio::test(start_paused = true)]
async fn in_storms_with_outages_no_tick_runs_twice_and_none_is_told_twice() {
    for seed in 0..50 {
        println!("seed {seed}");
        storm(seed, true).await;
    }
}
