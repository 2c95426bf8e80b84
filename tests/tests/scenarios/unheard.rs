//! Clocks that are wrong while the backend cannot be asked what time it is.

use std::sync::Arc;

use tidelock::{ClockPolicy, ErrorKind, Job, JobId};
use tidelock_tests::{Fault, Op};
use tokio::time::{Instant, sleep};

use crate::fleet::{Diary, Fleet, ahead, job, ms, secs};
use crate::ledger::{each_told_once, ran, ticks};
use crate::node::{Node, stored, told};

const HOUR_MS: i64 = 3_600_000;

/// A node an hour ahead that has heard nothing of the backend yet.
async fn an_hour_ahead(fleet: &Fleet, diary: &Diary) -> Node {
    let clock = fleet.clock.skewed(ahead(HOUR_MS));
    Node::start_with(fleet, "a", clock, [job("j", "* * * * *", ms(10), diary)]).await
}

#[tokio::test(start_paused = true)]
async fn ticks_given_up_by_a_clock_an_hour_ahead_do_not_count_as_done() {
    for stepped_back in [false, true] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let node = an_hour_ahead(&fleet, &diary).await;
        node.faults.link().cut();
        sleep(secs(300)).await;
        if stepped_back {
            node.clock.step(ahead(-HOUR_MS));
            sleep(secs(60)).await;
        }
        node.faults.link().heal();
        sleep(secs(600)).await;
        let records = stored(&fleet, "j").await;
        // From the minute in which it was heard of on, or just after.
        assert!((9..=11).contains(&ran(&records).len()), "stepped: {stepped_back}, {records:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_ahead_whose_first_question_is_under_way_when_it_learns_the_time_is_not_mute() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = an_hour_ahead(&fleet, &diary).await;
    node.faults.next(Op::Inspect, Fault::DelayReply(ms(600)));
    node.faults.next(Op::Begin, Fault::DelayReply(ms(300)));
    sleep(secs(600)).await;
    let records = stored(&fleet, "j").await;
    each_told_once(&records, &ticks("2026-01-01T12:01:00Z", 60, 9));
    assert_eq!(ran(&records).len(), 9, "{records:#?}");
}

/// The machine sleeps for an hour, its monotonic clock too, and the network is back a while later
/// than the machine.
#[tokio::test(start_paused = true)]
async fn after_a_suspend_a_tick_is_on_time_even_when_the_backend_is_away_at_first() {
    for policy in [ClockPolicy::Warn, ClockPolicy::Correct] {
        for broken in [false, true] {
            let (fleet, diary) = (Fleet::new(), Diary::default());
            let start = Instant::now();
            let jobs = ["broken", "j"].map(|id| job(id, "30 13 * * *", ms(10), &diary));
            let backend = Arc::new(fleet.backend.clone());
            let clock = fleet.clock.clone();
            let node = Node::build(&fleet, "a", backend, clock, jobs.to_vec(), |node| {
                node.clock_policy(policy)
            })
            .await;
            sleep(secs(10)).await;
            if broken {
                let id = JobId::new("broken").unwrap();
                node.faults.always_of(&id, Op::Inspect, Fault::Fail(ErrorKind::Malformed));
                node.faults.always_of(&id, Op::Begin, Fault::Fail(ErrorKind::Malformed));
            }
            node.faults.link().cut();
            fleet.clock.step(ahead(HOUR_MS));
            sleep(secs(120)).await;
            node.faults.link().heal();
            sleep(secs(3_600)).await;
            let starts: Vec<_> = told(&diary, start).iter().map(|e| e.0).collect();
            assert_eq!(stored(&fleet, "j").await.len(), 1, "{policy:?}, {broken}: {starts:?}");
            assert!(starts.iter().all(|at| (1_800.0..1_801.0).contains(at)), "{starts:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answered_tick_stays_done_when_the_clock_is_set_back() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let count = diary.clone();
    let job = Job::new("j").cron("* * * * *").unwrap().run(move |run| {
        count.write(&run, "start");
        async {}
    });
    let node = Node::start_with(&fleet, "a", fleet.clock.clone(), [job]).await;
    sleep(secs(70)).await;
    let asked = node.faults.count(Op::Begin);
    assert_eq!(asked, 2);
    node.clock.step(ahead(-HOUR_MS));
    sleep(secs(3_540)).await;
    assert_eq!(node.faults.count(Op::Begin), asked, "what is done is not asked for again");
    sleep(secs(120)).await;
    assert_eq!(ran(&stored(&fleet, "j").await).len(), 3);
}
