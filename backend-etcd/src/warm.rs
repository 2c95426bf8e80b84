//! Keeping idle leases alive.

use std::sync::Weak;
use std::time::Duration;

use tokio::select;
use tokio::time::{Instant, sleep_until};

use crate::error::Reach;
use crate::leases::{EtcdLease, Leases};
use crate::moment::Moment;

/// For so long after it was last lent a lease is kept alive in the pool.
const LINGER: Duration = Duration::from_secs(300);

/// At which part of its life it is kept alive. One that is lent is looked at anyway, and one that
/// cannot be kept alive in what is left is not worth more than a new one.
const KEPT_AT: f64 = 0.6;

/// Lets another task take over where this one ends with its runtime.
struct Watch {
    leases: Weak<Leases>,
    over: bool,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.over
            && let Some(leases) = self.leases.upgrade()
        {
            leases.pool().warming = false;
        }
    }
}

/// Keeps idle leases alive for as long as they linger, and ends when there are none.
pub(crate) async fn keep_warm(leases: Weak<Leases>) {
    let mut watch = Watch { leases: leases.clone(), over: false };
    loop {
        let Some((wire, bell, due, at)) = leases.upgrade().and_then(|leases| {
            let mut pool = leases.pool();
            let now = Moment::now();
            pool.idle.retain(|idle| idle.lease.is_usable(now));
            let warm = pool.idle.iter().filter(|idle| now.at - idle.used < LINGER);
            let due = |lease: &EtcdLease| lease.sent.at + lease.life().mul_f64(KEPT_AT);
            let next = warm.min_by_key(|idle| due(&idle.lease));
            let Some(next) = next else {
                // Within the same lock as the look: what comes back from now on starts another.
                pool.warming = false;
                watch.over = true;
                return None;
            };
            let at = due(&next.lease);
            Some((leases.wire.clone(), leases.bell.clone(), next.lease.id, at))
        }) else {
            return;
        };
        if Instant::now() < at {
            // Nothing is held meanwhile that would keep a dropped backend.
            drop(wire);
            select! {
                () = sleep_until(at) => {}
                () = bell.notified() => {}
            }
            continue;
        }
        let sent = Moment::now();
        let kept = wire.keep_alive("keep-alive", wire.timeouts.operation, due).await;
        let Some(leases) = leases.upgrade() else {
            return;
        };
        let mut pool = leases.pool();
        let Some(index) = pool.idle.iter().position(|idle| idle.lease.id == due) else {
            continue; // lent meanwhile
        };
        match kept {
            Ok(()) => {
                if let Some(idle) = pool.idle.get_mut(index) {
                    idle.lease.sent = idle.lease.sent.max(sent);
                }
            }
            Err(failure) if failure.reach == Reach::NoLease => {
                pool.idle.remove(index);
            }
            // It is not worth more than a new one is.
            Err(failure) => {
                tracing::debug!(error = %failure.error, "an idle lease is left to expire");
                pool.idle.remove(index);
            }
        }
    }
}
