//! Blocking code that waits long for its thread: whether it may begin is asked when it has one.

use tidelock::{Clear, ErrorKind, Job, JobBuilder, JobId, LockBackend, LockKey, RunState};
use tidelock_tests::{Fault, Op};
use tokio::time::sleep;

use crate::fleet::{Diary, Fleet, ahead, ms, secs};
use crate::node::{Node, assert_tidy, states};

/// A node whose job's code has its thread at 5.7 s: the tick is at 0.5 s.
async fn queued(fleet: &Fleet, diary: &Diary) -> Node {
    let written = diary.clone();
    let job: JobBuilder = Job::new("j").cron("* * * * *").unwrap().lock_ttl(secs(3));
    let job = job.run_blocking(move |run| written.write(&run, "ran"));
    let node = Node::start(fleet, "a", [job]).await;
    node.spawner.blocking_takes(ms(5_200));
    node
}

#[tokio::test(start_paused = true)]
async fn code_that_finds_its_lease_dead_begins_when_a_renewal_was_under_way() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = queued(&fleet, &diary).await;
    // The renewal at 5.5 s is on its way when all stands still.
    sleep(ms(5_300)).await;
    node.faults.next(Op::Renew, Fault::DelayReply(ms(50)));
    sleep(ms(220)).await;
    node.spawner.freeze();
    sleep(ms(1_800)).await;
    // 2.8 s after the renewal before, 1.8 s after that one.
    node.spawner.thaw();
    sleep(ms(1)).await;
    assert_eq!(diary.count("ran"), 0, "the code came before the answer");
    sleep(secs(20)).await;
    assert_eq!((states(&fleet, "j").await, diary.count("ran")), (vec![RunState::Succeeded], 1));
    assert_tidy(&fleet, "j").await;
}

#[tokio::test(start_paused = true)]
async fn code_that_finds_its_lease_dead_and_not_renewed_does_not_begin() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = queued(&fleet, &diary).await;
    sleep(ms(5_300)).await;
    node.spawner.freeze();
    sleep(secs(4)).await;
    node.spawner.thaw();
    sleep(secs(20)).await;
    assert_eq!((states(&fleet, "j").await, diary.count("ran")), (vec![RunState::LockLost], 0));
    assert_tidy(&fleet, "j").await;
}

/// The machine has slept while the code was waiting: only its wall clock shows it.
#[tokio::test(start_paused = true)]
async fn after_a_jump_of_the_wall_clock_code_begins_when_a_renewal_has_settled_it() {
    for held in [true, false] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let node = queued(&fleet, &diary).await;
        sleep(ms(5_450)).await;
        if !held {
            let key = LockKey::of(&JobId::new("j").unwrap());
            let _ = fleet.backend.force_release(&key, Clear::Lock).await.unwrap();
        }
        node.faults.next(Op::Renew, Fault::Fail(ErrorKind::Unavailable));
        node.faults.next(Op::Renew, Fault::Delay(ms(500)));
        node.clock.step(ahead(3_600_000));
        sleep(ms(500)).await;
        assert_eq!(diary.count("ran"), 0, "held: {held}");
        sleep(secs(20)).await;
        let (state, ran) = if held { (RunState::Succeeded, 1) } else { (RunState::LockLost, 0) };
        assert_eq!((states(&fleet, "j").await, diary.count("ran")), (vec![state], ran));
        assert_tidy(&fleet, "j").await;
    }
}
