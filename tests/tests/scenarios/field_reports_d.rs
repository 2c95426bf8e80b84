//! What went wrong for others with locks and several nodes (BR-035 to BR-052), where no other file
//! here has it.

use tidelock::{EventKind, Job, RunState};
use tidelock_tests::{Fault, Op};
use tokio::time::{Instant, sleep};

use crate::fleet::{Diary, Fleet, ahead, job, ms, secs};
use crate::node::{Node, lock, noting, states, stored, told};

/// BR-035: the fast node runs and releases before the slow node's clock comes to the tick.
#[tokio::test(start_paused = true)]
async fn a_short_job_does_not_run_again_on_a_node_two_seconds_behind() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let job = || job("j", "* * * * *", ms(50), &diary);
    let a = Node::start(&fleet, "a", [job()]).await;
    let b = Node::start_with(&fleet, "b", fleet.clock.skewed(ahead(-2_000)), [job()]).await;
    sleep(secs(10)).await;
    assert_eq!(states(&fleet, "j").await, [RunState::Succeeded]);
    let lost = |node: &Node| node.scheduler.health().ticks_lost;
    assert_eq!((lost(&a), lost(&b)), (0, 1), "the slow one hears that it is taken");
}

/// BR-036: one node is ten minutes fast; here it does not even run early.
#[tokio::test(start_paused = true)]
async fn a_node_ten_minutes_ahead_neither_repeats_a_weekly_job_nor_runs_it_early() {
    let fleet = Fleet::starting("2026-01-05T06:40:00Z");
    let (diary, start) = (Diary::default(), Instant::now());
    let job = || job("j", "0 7 * * 1", ms(50), &diary);
    let _right = [Node::start(&fleet, "a", [job()]).await, Node::start(&fleet, "b", [job()]).await];
    let mut fast = Node::start_with(&fleet, "c", fleet.clock.skewed(ahead(600_000)), [job()]).await;
    sleep(secs(3_600)).await;
    let starts: Vec<_> = told(&diary, start).into_iter().filter(|e| e.2 == "start").collect();
    assert_eq!(starts.len(), 1);
    assert!((1_199.0..1_201.0).contains(&starts[0].0), "{starts:?}");
    let warned =
        |kind: &EventKind| matches!(kind, EventKind::ClockSkew(s) if s.ahead.as_secs() == 600);
    assert!(fast.events().iter().any(warned));
}

/// BR-040: what one node sent before it was cut off arrives when the lock is another's.
#[tokio::test(start_paused = true)]
async fn a_renewal_and_a_release_that_come_a_minute_late_touch_nobodys_lock() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let job = || noting(Job::new("j").cron("* * * * *").unwrap(), secs(50), &diary);
    let a = Node::start(&fleet, "a", [job()]).await;
    sleep(secs(5)).await;
    a.faults.always(Op::Renew, Fault::ArriveLate(secs(60)));
    a.faults.always(Op::Finish, Fault::ArriveLate(secs(40)));
    a.faults.always(Op::Begin, Fault::LoseRequest);
    let _b = Node::start(&fleet, "b", [job()]).await;
    sleep(ms(55_600)).await;
    let granted = Instant::now() - ms(100);
    let first = lock(&fleet, "j").await.held.unwrap();
    // Renewals of the first run arrive from 70.5 s on, its ends from 67 s on.
    while granted.elapsed() < secs(45) {
        sleep(ms(250)).await;
        let held = lock(&fleet, "j").await.held.unwrap();
        assert_eq!(held.holder, first.holder);
        let own = granted.elapsed().as_millis() % 10_000;
        let left = u64::try_from(30_000 - own).unwrap();
        assert_eq!(held.expires_in, ms(left), "after {:?}", granted.elapsed());
    }
    sleep(secs(10)).await;
    assert_eq!(states(&fleet, "j").await, [RunState::LockLost, RunState::Succeeded]);
}

/// BR-045: whoever asked is gone when the grant arrives.
#[tokio::test(start_paused = true)]
async fn a_grant_that_nobody_waits_for_any_more_blocks_its_job_for_no_longer_than_its_ttl() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let job = || noting(Job::new("j").cron("* * * * *").unwrap(), secs(5), &diary);
    let a = Node::start(&fleet, "a", [job()]).await;
    a.faults.next(Op::Begin, Fault::HangReply);
    sleep(ms(600)).await;
    drop(a.scheduler);
    assert!(lock(&fleet, "j").await.held.is_some());
    sleep(secs(30)).await;
    assert_eq!(lock(&fleet, "j").await.held, None);
    let _b = Node::start(&fleet, "b", [job()]).await;
    sleep(secs(40)).await;
    assert_eq!((diary.count("start"), diary.count("end")), (1, 1));
    let closed = stored(&fleet, "j").await[0].state;
    assert!(closed.is_final(), "{closed:?}");
}

/// BR-049: the reply to a grant is lost, and the retry is not refused by one's own lock.
#[tokio::test(start_paused = true)]
async fn a_grant_whose_reply_was_lost_is_one_run_under_one_token() {
    for fault in [Fault::LoseReply, Fault::HangReply] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let job = || noting(Job::new("j").cron("* * * * *").unwrap(), secs(5), &diary);
        let a = Node::start(&fleet, "a", [job()]).await;
        let b = Node::start(&fleet, "b", [job()]).await;
        a.faults.next(Op::Begin, fault);
        // The other one comes later, and finds it taken.
        b.faults.next(Op::Begin, Fault::Delay(ms(20)));
        sleep(ms(600)).await;
        let token = lock(&fleet, "j").await.token.unwrap();
        sleep(secs(5)).await;
        let held = lock(&fleet, "j").await.held;
        assert!(held.is_none_or(|held| held.expires_in <= secs(30)));
        sleep(secs(5)).await;
        let records = stored(&fleet, "j").await;
        assert_eq!((records.len(), diary.count("start")), (1, 1), "{fault:?}");
        let [start, ..] = &diary.entries()[..] else { panic!("no run") };
        assert_eq!((start.token, &*start.node), (token.get(), "a"));
        assert_eq!((records[0].run_id, records[0].state), (start.run_id, RunState::Succeeded));
    }
}
