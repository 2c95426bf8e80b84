//! Entries that make no sense: nothing is granted on them by halves, and an operator can clear them.

use redis::aio::MultiplexedConnection;
use tidelock::{
    Acquisition, Clear, ErrorKind, IfHeld, LockBackend, LockKey, RecordStore, RunState,
};
use tidelock_redis::RedisBackend;
use tidelock_tests::servers::{RedisServer, namespace};

use crate::bench::{admin, ask, begin, finish, granted, history, job, record, say};

/// A backend, a connection of the test's own, and what the job's keys begin with.
async fn bench() -> (RedisBackend, MultiplexedConnection, String) {
    let url = RedisServer::shared_here().url();
    let name = namespace();
    let backend = RedisBackend::builder(&name).connect_lazy(&url).unwrap();
    (backend, admin(&url).await, format!("tidelock:{{{name}:job}}:"))
}

/// All that stands under the job's keys.
async fn contents(admin: &mut MultiplexedConnection, prefix: &str) -> Vec<(String, redis::Value)> {
    let mut all = Vec::new();
    for part in ["lock", "mark", "open", "running", "runs", "skipped", "records"] {
        let key = format!("{prefix}{part}");
        let value = say(admin, &format!("DUMP {key}")).await;
        all.push((key, value));
    }
    all
}

const LOCK: &str = "run 00000000000000000000000000000001 node n lease";
const MARK: &str = "tick 000000000000001 schedule 0000000000000001 holder h \
    run 00000000000000000000000000000001 node n how skipped-misfire";

#[tokio::test]
async fn an_ask_that_meets_what_makes_no_sense_changes_nothing() {
    // A comma is a blank within a field.
    for (part, fields) in [
        ("lock", "run x node n lease 1764431132000141,h".to_owned()),
        ("lock", "run 1 node n lease 1764431132000141,h".to_owned()),
        ("lock", format!("{LOCK} x")),
        ("lock", format!("{LOCK} 176443113200014x,h")),
        ("mark", MARK.replace("0000000000000001", "x")),
        ("mark", MARK.replace("schedule 0000000000000001", "schedule ")),
        ("mark", MARK.replace("tick 000000000000001", "tick 00000000000000x")),
        ("mark", format!("{MARK} token x")),
        ("mark", format!("{MARK} token 1e00000000000005")),
        ("mark", format!("{MARK} token 9007199254740991")),
    ] {
        let (backend, mut admin, prefix) = bench().await;
        let words: Vec<String> = fields.split(' ').map(|word| word.replace(',', " ")).collect();
        let mut set = redis::cmd("HSET");
        let _: () =
            set.arg(format!("{prefix}{part}")).arg(words).query_async(&mut admin).await.unwrap();
        let before = contents(&mut admin, &prefix).await;
        let mut request = ask("job", 1);
        request.if_held = IfHeld::Consume;
        for _ in 0..2 {
            let error = begin(&backend, &request).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Malformed, "{part} {fields}: {error:?}");
            assert_eq!(contents(&mut admin, &prefix).await, before, "{part} {fields}");
        }
        // What an operator has against it.
        let _ = backend.force_release(&request.key, Clear::LockAndMark).await.unwrap();
        if !fields.ends_with("token 9007199254740991") {
            granted(&backend, &request).await;
        }
    }
}

#[tokio::test]
async fn an_operator_clears_keys_of_the_wrong_type() {
    for part in ["lock", "mark"] {
        let (backend, mut admin, prefix) = bench().await;
        say(&mut admin, &format!("SET {prefix}{part} x")).await;
        let request = ask("job", 1);
        let error = begin(&backend, &request).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Malformed, "{part}: {error:?}");
        let _ = backend.force_release(&request.key, Clear::LockAndMark).await.unwrap();
        granted(&backend, &request).await;
    }
}

