//! Processes that stand still, and clocks that jump, while a job runs.

use tidelock::{Clear, ErrorKind, Job, JobBuilder, JobId, LockBackend, LockKey, RunState};
use tidelock_tests::{Fault, Op};
use tokio::time::{Instant, sleep};

use crate::fleet::{Diary, Fleet, ahead, ms, secs};
use crate::ledger::{each_told_once, ticks};
use crate::node::{Node, assert_tidy, lock, noting, states, stored, told};

const HOUR_MS: i64 = 3_600_000;

/// A job that notes each time it is polled, once a second.
fn polled(builder: JobBuilder, for_secs: u64, diary: &Diary) -> Job {
    let diary = diary.clone();
    builder.run(move |run| {
        let diary = diary.clone();
        async move {
            for _ in 0..for_secs {
                diary.write(&run, "polled");
                sleep(secs(1)).await;
            }
            diary.write(&run, "end");
        }
    })
}

fn each_minute() -> JobBuilder {
    Job::new("j").cron("* * * * *").unwrap()
}

/// BR-044: no renewal for longer than the TTL, and another node goes on meanwhile.
#[tokio::test(start_paused = true)]
async fn a_process_frozen_for_longer_than_its_ttl_does_not_go_on_with_its_job() {
    for frozen in [ms(28_000), secs(35), secs(90)] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let a = Node::start(&fleet, "a", [polled(each_minute(), 50, &diary)]).await;
        sleep(ms(5_700)).await;
        let b = Node::start(&fleet, "b", [polled(each_minute(), 50, &diary)]).await;
        let polls = diary.count("polled");
        a.spawner.freeze();
        sleep(frozen).await;
        let by_a = |diary: &Diary| diary.entries().iter().filter(|e| e.node == "a").count();
        assert_eq!(by_a(&diary), polls);
        let held = lock(&fleet, "j").await.held;
        a.spawner.thaw();
        sleep(ms(1)).await;
        assert_eq!(by_a(&diary), polls, "polled after {frozen:?} in the ice");
        let after = lock(&fleet, "j").await.held;
        if let Some(held) = held.filter(|held| held.node.as_str() == "b") {
            assert_eq!(after.unwrap().holder, held.holder);
        } else {
            assert_eq!(after, None);
        }
        sleep(secs(170)).await;
        let records = stored(&fleet, "j").await;
        assert_eq!(records[0].state, RunState::LockLost, "{frozen:?}");
        assert!(records[1..].iter().all(|r| r.state != RunState::LockLost), "{records:#?}");
        let overlaps =
            diary.entries().windows(2).filter(|pair| pair[0].node != pair[1].node).count();
        assert!(overlaps <= 4, "runs of two nodes alternate: {:?}", told(&diary, Instant::now()));
        drop(b);
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_frozen_for_less_than_its_lease_goes_on() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = Node::start(&fleet, "a", [polled(each_minute(), 50, &diary)]).await;
    sleep(ms(5_700)).await;
    node.spawner.freeze();
    sleep(secs(15)).await;
    node.spawner.thaw();
    sleep(secs(60)).await;
    assert_eq!(states(&fleet, "j").await[0], RunState::Succeeded);
}

/// The machine has slept, monotonic clock and all: only its wall clock shows it.
#[tokio::test(start_paused = true)]
async fn after_a_jump_of_the_wall_clock_the_handler_waits_until_a_renewal_has_settled_it() {
    for fixed in [false, true] {
        for held in [true, false] {
            let (fleet, diary) = (Fleet::new(), Diary::default());
            let job =
                if fixed { each_minute().fixed_lease().lock_ttl(secs(58)) } else { each_minute() };
            let a = Node::start(&fleet, "a", [polled(job, 20, &diary)]).await;
            sleep(ms(5_700)).await;
            assert_eq!(diary.count("polled"), 6);
            if !held {
                let key = LockKey::of(&JobId::new("j").unwrap());
                let _ = fleet.backend.force_release(&key, Clear::Lock).await.unwrap();
            }
            // The first question fails, the second takes half a second.
            let op = if fixed { Op::Inspect } else { Op::Renew };
            a.faults.next(op, Fault::Fail(ErrorKind::Unavailable));
            a.faults.next(op, Fault::Delay(ms(500)));
            let asked = a.faults.count(op);
            a.clock.step(ahead(HOUR_MS));
            sleep(ms(950)).await;
            assert_eq!(diary.count("polled"), 6, "fixed: {fixed}, held: {held}");
            sleep(secs(30)).await;
            let (state, polled) =
                if held { (RunState::Succeeded, 20) } else { (RunState::LockLost, 6) };
            assert_eq!(states(&fleet, "j").await, [state], "fixed: {fixed}");
            assert_eq!(diary.count("polled"), polled, "fixed: {fixed}, held: {held}");
            let more = if fixed { 0 } else { 3 };
            assert!(a.faults.count(op) <= asked + 3 + more, "fixed: {fixed}, held: {held}");
            assert_tidy(&fleet, "j").await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_set_back_in_mid_run_does_not_stop_it() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = Node::start(&fleet, "a", [polled(each_minute(), 45, &diary)]).await;
    sleep(ms(5_700)).await;
    node.clock.step(ahead(-HOUR_MS));
    sleep(secs(50)).await;
    assert_eq!(states(&fleet, "j").await, [RunState::Succeeded]);
    assert_eq!(node.faults.count(Op::Renew), 4, "and costs no renewal");
}

#[tokio::test(start_paused = true)]
async fn a_grant_heard_of_past_its_deadline_starts_nothing() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let a = Node::start(&fleet, "a", [noting(each_minute(), secs(5), &diary)]).await;
    a.faults.next(Op::Begin, Fault::DelayReply(ms(200)));
    sleep(ms(600)).await;
    a.spawner.freeze();
    sleep(secs(28)).await;
    a.spawner.thaw();
    sleep(secs(5)).await;
    assert_eq!(diary.count("start"), 0);
    let records = stored(&fleet, "j").await;
    assert_eq!(records.len(), 1, "{records:#?}");
    assert_eq!(records[0].state, RunState::LockLost);
    assert!(records[0].error().is_some());
    assert_tidy(&fleet, "j").await;
    sleep(secs(60)).await;
    assert_eq!(diary.count("end"), 1, "the next tick runs");
}

/// BR-033: the loop stands still for three ticks; then one of them runs, and all goes on as before.
#[tokio::test(start_paused = true)]
async fn a_scheduler_that_stood_still_catches_up_once_and_is_on_time_again() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let start = Instant::now();
    let job = crate::fleet::job("j", "*/30 * * * * *", ms(10), &diary);
    let node = Node::start(&fleet, "a", [job]).await;
    sleep(secs(1)).await;
    node.spawner.freeze();
    sleep(secs(95)).await;
    node.spawner.thaw();
    sleep(secs(60)).await;
    let starts: Vec<_> =
        told(&diary, start).iter().filter(|e| e.2 == "start").map(|e| e.0).collect();
    assert_eq!(starts, [0.5, 96.0, 120.5, 150.5]);
    let records = stored(&fleet, "j").await;
    each_told_once(&records, &ticks("2026-01-01T12:00:00Z", 30, 6));
    assert_eq!(node.faults.count(Op::Begin), 4, "one question a tick that is asked for");
    let next = node.scheduler.next("j", 1).unwrap();
    assert_eq!(next[0].to_string(), "2026-01-01T12:03:00Z");
}
