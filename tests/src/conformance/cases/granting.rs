//! Being granted a tick, once and again.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidelock::{Acquisition, Moved, Occurrence, OpenRun, Release, Renewal};
use tokio::task::JoinSet;

use crate::conformance::Suite;
use crate::conformance::bench::{key, must, running};

/// Every answer carries the backend's clock, if and only if it has one.
pub async fn lock_00_every_answer_carries_the_backends_clock_or_none_does(suite: Suite) {
    let bench = suite.fresh().await;
    let (has_clock, request) = (bench.backend.has_clock(), bench.ask("a", 0));
    let begun = bench.begun(&request).await;
    assert_eq!(begun.clock.is_some(), has_clock, "begin");
    let Acquisition::Granted(grant) = begun.value.acquisition else {
        panic!("expected a grant");
    };
    let lease = &grant.lease;
    let renewed = must(bench.backend.renew(lease, request.ttl).await);
    assert_eq!(renewed.clock.is_some(), has_clock, "renew");
    let state = must(bench.backend.inspect(&lease.key).await);
    assert_eq!(state.clock.is_some(), has_clock, "inspect");
    let finished = must(bench.backend.finish(lease, &running(&request)).await);
    assert_eq!(finished.clock.is_some(), has_clock, "finish");
    let unheld = must(bench.backend.release(lease).await);
    assert_eq!(unheld.clock.is_some(), has_clock, "release");
    assert!(begun.clock <= finished.clock, "the clock goes forward");
    let mark = state.value.mark.expect("a mark");
    assert_eq!(mark.at.is_some(), has_clock, "the mark");
}

/// A repeated request is granted again, and its lock lives for a whole TTL from then.
pub async fn lock_01_same_holder_is_granted_again_with_the_same_token_and_a_fresh_ttl(
    suite: Suite,
) {
    let bench = suite.fresh().await;
    let request = bench.ask_briefly("a", 0);
    let first = bench.granted(&request).await;
    bench.most_of_the_ttl().await;
    let again = bench.granted(&request).await;
    assert_eq!(again.lease, first.lease);
    bench.most_of_the_ttl().await;
    let held = bench.state().await.held.expect("a lock with a fresh TTL");
    assert_eq!(held.holder, request.holder);
    let other = bench.begin(&bench.ask("b", 1)).await;
    assert!(matches!(other, Acquisition::Held(_)), "{other:?}");
}

/// A repeated request sets the TTL that it names, also where the lock was renewed with another one.
pub async fn lock_01_a_retry_sets_the_life_that_it_asks_for(suite: Suite) {
    let bench = suite.fresh().await;
    let request = bench.ask_briefly("a", 0);
    let first = bench.granted(&request).await;
    assert_eq!(bench.renew(&first.lease).await, Renewal::Renewed);
    assert_eq!(bench.granted(&request).await.lease, first.lease);
    suite.expire().await;
    assert_eq!(bench.state().await.held, None);
}

/// A repeated request is told the mark that its first answer told, not its own.
pub async fn lock_01_same_holder_is_told_the_same_mark_as_it_was(suite: Suite) {
    let bench = suite.fresh().await;
    bench.run(&bench.ask("a", 0)).await;
    let request = bench.ask("b", 5);
    let first = bench.granted(&request).await;
    assert!(first.previous.is_some());
    assert_eq!(bench.granted(&request).await, first);
    assert_eq!(bench.state().await.open_runs.len(), 1);
}

/// A repeated manual request is granted again too.
pub async fn lock_01_a_manual_run_is_granted_again_to_its_holder(suite: Suite) {
    let bench = suite.fresh().await;
    let request = bench.ask_manually("a");
    let first = bench.granted(&request).await;
    assert_eq!(bench.granted(&request).await, first);
}

/// Who asks again too late hears that the grant is over, and nothing is taken anew.
pub async fn lock_02_a_retry_after_its_grant_expired_hears_expired(suite: Suite) {
    let bench = suite.fresh().await;
    let request = bench.ask_briefly("a", 0);
    let grant = bench.granted(&request).await;
    suite.expire().await;
    let again = bench.begin(&request).await;
    assert_eq!(again, Acquisition::Expired(grant.lease.clone()));
    let state = bench.state().await;
    assert_eq!((state.held, state.token), (None, Some(grant.lease.token)));
}

/// A request that arrives once more after its run has ended takes nothing.
pub async fn lock_02_a_retry_after_its_release_hears_expired(suite: Suite) {
    let bench = suite.fresh().await;
    let request = bench.ask("a", 0);
    let grant = bench.run(&request).await;
    let again = bench.begin(&request).await;
    assert_eq!(again, Acquisition::Expired(grant.lease));
    let state = bench.state().await;
    assert!(state.held.is_none() && state.open_runs.is_empty());
}

/// Even while another run holds the lock, a late retry hears what became of its own.
pub async fn lock_02_a_retry_hears_expired_while_a_manual_run_holds_the_lock(suite: Suite) {
    let bench = suite.fresh().await;
    let request = bench.ask("a", 0);
    let grant = bench.run(&request).await;
    let manual = bench.granted(&bench.ask_manually("b")).await;
    let again = bench.begin(&request).await;
    assert_eq!(again, Acquisition::Expired(grant.lease));
    assert_eq!(bench.finish(&manual.lease).await, Release::Released);
}