#[tokio::test]
async fn an_open_run_that_makes_no_sense_stops_no_tick_and_goes_with_the_next_release() {
    let (backend, mut admin, prefix) = bench().await;
    for (score, member) in [("1", &b"garbage"[..]), ("2", b"\xff\x00\r\n"), ("3", b"1 2 3 4")] {
        let mut add = redis::cmd("ZADD");
        add.arg(format!("{prefix}open")).arg(score).arg(member);
        let _: () = add.query_async(&mut admin).await.unwrap();
    }
    let key = LockKey::of(&job("job"));
    assert!(backend.inspect(&key).await.unwrap().value.open_runs.is_empty());
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    assert!(grant.abandoned.is_empty());
    finish(&backend, &request, &grant.lease).await.unwrap();
    let open: i64 =
        redis::from_redis_value(say(&mut admin, &format!("ZCARD {prefix}open")).await).unwrap();
    assert_eq!(open, 0);
    assert_eq!(history(&backend).await.len(), 1);
}

#[tokio::test]
async fn a_record_that_was_spoilt_while_its_run_went_on_is_replaced_once() {
    let (backend, mut admin, prefix) = bench().await;
    let request = ask("job", 1);
    let grant = granted(&backend, &request).await;
    say(&mut admin, &format!("HSET {prefix}records {} garbage", request.run_id)).await;
    finish(&backend, &request, &grant.lease).await.unwrap();
    let history = history(&backend).await;
    assert_eq!(history.len(), 1, "{history:?}");
    assert_eq!(history[0].state, RunState::Succeeded);
    let left = say(&mut admin, &format!("ZCARD {prefix}running")).await;
    assert_eq!(left, redis::Value::Int(0));
}

/// As when the server evicted one key of several, or a person deleted it.
#[tokio::test]
async fn a_history_that_lost_its_records_takes_new_ones_as_the_newest() {
    let url = RedisServer::shared_here().url();
    let mut admin = admin(&url).await;
    let name = namespace();
    let backend = RedisBackend::builder(&name).keep(5).connect_lazy(&url).unwrap();
    for second in 0..10 {
        for state in [RunState::Succeeded, RunState::Missed] {
            backend.save(&record(&ask("job", second), state)).await.unwrap();
        }
    }
    say(&mut admin, &format!("DEL tidelock:{{{name}:job}}:records")).await;
    let mut saved = Vec::new();
    for state in [RunState::Missed, RunState::Succeeded, RunState::Missed] {
        let record = record(&ask("job", 20), state);
        backend.save(&record).await.unwrap();
        saved.insert(0, record.run_id);
    }
    let history = history(&backend).await;
    let runs: Vec<_> = history.iter().map(|record| record.run_id).collect();
    assert_eq!(runs, saved);
}

#[tokio::test]
async fn every_operation_on_every_spoilt_key_answers_or_says_malformed() {
    for part in ["lock", "mark", "open", "running", "runs", "skipped", "records"] {
        for how in ["SET", "SADD", "RPUSH", "ZADD", "HSET"] {
            let (backend, mut admin, prefix) = bench().await;
            let tail = match how {
                "ZADD" => " 1 x",
                "HSET" => " next x",
                _ => " x",
            };
            let request = ask("job", 1);
            let grant = granted(&backend, &request).await;
            say(&mut admin, &format!("DEL {prefix}{part}")).await;
            say(&mut admin, &format!("{how} {prefix}{part}{tail}")).await;
            let done = record(&request, RunState::Succeeded);
            let query = tidelock::RecordQuery::newest(job("job"), 10);
            let kinds = [
                begin(&backend, &request).await.err(),
                begin(&backend, &ask("job", 2)).await.err(),
                backend.renew(&grant.lease, crate::bench::TTL).await.err(),
                backend.inspect(&request.key).await.err(),
                backend.list(&query).await.err(),
                backend.save(&done).await.err(),
                backend.save(&record(&ask("job", 3), RunState::Missed)).await.err(),
                finish(&backend, &request, &grant.lease)
                    .await
                    .map(|done| done.unsaved)
                    .unwrap_or_else(Some),
                backend.release(&grant.lease).await.err(),
            ];
            for (index, error) in kinds.into_iter().enumerate() {
                let kind = error.as_ref().map_or(ErrorKind::Malformed, |error| error.kind);
                assert_eq!(kind, ErrorKind::Malformed, "{part} {how} {index} {error:?}");
            }
            let _ = backend.force_release(&request.key, Clear::LockAndMark).await.unwrap();
            let answer = begin(&backend, &ask("job", 4)).await;
            assert!(
                part == "open" || matches!(answer, Ok(Acquisition::Granted(_))),
                "{part} {how} {answer:?}"
            );
        }
    }
}
