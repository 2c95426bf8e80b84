//! Calls that meet on their way, and calls that nobody waits for any more.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tidelock::{Acquisition, LockBackend, Release};
use tidelock_tests::servers::RedisServer;
use tokio::time::{sleep, timeout};

use crate::bench::{TTL, ask, at, begin, finish, granted, held, ms};

/// Field report BR-042: a renewal under way when its lock is released brings no lock back.
#[tokio::test]
async fn a_renewal_that_meets_the_release_leaves_no_lock() {
    let backend = at(&RedisServer::shared_here().url());
    let mut random = StdRng::seed_from_u64(42);
    for second in 0..1_000 {
        let request = ask("job", second);
        let grant = granted(&backend, &request).await;
        let (wait_to_renew, wait_to_release) =
            (random.random_range(0..300), random.random_range(0..300));
        let renewal = async {
            sleep(Duration::from_micros(wait_to_renew)).await;
            backend.renew(&grant.lease, TTL).await
        };
        let release = async {
            sleep(Duration::from_micros(wait_to_release)).await;
            backend.release(&grant.lease).await
        };
        let (_, released) = tokio::join!(renewal, release);
        assert_eq!(released.unwrap().value, Release::Released);
        assert!(!held(&backend).await, "round {second}");
    }
}

/// Field report BR-045: an acquire that was dropped on its way holds a lock for its life at most,
/// and its answer goes to nobody else.
#[tokio::test]
async fn calls_that_are_dropped_on_their_way_mix_up_nothing() {
    let backend = at(&RedisServer::shared_here().url());
    let mut random = StdRng::seed_from_u64(45);
    for round in 0..300 {
        let mut orphan = ask(&format!("orphan-{round}"), 1);
        orphan.ttl = ms(300);
        let within = Duration::from_micros(random.random_range(0..400));
        let _ = timeout(within, begin(&backend, &orphan)).await;
        let request = ask("job", round);
        let grant = granted(&backend, &request).await;
        assert_eq!(grant.lease.run_id, request.run_id);
        let finished = finish(&backend, &request, &grant.lease).await.unwrap();
        assert_eq!(finished.release, Release::Released);
    }
    sleep(ms(350)).await;
    for round in 0..300 {
        let answer = begin(&backend, &ask(&format!("orphan-{round}"), 2)).await.unwrap();
        assert!(matches!(answer, Acquisition::Granted(_)), "{answer:?}");
    }
}
