//! The backend was away for longer than a period, and is back.

use std::time::Duration;

use tidelock::{Job, Record, RunState, Scheduler};
use tidelock_memory::MemoryBackend;
use tidelock_tests::{Fault, Faults, Op};
use tokio::time::sleep;

use crate::fleet::{Diary, Fleet, in_state, ms, secs};
use crate::node::{Node, noting};

/// A node on a way on which the end of a run takes a moment longer than a begin: its script may
/// have to be sent anew after a restart, or its request may just be the slower one.
async fn node(fleet: &Fleet, name: &str, job: Job) -> (Scheduler, Faults<MemoryBackend>) {
    let way = Faults::new(fleet.backend.clone());
    way.always(Op::Finish, Fault::Delay(ms(1)));
    let node = fleet.node_over(way.clone(), fleet.clock.clone(), name);
    (node.job(job).unwrap().start().await.unwrap(), way)
}

fn every(period: Duration, takes: Duration, diary: &Diary) -> Job {
    let diary = diary.clone();
    Job::new("j").every(period).unwrap().run(move |run| {
        let open = diary.open(&run);
        async move {
            sleep(takes).await;
            drop(open);
        }
    })
}

/// What is told of ticks at that second of the test or later.
fn since(records: Vec<Record>, second: i64) -> Vec<Record> {
    let start = crate::fleet::at("2026-01-01T12:00:00Z").as_millisecond() + second * 1_000;
    let is_later = |r: &Record| r.occurrence.is_some_and(|tick| tick.as_millisecond() >= start);
    records.into_iter().filter(is_later).collect()
}

#[tokio::test(start_paused = true)]
async fn the_newest_tick_runs_once_the_backend_is_back() {
    // Periods, and seconds between which the backend is away.
    for (nodes, period, cut, heal) in [
        (1, 2, 4.5, 13.1),
        (1, 6, 4.5, 13.1),
        (3, 2, 4.5, 13.1),
        (3, 10, 9.0, 21.3),
        (3, 20, 19.0, 42.0),
    ] {
        let (fleet, diary) = (Fleet::starting("2026-01-01T12:00:00Z"), Diary::default());
        let mut all = Vec::new();
        for number in 0..nodes {
            let job = every(secs(period), ms(1), &diary);
            all.push(node(&fleet, &format!("n{number}"), job).await);
        }
        tokio::time::sleep(Duration::from_secs_f64(cut)).await;
        all.iter().for_each(|(_, way)| way.link().cut());
        tokio::time::sleep(Duration::from_secs_f64(heal - cut)).await;
        all.iter().for_each(|(_, way)| way.link().heal());
        tokio::time::sleep(ms(1_500)).await;
        let told = all[0].0.history("j", 100).await.unwrap();
        let case = format!("{nodes} nodes, {period} s, away {cut}..{heal}: {told:#?}");
        let overlap = RunState::Skipped(tidelock::SkipReason::Overlap);
        assert!(in_state(&told, overlap).is_empty(), "{case}");
        #[expect(clippy::cast_possible_truncation, reason = "seconds of a test")]
        let newest = heal as i64 / period as i64 * period as i64;
        let newest = since(told.clone(), newest);
        assert!(newest.iter().any(|run| run.state == RunState::Succeeded), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_ended_meanwhile_does_not_stand_in_the_way_of_its_successor() {
    let (fleet, diary) = (Fleet::starting("2026-01-01T12:00:00Z"), Diary::default());
    let (node, way) = node(&fleet, "a", every(secs(10), secs(5), &diary)).await;
    tokio::time::sleep(secs(13)).await;
    way.link().cut();
    tokio::time::sleep(ms(7_050)).await; // it ended at 15 s, and the next tick is due
    way.link().heal();
    tokio::time::sleep(secs(8)).await;
    let told = node.history("j", 10).await.unwrap();
    assert_eq!(in_state(&told, RunState::Succeeded).len(), 2, "{told:#?}");
    assert_eq!(told.len(), 2, "{told:#?}");
}

/// A run ends while the backend is away for longer than its lock lives: the next tick waits here
/// until that lock is released.
#[tokio::test(start_paused = true)]
async fn a_job_whose_last_run_ended_in_an_outage_goes_on_soon_after_it() {
    for away in 5..40 {
        let (fleet, diary) = (Fleet::new(), Diary::default());
        let short = Job::new("j").cron("* * * * * *").unwrap().lock_ttl(ms(700));
        let node = Node::start(&fleet, "a", [noting(short, ms(300), &diary)]).await;
        sleep(ms(2_600)).await;
        node.faults.link().cut();
        sleep(secs(away)).await;
        node.faults.link().heal();
        let before = diary.count("start");
        // The longest wait between two tries, and the next second.
        sleep(ms(2_100)).await;
        assert!(diary.count("start") > before, "after {away} s");
    }
}
