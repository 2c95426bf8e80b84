//! What stands in the store and makes no sense, and what is too large for it.

use tidelock::{ErrorKind, Job, Release, RunState};
use tidelock_tests::servers::{EtcdServer, base64, namespace};

use crate::bench::{
    PATIENCE, Seen, TTL, ask, assert_taken, begin, finish, granted, held, history, ms, named, node,
    shut_down,
};

fn put(server: &EtcdServer, key: &str, value: &str) {
    let (key, value) = (base64(key), base64(value));
    server.post("kv/put", &format!(r#"{{"key":"{key}","value":"{value}"}}"#));
}

#[tokio::test]
async fn entries_that_make_no_sense_are_errors_and_no_other_jobs() {
    let server = EtcdServer::shared_here();
    for (part, value) in [("lock", "garbage"), ("lock", ""), ("mark/999999999999999", "garbage")] {
        let name = namespace();
        let backend = named(&name, &server.endpoints());
        put(server, &format!("tidelock/{name}/job/{part}"), value);
        for second in [1, 2] {
            let error = begin(&backend, &ask("job", second)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Malformed, "{part}={value}: {error:?}");
        }
        granted(&backend, &ask("other", 1)).await;
    }
}

/// What refuses a tick is compared by the store. A run that was granted is not lost over what else is
/// told of it.
#[tokio::test]
async fn old_notes_that_make_no_sense_cost_no_run_and_go_with_it() {
    let server = EtcdServer::shared_here();
    for part in ["open/x", "mark/00176725x000000"] {
        let name = namespace();
        let backend = named(&name, &server.endpoints());
        put(server, &format!("tidelock/{name}/job/{part}"), "garbage");
        for second in [1, 2, 3] {
            let request = ask("job", second);
            let grant = granted(&backend, &request).await;
            assert_eq!(grant.abandoned, [], "{part}");
            assert_taken(&backend, second).await;
            assert!(held(&backend).await, "{part}");
            let finished = finish(&backend, &request, &grant.lease).await.unwrap();
            assert_eq!(finished.release, Release::Released, "{part}");
            assert!(finished.unsaved.is_none(), "{part}: {finished:?}");
        }
        let key = base64(format!("tidelock/{name}/job/{part}"));
        let left = server.post("kv/range", &format!(r#"{{"key":"{key}"}}"#));
        assert!(!left.contains("kvs"), "{part}: {left}");
    }
}

#[tokio::test]
async fn a_job_whose_entries_make_no_sense_delays_no_other() {
    let server = EtcdServer::shared_here();
    let (name, seen) = (namespace(), Seen::default());
    put(server, &format!("tidelock/{name}/spoilt/lock"), "garbage");
    put(server, &format!("tidelock/{name}/spoilt/mark/999999999999999"), "garbage");
    let jobs = ["job", "spoilt"].map(|job| seen.job(job, "* * * * * *", TTL, ms(20)));
    let node = node(named(&name, &server.endpoints()), jobs).await;
    seen.next("job", 3, PATIENCE).await;
    shut_down([node]).await;
    assert!(seen.of("spoilt").is_empty());
    let ticks: Vec<_> =
        seen.of("job").iter().map(|ran| ran.tick.unwrap().as_millisecond()).collect();
    assert!(ticks.windows(2).all(|two| two[1] - two[0] == 1_000), "{ticks:?}");
}

#[tokio::test]
async fn an_entry_that_is_no_record_hides_no_other() {
    let server = EtcdServer::shared_here();
    let name = namespace();
    let backend = named(&name, &server.endpoints());
    for second in 1..=2 {
        let request = ask("job", second);
        let grant = granted(&backend, &request).await;
        finish(&backend, &request, &grant.lease).await.unwrap();
        put(server, &format!("tidelock/{name}/job/runs/{second}"), "garbage");
    }
    assert_eq!(history(&backend).await.len(), 2);
}

/// Field report BR-059.
#[tokio::test]
async fn an_error_of_two_megabytes_is_cut_and_its_record_stored() {
    let server = EtcdServer::shared_here();
    let (name, seen) = (namespace(), Seen::default());
    let long = {
        let seen = seen.clone();
        let job = Job::new("job").cron("* * * * * *").unwrap();
        job.run(move |run| {
            drop(seen.starts(&run));
            async { Err::<(), _>("é".repeat(1024 * 1024)) }
        })
    };
    let node = node(named(&name, &server.endpoints()), [long]).await;
    seen.next("job", 2, PATIENCE).await;
    shut_down([node]).await;
    let backend = named(&name, &server.endpoints());
    let states = seen.states(&backend, "job").await;
    assert!(states.iter().all(|state| *state == RunState::Failed), "{states:?}");
    for record in history(&backend).await {
        let error = record.error().unwrap();
        assert!(error.starts_with("éé") && error.len() <= 16 * 1024, "{}", error.len());
        assert!(!error.ends_with('é'), "nothing says that it was cut");
    }
}
