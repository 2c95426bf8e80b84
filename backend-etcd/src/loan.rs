//! A lease on its way to a lock.

use std::sync::Arc;

use tidelock::{FencingToken, Holder, MarkPoint};

use crate::leases::{EtcdLease, Leases, Lent};

/// A lease on its way to a lock. Dropped in doubt, it is never lent again: a request under it may
/// still arrive.
pub(crate) struct Loan {
    leases: Arc<Leases>,
    holder: Holder,
    pub(crate) lease: EtcdLease,
    in_doubt: bool,
}

impl Loan {
    pub(crate) fn new(leases: Arc<Leases>, holder: Holder, lease: EtcdLease) -> Self {
        Self { leases, holder, lease, in_doubt: false }
    }

    /// The request goes out: its outcome is unknown until something else is said.
    pub(crate) fn sent(&mut self) {
        self.in_doubt = true;
    }

    /// The lock stands under it.
    pub(crate) fn lend(mut self, token: FencingToken, previous: Option<MarkPoint>) -> Lent {
        self.in_doubt = false;
        let lent = Lent { lease: self.lease, token, previous };
        self.leases.lend(&self.holder, lent);
        lent
    }

    /// Nothing stands under it, and nothing will.
    pub(crate) fn give_back(mut self) {
        self.in_doubt = false;
        self.leases.give_back(self.lease);
    }

    /// The server does not know it.
    pub(crate) fn gone(mut self) {
        self.in_doubt = false;
        self.leases.distrust();
    }

    /// It is left to expire.
    pub(crate) fn forget(mut self) {
        self.in_doubt = false;
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if self.in_doubt {
            self.leases.pool().doubt(self.holder.clone(), self.lease);
        }
    }
}
