//! Jobs that are replaced while they are being looked up.

use tidelock::{Job, Misfire};
use tidelock_tests::{Fault, Faults, Op};

use crate::fleet::{Diary, Fleet, job, ms};
use crate::ledger::{each_told_once, ran, ticks, until};
use crate::node::noting;

const EVERY_TEN: &str = "*/10 * * * * *";

fn backlogged(diary: &Diary) -> Job {
    let job = Job::new("j").cron(EVERY_TEN).unwrap().misfire(Misfire::All { max: 5 });
    noting(job, ms(10), diary)
}

#[tokio::test(start_paused = true)]
async fn a_job_that_waits_to_be_looked_up_is_not_forgotten_when_its_policy_changes() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let way = Faults::new(fleet.backend.clone());
    way.link().cut();
    let node = fleet.node_over(way.clone(), fleet.clock.clone(), "a");
    let node = node.job(backlogged(&diary)).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:00:15Z").await;
    // No more of a backlog than the newest.
    node.replace(job("j", EVERY_TEN, ms(10), &diary)).unwrap();
    until(&fleet, "2026-01-01T12:00:35Z").await;
    way.link().heal();
    until(&fleet, "2026-01-01T12:03:05Z").await;
    let records = node.history("j", 100).await.unwrap();
    assert!(ran(&records).len() >= 14, "{records:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_tick_that_is_asked_for_stays_the_only_one_when_a_backlog_is_wanted_from_now_on() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let way = Faults::new(fleet.backend.clone());
    way.next(Op::Inspect, Fault::Delay(ms(1_000)));
    way.next(Op::Begin, Fault::Delay(ms(1_500)));
    let node = fleet.node_over(way.clone(), fleet.clock.clone(), "a");
    let node = node.job(job("j", EVERY_TEN, ms(10), &diary)).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:00:00.2Z").await;
    node.replace(backlogged(&diary)).unwrap();
    until(&fleet, "2026-01-01T12:00:01.2Z").await;
    assert_eq!(way.count(Op::Begin), 1, "the first is not answered yet");
    until(&fleet, "2026-01-01T12:00:35Z").await;
    let records = node.history("j", 100).await.unwrap();
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 10, 4));
    assert_eq!(way.count(Op::Begin), 4);
}

#[tokio::test(start_paused = true)]
async fn a_look_that_is_answered_late_says_nothing_of_the_schedule_that_came_since() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let way = Faults::new(fleet.backend.clone());
    way.next(Op::Inspect, Fault::Delay(ms(1_800)));
    way.next(Op::Begin, Fault::Delay(ms(700)));
    let node = fleet.node_over(way.clone(), fleet.clock.clone(), "a");
    let node = node.job(job("j", EVERY_TEN, ms(10), &diary)).unwrap().start().await.unwrap();
    until(&fleet, "2026-01-01T12:00:00.5Z").await;
    node.replace(job("j", "5/10 * * * * *", ms(10), &diary)).unwrap();
    until(&fleet, "2026-01-01T12:00:30Z").await;
    let records = node.history("j", 100).await.unwrap();
    assert_eq!(ran(&records), ["12:00:00", "12:00:05", "12:00:15", "12:00:25"], "{records:#?}");
}
