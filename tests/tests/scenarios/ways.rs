//! Three nodes, each with a way of its own to the backend.

use std::time::Duration;

use tidelock::{Job, Scheduler};
use tidelock_memory::MemoryBackend;
use tidelock_tests::Faults;

use crate::fleet::{Diary, Fleet};

pub(crate) type Way = Faults<MemoryBackend>;

/// Three nodes, each with a way of its own to the backend, and a minutely job.
pub(crate) async fn fleet_of_three(
    fleet: &Fleet,
    takes: Duration,
    diary: &Diary,
) -> (Vec<Scheduler>, Vec<Way>) {
    let (mut nodes, mut ways) = (Vec::new(), Vec::new());
    for name in ["a", "b", "c"] {
        let way = Faults::new(fleet.backend.clone());
        let diary = diary.clone();
        let job = Job::new("j").cron("* * * * *").unwrap().run(move |run| {
            let open = diary.open(&run);
            async move {
                tokio::time::sleep(takes).await;
                drop(open);
            }
        });
        let node = fleet.node_over(way.clone(), fleet.clock.clone(), name);
        nodes.push(node.job(job).unwrap().start().await.unwrap());
        ways.push(way);
    }
    (nodes, ways)
}

pub(crate) fn cut(ways: &[Way], silently: bool) {
    for way in ways {
        if silently {
            way.link().cut_silently();
        } else {
            way.link().cut();
        }
    }
}

pub(crate) fn heal(ways: &[Way]) {
    ways.iter().for_each(|way| way.link().heal());
}
