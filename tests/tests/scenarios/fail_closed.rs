//! Without a grant there is no run, whatever else a backend says or does not say.

use std::time::Duration;

use tidelock::{
    AcquireRequest, Acquisition, ErrorKind, EventKind, Fingerprint, Holder, JobId, LockBackend,
    LockKey, NodeId, RunId, RunNowError, RunState, SkipReason,
};
use tidelock_tests::{Fault, Op};
use tokio::time::sleep;

use crate::fleet::{Diary, Fleet, job, ms, secs};
use crate::node::{Node, states, stored};

/// Takes the lock of job `j` for somebody else, for that long.
async fn take(fleet: &Fleet, ttl: Duration) {
    let node = NodeId::new("stranger").unwrap();
    let request = AcquireRequest::new(
        LockKey::of(&JobId::new("j").unwrap()),
        Holder::new(&node, 1),
        RunId::new(1),
        node,
        None,
        Fingerprint::new(0),
        ttl,
    );
    let answer = fleet.backend.acquire(&request).await.unwrap().value;
    assert!(matches!(answer, Acquisition::Granted(_)), "{answer:?}");
}

/// BR-038 and BR-039: whatever a backend says that is no grant, it is no "go ahead".
#[tokio::test(start_paused = true)]
async fn without_a_grant_no_node_runs_anything() {
    for fault in [
        None,
        Some(Fault::Fail(ErrorKind::Malformed)),
        Some(Fault::Fail(ErrorKind::Denied)),
        Some(Fault::Fail(ErrorKind::Misconfigured)),
        Some(Fault::Fail(ErrorKind::Unavailable)),
        Some(Fault::LoseRequest),
        Some(Fault::Hang),
        Some(Fault::Panic),
    ] {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let mut nodes = Vec::new();
        for name in ["a", "b", "c", "d"] {
            let jobs = ["j", "other"].map(|id| job(id, "* * * * *", ms(10), &diary));
            let node = Node::start(&fleet, name, jobs).await;
            if let Some(fault) = fault {
                node.faults.always_of(&JobId::new("j").unwrap(), Op::Begin, fault);
            }
            nodes.push(node);
        }
        if fault.is_none() {
            take(&fleet, secs(3_600)).await;
        }
        sleep(secs(180)).await;
        let wanted: Vec<_> = vec![RunState::Succeeded; 3];
        assert_eq!(states(&fleet, "other").await, wanted, "{fault:?}");
        assert_eq!(diary.count("start"), 3, "{fault:?}: somebody ran without a lease");
        for node in &mut nodes {
            let events = node.events();
            let failed = |kind: &&EventKind| matches!(kind, EventKind::BackendFailed { .. });
            let failed = events.iter().filter(failed).count();
            assert_eq!(failed == 0, fault.is_none(), "{fault:?}: {events:#?}");
            // Asked at each tick anew, and not without a pause.
            let asked = node.faults.count(Op::Begin);
            assert!((4..=600).contains(&asked), "{fault:?}: asked {asked} times");
        }
    }
}

/// BR-049: held by another and no answer are two things.
#[tokio::test(start_paused = true)]
async fn a_lock_that_another_holds_is_told_apart_from_a_backend_that_does_not_answer() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let job = job("j", "* * * * *", ms(10), &diary);
    let mut node = Node::start(&fleet, "a", [job]).await;
    take(&fleet, secs(90)).await;
    sleep(secs(1)).await;
    let records = stored(&fleet, "j").await;
    assert_eq!(records[0].state, RunState::Skipped(SkipReason::Overlap));
    assert_eq!(records[0].blocked_by, Some(RunId::new(1)));
    let held = node.scheduler.run_now("j").await;
    assert!(matches!(&held, Err(RunNowError::Held { node, .. }) if node.as_str() == "stranger"));
    node.events();
    node.faults.link().cut_silently();
    let silent = node.scheduler.run_now("j").await;
    assert!(
        matches!(&silent, Err(RunNowError::Backend(error)) if error.kind == ErrorKind::Timeout)
    );
    let timeout = |kind: &EventKind| {
        matches!(kind, EventKind::BackendFailed { kind: ErrorKind::Timeout, .. })
    };
    assert!(node.events().iter().any(timeout));
}