/// A grant sets all that it says, in one moment.
pub async fn lock_07_a_grant_moves_the_mark_sets_the_lock_and_opens_the_run(suite: Suite) {
    let bench = suite.fresh().await;
    let request = bench.ask("a", 0);
    let lease = bench.granted(&request).await.lease;
    assert_eq!(lease.key, request.key);
    assert_eq!((&lease.holder, lease.run_id), (&request.holder, request.run_id));
    let state = bench.state().await;
    assert_eq!(state.token, Some(lease.token));
    let mark = state.mark.expect("a mark");
    assert_eq!(Some(mark.point), request.point());
    assert_eq!(mark.moved, Moved::Granted(lease.token));
    assert_eq!((mark.holder, mark.node), (request.holder.clone(), request.node.clone()));
    assert_eq!((mark.run_id, mark.previous), (request.run_id, None));
    let held = state.held.expect("a lock");
    assert!(held.expires_in <= request.ttl + bench.slack, "{held:?}");
    assert_eq!((held.holder, held.run_id), (request.holder, request.run_id));
    assert_eq!(held.node, request.node);
    let open = OpenRun::new(request.run_id, request.node, request.occurrence, lease.token);
    assert_eq!(state.open_runs, [open]);
}

/// The mark keeps what its mover knew of its own clock.
pub async fn lock_07_the_mark_keeps_its_movers_skew(suite: Suite) {
    let bench = suite.fresh().await;
    for (second, skew) in [(0, Some(-2_500)), (1, None), (2, Some(86_400_000))] {
        let mut request = bench.ask("a", second);
        request.skew = skew.map(jiff::SignedDuration::from_millis);
        bench.run(&request).await;
        let mark = bench.state().await.mark.expect("a mark");
        assert_eq!(mark.skew, request.skew);
    }
}

/// A manual run takes the lock and nothing else.
pub async fn lock_07_a_manual_run_takes_the_lock_and_leaves_the_mark(suite: Suite) {
    let bench = suite.fresh().await;
    let tick = bench.run(&bench.ask("a", 0)).await;
    let before = bench.state().await.mark;
    let request = bench.ask_manually("b");
    let manual = bench.granted(&request).await;
    assert!(manual.lease.token > tick.lease.token);
    assert_eq!(manual.previous, None, "a manual run passes over no ticks");
    let state = bench.state().await;
    assert_eq!(state.mark, before);
    assert_eq!(state.held.map(|held| held.holder), Some(request.holder));
    assert_eq!(state.open_runs[0].occurrence, None);
    assert_eq!(bench.finish(&manual.lease).await, Release::Released);
    bench.run(&bench.ask("c", 1)).await;
}

/// Who falls silent loses the lock after the TTL, and the next tick goes to another.
pub async fn lock_07_a_lock_lives_for_its_ttl_and_no_longer(suite: Suite) {
    let bench = suite.fresh().await;
    bench.granted(&bench.ask_briefly("a", 0)).await;
    bench.most_of_the_ttl().await;
    let early = bench.begin(&bench.ask("b", 1)).await;
    assert!(matches!(early, Acquisition::Held(_)), "{early:?}");
    suite.expire().await;
    bench.granted(&bench.ask("b", 1)).await;
}

/// Ticks are compared as numbers, from the first millisecond to the last.
pub async fn lock_07_ticks_grow_from_the_first_millisecond_to_the_last(suite: Suite) {
    let bench = suite.fresh().await;
    let largest = Occurrence::MAX.as_millisecond();
    // Among them two that a text or a 32-bit number, and two that a float would confuse.
    let millis = [0, 9, 10, 999, 1_000, 4_294_967_296, 253_402_207_199_999, largest];
    for at in millis {
        let occurrence = Occurrence::from_millisecond(at);
        let mut request = bench.ask_for(&key("job"), "a", occurrence);
        request.max_ahead = std::time::Duration::from_secs(400_000_000_000);
        bench.run(&request).await;
        let mark = bench.state().await.mark.expect("a mark");
        assert_eq!(Some(mark.point.occurrence), occurrence);
    }
}

/// Of any number of nodes that ask at once, one is granted the tick.
pub async fn lock_08_of_racing_nodes_one_is_granted(suite: Suite) {
    let bench = suite.fresh().await;
    for second in 0..10 {
        let mut race = JoinSet::new();
        for node in 0..16 {
            let request = bench.ask(&format!("node-{node}"), second);
            let backend = Arc::clone(&bench.backend);
            race.spawn(
                async move { must(backend.begin(&request, &running(&request)).await).value },
            );
        }
        let mut leases = Vec::new();
        for begun in race.join_all().await {
            match begun.acquisition {
                Acquisition::Granted(grant) => leases.push(grant.lease),
                Acquisition::AlreadyTaken(taken) => assert!(taken.running),
                other => panic!("expected a grant or that it is taken, got {other:?}"),
            }
        }
        assert_eq!(leases.len(), 1, "grants of one tick: {leases:?}");
        assert_eq!(bench.finish(&leases[0]).await, Release::Released);
    }
    assert_eq!(bench.history().await.len(), 10);
}

/// One request that is sent many times at once, as a retry may meet its first sending.
pub async fn lock_08_a_request_that_races_itself_is_granted_one_token(suite: Suite) {
    let bench = suite.fresh().await;
    let request = bench.ask("a", 0);
    let mut race = JoinSet::new();
    for _ in 0..8 {
        let (request, backend) = (request.clone(), Arc::clone(&bench.backend));
        race.spawn(async move { must(backend.begin(&request, &running(&request)).await).value });
    }
    let mut tokens = BTreeSet::new();
    for begun in race.join_all().await {
        match begun.acquisition {
            Acquisition::Granted(grant) => tokens.insert(grant.lease.token),
            other => panic!("expected the grant again, got {other:?}"),
        };
    }
    assert_eq!(tokens.len(), 1);
    assert_eq!(bench.history().await.len(), 1);
}
