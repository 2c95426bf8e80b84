//! Ticks that fall due before a job was looked up, and ticks that nothing comes after.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use tidelock::{Job, Misfire, Occurrences, RunState, Schedule, SkipReason};
use tidelock_tests::{Fault, Faults, Op};
use tokio::time::sleep;

use crate::fleet::{Diary, Fleet, ahead, at, job, ms, secs};
use crate::ledger::{each_told_once, ran, ticks, until};
use crate::node::states;

#[tokio::test(start_paused = true)]
async fn a_backlog_that_grew_before_the_first_look_is_run() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let way = Faults::new(fleet.backend.clone());
    way.link().cut();
    let node = fleet.node_over(way.clone(), fleet.clock.clone(), "a");
    let (log, all) = (diary.clone(), Misfire::All { max: 10 });
    let job = Job::new("j").cron("* * * * *").unwrap().misfire(all).run(move |run| {
        log.write(&run, "start");
        async {}
    });
    let node = node.job(job).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:04:30Z").await;
    way.link().heal();
    until(&fleet, "2026-01-01T12:05:30Z").await;
    let told = node.history("j", 100).await.unwrap();
    each_told_once(&told, &ticks("2026-01-01T12:00:00Z", 60, 6));
}

#[tokio::test(start_paused = true)]
async fn a_splayed_tick_outlives_a_replacement_and_a_slow_first_look() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let way = Faults::new(fleet.backend.clone());
    way.next(Op::Inspect, Fault::Delay(ms(1_500)));
    let splayed = || {
        let diary = diary.clone();
        Job::new("j").cron("* * * * *").unwrap().splay(secs(50)).run(move |run| {
            diary.write(&run, "start");
            async {}
        })
    };
    let node = fleet.node_over(way.clone(), fleet.clock.clone(), "a");
    let node = node.job(splayed()).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:00:03Z").await;
    node.replace(splayed()).unwrap();
    until(&fleet, "2026-01-01T12:02:00Z").await;
    let told = node.history("j", 100).await.unwrap();
    assert_eq!(ran(&told), ["12:00:00", "12:01:00"]);
}

#[tokio::test(start_paused = true)]
async fn an_instant_that_passes_while_the_backend_is_away_is_told_of_once() {
    let fleet = Fleet::new();
    let (mut nodes, mut ways) = (Vec::new(), Vec::new());
    for name in ["a", "b", "c"] {
        let way = Faults::new(fleet.backend.clone());
        let once = Job::new("j").once(at("2026-01-01T12:10:00Z")).run(|_| async {});
        let node = fleet.node_over(way.clone(), fleet.clock.clone(), name);
        nodes.push(node.job(once).unwrap().start().await.unwrap());
        ways.push(way);
    }
    until(&fleet, "2026-01-01T12:05:00Z").await;
    ways.iter().for_each(|way| way.link().cut());
    until(&fleet, "2026-01-01T14:05:00Z").await;
    ways.iter().for_each(|way| way.link().heal());
    sleep(secs(60)).await;
    assert_eq!(states(&fleet, "j").await, [RunState::Skipped(SkipReason::Misfire)]);
}

/// Each second; counts how often it is asked.
#[derive(Debug)]
struct Counted(Arc<AtomicU64>);

impl Occurrences for Counted {
    fn next_after(&self, t: Timestamp) -> Option<Timestamp> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Timestamp::from_second(t.as_second() + 1).ok()
    }

    fn name(&self) -> String {
        "counted".to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn a_backlog_without_a_limit_costs_no_more_than_a_long_one() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let calls = Arc::new(AtomicU64::new(0));
    let all = Job::new("all")
        .schedule(Schedule::custom(Counted(calls.clone())))
        .misfire(Misfire::All { max: u32::MAX })
        .run(|_| async { sleep(secs(1)).await });
    let node = fleet.node("a").job(all).unwrap();
    let minutely = job("j", "* * * * *", secs(1), &diary);
    let node = node.job(minutely).unwrap().start().await.unwrap();
    sleep(secs(10)).await;
    fleet.clock.step(ahead(30 * 86_400_000));
    sleep(secs(50)).await;
    assert!((40..70).contains(&node.health().runs));
    let calls = calls.load(Ordering::Relaxed);
    assert!(calls < 50 * 60_000, "{calls}");
}
