//! Jobs that are taken out or replaced at awkward moments.

use std::sync::{Arc, Mutex, mpsc};

use tidelock::{Control, Job};
use tidelock_tests::{Faults, NodeSpawner};
use tokio::time::sleep;

use crate::fleet::{Diary, Fleet, job, ms, secs};
use crate::ledger::until;

#[tokio::test(start_paused = true)]
async fn replacing_jobs_while_the_backend_is_away_leaves_no_task_behind() {
    let fleet = Fleet::new();
    let way = Faults::new(fleet.backend.clone());
    way.link().cut();
    let process = NodeSpawner::new();
    let node = fleet.node_over(way.clone(), fleet.clock.clone(), "a").spawner(process.clone());
    let node = node.start().await.unwrap();
    for _ in 0..1_000 {
        node.replace(job("j", "0 0 * * *", secs(1), &Diary::default())).unwrap();
        sleep(secs(1)).await;
    }
    assert!(process.tasks() < 20, "{}", process.tasks());
    node.remove("j");
    sleep(secs(30)).await;
    let idle = process.tasks();
    assert!(idle < 5, "{idle}");
}

#[tokio::test(start_paused = true)]
async fn a_removed_job_does_not_run_a_tick_that_waited_for_a_place() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let node = fleet.node("a").max_running(1);
    let node = node.job(job("first", "0 12 * * *", secs(60), &Diary::default())).unwrap();
    let node = node.start().await.unwrap();
    until(&fleet, "2026-01-01T12:00:01Z").await;
    node.add(job("second", "2 0 12 * * *", secs(1), &diary)).unwrap();
    until(&fleet, "2026-01-01T12:00:03Z").await;
    assert!(node.remove("second"));
    until(&fleet, "2026-01-01T12:05:00Z").await;
    assert_eq!(diary.count("start"), 0);
}

/// Takes job `child` out when it is dropped.
struct Removes(Arc<Mutex<Option<Control>>>);

impl Drop for Removes {
    fn drop(&mut self) {
        if let Some(control) = &*self.0.lock().unwrap() {
            control.remove("child");
        }
    }
}

#[tokio::test]
async fn what_a_handler_owns_may_work_the_scheduler_when_it_is_dropped() {
    let fleet = Fleet::new();
    let node = fleet.node("a").start().await.unwrap();
    let slot = Arc::new(Mutex::new(None));
    let parent = || {
        let removes = Removes(slot.clone());
        Job::new("j").cron("0 0 1 1 *").unwrap().run(move |_| {
            let _ = &removes;
            async {}
        })
    };
    for remove in [true, false] {
        node.add(job("child", "0 0 1 1 *", secs(1), &Diary::default())).unwrap();
        node.add(parent()).unwrap();
        sleep(ms(20)).await;
        *slot.lock().unwrap() = Some(node.control());
        let (done, wait) = mpsc::channel();
        let (control, other) = (node.control(), job("j", "0 0 1 1 *", secs(1), &Diary::default()));
        let runtime = tokio::runtime::Handle::current();
        std::thread::spawn(move || {
            let _entered = runtime.enter();
            if remove {
                control.remove("j");
            } else {
                control.replace(other).unwrap();
            }
            done.send(()).unwrap();
        });
        wait.recv_timeout(secs(5)).unwrap();
        assert!(!node.jobs().iter().any(|job| job.id.as_str() == "child"));
        *slot.lock().unwrap() = None;
    }
}
