//! The watchdog: it keeps a lock for as long as its run goes on, and not a moment longer.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::sync::{Arc, Mutex};
use tidelock::{Job, RunNowError, RunState};
use tidelock_tests::{Chaos, Fault, Op};
use tokio::time::sleep;

use crate::fleet::{Diary, Fleet, in_state, ms, secs};
use crate::node::{Node, assert_tidy, lock, noting, states, stored};

#[tokio::test(start_paused = true)]
async fn a_lock_is_held_for_twenty_ttls_and_gone_when_its_run_ends() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let job = || {
        let job = Job::new("j").cron("0 * * * *").unwrap();
        noting(job.lock_ttl(secs(3)), secs(60), &diary)
    };
    let (a, b) = (Node::start(&fleet, "a", [job()]).await, Node::start(&fleet, "b", [job()]).await);
    sleep(ms(600)).await;
    let first = lock(&fleet, "j").await;
    for _ in 0..59 {
        sleep(secs(1)).await;
        let state = lock(&fleet, "j").await;
        let held = state.held.unwrap();
        assert_eq!(held.holder, first.held.as_ref().unwrap().holder);
        assert!(held.expires_in > secs(2), "{held:?}");
        let refused = b.scheduler.run_now("j").await;
        assert!(matches!(refused, Err(RunNowError::Held { .. })), "{refused:?}");
    }
    sleep(secs(1)).await;
    assert_eq!(a.faults.count(Op::Renew) + b.faults.count(Op::Renew), 59);
    assert_eq!(states(&fleet, "j").await, [RunState::Succeeded]);
    assert_tidy(&fleet, "j").await;
    sleep(secs(30)).await;
    assert_eq!(a.faults.count(Op::Renew) + b.faults.count(Op::Renew), 59);
    assert_tidy(&fleet, "j").await;
}

/// A renewal is under way when the run ends: the lock is gone all the same, and stays so when the
/// renewal arrives at last.
#[tokio::test(start_paused = true)]
async fn a_renewal_on_its_way_does_not_outlive_the_run() {
    for fault in
        [Fault::Delay(ms(800)), Fault::ArriveLate(ms(800)), Fault::DelayReply(ms(800)), Fault::Hang]
    {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let job = Job::new("j").cron("0 * * * *").unwrap();
        let node = Node::start(&fleet, "a", [noting(job, ms(10_300), &diary)]).await;
        node.faults.always(Op::Renew, fault);
        sleep(ms(10_799)).await;
        assert!(lock(&fleet, "j").await.held.is_some(), "{fault:?}");
        sleep(ms(3)).await;
        let renewals = node.faults.count(Op::Renew);
        assert_eq!(diary.count("end"), 1, "{fault:?}");
        assert_tidy(&fleet, "j").await;
        sleep(secs(60)).await;
        assert_tidy(&fleet, "j").await;
        assert_eq!(node.faults.count(Op::Renew), renewals, "{fault:?}");
        assert_eq!(states(&fleet, "j").await, [RunState::Succeeded], "{fault:?}");
    }
}

/// BR-042: release while a renewal is under way, release at once, ten thousand times.
#[tokio::test(start_paused = true)]
async fn ten_thousand_runs_of_any_length_leave_no_lock_behind() {
    let fleet = Fleet::new();
    let seed = 42;
    let random = Arc::new(Mutex::new(StdRng::seed_from_u64(seed)));
    let job = Job::new("j").every(secs(1)).unwrap().lock_ttl(ms(600));
    let job = job.run(move |_| {
        let takes = random.lock().unwrap().random_range(0..500);
        async move {
            if takes > 10 {
                sleep(ms(takes)).await;
            }
        }
    });
    let node = Node::start(&fleet, "a", [job]).await;
    node.faults.random(Chaos::seeded(seed).delay(0.5, ms(60)));
    sleep(ms(499)).await;
    for _ in 0..10_000 {
        sleep(secs(1)).await;
        let state = lock(&fleet, "j").await;
        assert!(state.held.is_none() && state.open_runs.is_empty(), "{state:?}");
    }
    let records = stored(&fleet, "j").await;
    assert_eq!(in_state(&records, RunState::Succeeded).len(), 10_000, "seed {seed}");
    assert_eq!(records.len(), 10_000, "seed {seed}");
}

/// BR-045: one lock's renewals fail, those of others go on.
#[tokio::test(start_paused = true)]
async fn renewals_of_one_job_that_fail_do_no_harm_to_others() {
    for fault in [Fault::Panic, Fault::Hang, Fault::LoseRequest] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let job = |id: &str| noting(Job::new(id).cron("0 * * * *").unwrap(), secs(90), &diary);
        let node = Node::start(&fleet, "a", ["one", "two", "three"].map(job)).await;
        let two = tidelock::JobId::new("two").unwrap();
        node.faults.always_of(&two, Op::Renew, fault);
        sleep(secs(100)).await;
        for (id, state) in [
            ("one", RunState::Succeeded),
            ("two", RunState::LockLost),
            ("three", RunState::Succeeded),
        ] {
            assert_eq!(states(&fleet, id).await, [state], "{fault:?}");
            assert_tidy(&fleet, id).await;
        }
    }
}
