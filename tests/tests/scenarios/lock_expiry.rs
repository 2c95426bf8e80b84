//! The lock expires, or may have expired, while the job still runs.

use tidelock::{ErrorKind, Job, JobBuilder, Misfire, RunState};
use tidelock_tests::{Fault, Op};
use tokio::time::{Instant, sleep};

use crate::fleet::{Diary, Fleet, ms, secs};
use crate::node::{Node, assert_tidy, lock, noting, states, stored, told};

fn each_minute() -> JobBuilder {
    Job::new("j").cron("* * * * *").unwrap()
}

/// The seconds at which something happened, counted from the tick of 12:00:00.
fn seconds(diary: &Diary, tick: Instant) -> Vec<(f64, &'static str)> {
    let told = told(diary, tick);
    told.into_iter().map(|(at, _, what)| (at, what)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_fixed_lease_drops_its_handler_before_the_lock_expires() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let tick = Instant::now() + ms(500);
    let job = noting(each_minute().fixed_lease().lock_ttl(secs(10)), secs(100), &diary);
    let node = Node::start(&fleet, "a", [job]).await;
    sleep(ms(9_400)).await;
    // A moment before it is dropped: nobody else can have been granted anything.
    assert!(lock(&fleet, "j").await.held.is_some());
    sleep(secs(2)).await;
    assert_eq!(seconds(&diary, tick), [(0.0, "start"), (8.0, "told"), (9.0, "dropped")]);
    assert_eq!(states(&fleet, "j").await, [RunState::LockLost]);
    assert_tidy(&fleet, "j").await;
    sleep(secs(60)).await;
    assert_eq!(diary.count("start"), 2, "the next tick runs");
    assert_eq!(node.faults.count(Op::Renew), 0);
}

#[tokio::test(start_paused = true)]
async fn renewals_that_fail_drop_the_handler_before_the_lock_expires() {
    for fault in [
        Fault::Fail(ErrorKind::Unavailable),
        Fault::Fail(ErrorKind::Denied),
        Fault::LoseReply,
        Fault::Hang,
        Fault::HangReply,
        Fault::Panic,
    ] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let tick = Instant::now() + ms(500);
        let node = Node::start(&fleet, "a", [noting(each_minute(), secs(50), &diary)]).await;
        node.faults.always(Op::Renew, fault);
        sleep(secs(29)).await;
        assert_eq!(
            seconds(&diary, tick),
            [(0.0, "start"), (24.0, "told"), (27.0, "dropped")],
            "{fault:?}"
        );
        assert_eq!(states(&fleet, "j").await, [RunState::LockLost], "{fault:?}");
        assert_tidy(&fleet, "j").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_cut_off_in_mid_run_stops_and_the_next_tick_runs_elsewhere() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let tick = Instant::now() + ms(500);
    let job = || noting(each_minute(), secs(50), &diary);
    let a = Node::start(&fleet, "a", [job()]).await;
    sleep(secs(5)).await;
    let b = Node::start(&fleet, "b", [job()]).await;
    a.faults.link().cut();
    sleep(secs(57)).await;
    // The lock of the first run has expired, and that of the second is in force.
    let second = lock(&fleet, "j").await;
    assert_eq!(second.held.as_ref().unwrap().node.as_str(), "b");
    assert_eq!(states(&fleet, "j").await, [RunState::Abandoned, RunState::Running]);
    let renewals = b.faults.count(Op::Renew);
    a.faults.link().heal();
    sleep(secs(6)).await;
    assert_eq!(b.faults.count(Op::Renew), renewals);
    let after = lock(&fleet, "j").await;
    let (before_held, after_held) = (second.held.unwrap(), after.held.unwrap());
    assert_eq!(after_held.holder, before_held.holder);
    // Nobody has touched it: its life has gone down by the time gone by.
    assert_eq!(before_held.expires_in - after_held.expires_in, secs(6));
    assert_eq!(after.token, second.token);
    // What the first one says of its own end is better than what others thought of it.
    assert_eq!(states(&fleet, "j").await, [RunState::LockLost, RunState::Running]);
    sleep(secs(50)).await;
    assert_eq!(states(&fleet, "j").await, [RunState::LockLost, RunState::Succeeded]);
    let told = told(&diary, tick);
    let told: Vec<_> = told.iter().map(|(at, node, what)| (*at, &**node, *what)).collect();
    assert_eq!(
        told,
        [
            (0.0, "a", "start"),
            (24.0, "a", "told"),
            (27.0, "a", "dropped"),
            (60.0, "b", "start"),
            (110.0, "b", "end"),
        ]
    );
    let tokens: Vec<_> = stored(&fleet, "j").await.iter().map(|r| r.token).collect();
    assert!(tokens[0] < tokens[1], "{tokens:?}");
}

/// BR-047: the key is gone; renewing does not bring it back, and to release it is no error.
#[tokio::test(start_paused = true)]
async fn a_lock_taken_away_is_noticed_at_the_next_renewal() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let tick = Instant::now() + ms(500);
    let node = Node::start(&fleet, "a", [noting(each_minute(), secs(50), &diary)]).await;
    sleep(secs(15)).await;
    use tidelock::{Clear, JobId, LockBackend, LockKey};
    let key = LockKey::of(&JobId::new("j").unwrap());
    let freed = fleet.backend.force_release(&key, Clear::Lock).await.unwrap();
    assert_eq!(freed.value, tidelock::Release::Released);
    sleep(secs(10)).await;
    assert_eq!(seconds(&diary, tick), [(0.0, "start"), (20.0, "dropped")]);
    assert_eq!(states(&fleet, "j").await, [RunState::LockLost]);
    assert_eq!(node.faults.count(Op::Finish), 1, "not held is an answer, not a failure");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_heard_of_past_the_deadline_revives_nothing() {
    for answer in [Fault::DelayReply(ms(450)), Fault::Hang] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let written = diary.clone();
        // Code on a thread, so that the run outlives its lease.
        let job = each_minute().lock_ttl(secs(3)).misfire(Misfire::Skip);
        let job = job.run_blocking(move |run| written.write(&run, "end of thread"));
        let node = Node::start(&fleet, "a", [job]).await;
        node.spawner.blocking_takes(secs(20));
        node.faults.always(Op::Renew, Fault::LoseRequest);
        sleep(ms(2_900)).await;
        // The next one is sent in time, and nothing is heard of it before the deadline at 2.7 s.
        node.faults.always(Op::Renew, answer);
        sleep(secs(9)).await;
        let renewals = node.faults.count(Op::Renew);
        sleep(secs(5)).await;
        assert_eq!(node.faults.count(Op::Renew), renewals, "{answer:?}");
        let records = stored(&fleet, "j").await;
        assert_eq!(records.len(), 1, "{answer:?}");
        assert_eq!(records[0].state, RunState::LockLost, "{answer:?}");
        assert!(records[0].still_running, "{answer:?}");
        sleep(secs(10)).await;
        assert_eq!(stored(&fleet, "j").await, records);
    }
}
