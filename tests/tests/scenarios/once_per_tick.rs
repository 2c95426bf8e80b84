//! The plainest fleet: three nodes, one job, each tick once.

use crate::fleet::{Diary, Fleet, job, ms, secs};
use tidelock::RunState;

#[tokio::test(start_paused = true)]
async fn three_nodes_run_each_tick_once() {
    let (fleet, diary) = (Fleet::new(), Diary::default());
    let mut nodes = Vec::new();
    for name in ["a", "b", "c"] {
        let node = fleet.node(name).job(job("j", "* * * * *", ms(10), &diary)).unwrap();
        nodes.push(node.start().await.unwrap());
    }
    tokio::time::sleep(secs(600)).await;
    assert_eq!(diary.count("start"), 10);
    let records = nodes[0].history("j", 100).await.unwrap();
    assert_eq!(records.len(), 10);
    assert!(records.iter().all(|record| record.state == RunState::Succeeded), "{records:#?}");
    for node in nodes {
        let report = node.shutdown(secs(5)).await;
        assert_eq!((report.cancelled, report.unsaved_records), (0, 0));
    }
}
