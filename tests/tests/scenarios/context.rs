//! What a handler knows of its run.

use std::sync::{Arc, Mutex};

use tidelock::{Job, Occurrence};

use crate::fleet::{Fleet, secs};

#[tokio::test(start_paused = true)]
async fn a_run_sees_its_tick_its_token_and_the_last_success_and_leaves_a_note() {
    let (fleet, seen) = (Fleet::new(), Arc::new(Mutex::new(Vec::new())));
    let diary = seen.clone();
    let flaky = Job::new("j").cron("* * * * *").unwrap().run(move |run| {
        let diary = diary.clone();
        async move {
            let before = run.previous_success().await.unwrap();
            let tick = run.occurrence().unwrap().at();
            run.note(format!("tick {}", tick.strftime("%T")));
            let token = run.fencing_token();
            let number = {
                let mut seen = diary.lock().unwrap();
                seen.push((tick, token, before.and_then(|record| record.occurrence)));
                seen.len()
            };
            if number == 2 { Err("the second fails") } else { Ok(()) }
        }
    });
    let node = fleet.node("a").job(flaky).unwrap().start().await.unwrap();
    tokio::time::sleep(secs(200)).await;
    let seen = seen.lock().unwrap().clone();
    let [first, second, third, fourth] = &seen[..] else {
        panic!("{seen:?}");
    };
    assert!(first.1 < second.1 && second.1 < third.1 && third.1 < fourth.1);
    assert_eq!(first.2, None);
    let success = |of: &(_, _, Option<Occurrence>)| of.2.unwrap().at();
    assert_eq!(success(second), first.0);
    assert_eq!(success(third), first.0);
    assert_eq!(success(fourth), third.0);
    let records = node.history("j", 100).await.unwrap();
    assert_eq!(records[0].note(), Some("tick 12:03:00"));
    assert_eq!(records[2].error(), Some("the second fails"));
    assert_eq!(records[2].token, Some(second.1));
}
