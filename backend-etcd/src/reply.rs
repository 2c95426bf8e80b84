//! Reading what a transaction answered.

use etcd_client::{GetResponse, KeyValue, TxnOpResponse, TxnResponse};
use tidelock::BackendError;

use crate::error::malformed;

/// An answer: one part after the other, taken from its front. What is not as expected is an error.
#[derive(Debug)]
pub(crate) struct Reply {
    operation: &'static str,
    /// Whether what was compared was so.
    pub(crate) succeeded: bool,
    /// The store's count of changes, this one included.
    pub(crate) revision: u64,
    parts: std::vec::IntoIter<TxnOpResponse>,
}

/// A key as it stands in the store.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// When it was created, as the store counts.
    pub(crate) created: u64,
    /// When it was last changed.
    pub(crate) changed: u64,
    /// The lease that it goes with; 0 for none.
    pub(crate) lease: i64,
}

/// Some keys of a range, and how many it has.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) entries: Vec<Entry>,
    pub(crate) count: u64,
}

impl Reply {
    pub(crate) fn new(operation: &'static str, response: &TxnResponse) -> Self {
        Self {
            operation,
            succeeded: response.succeeded(),
            revision: number(response.header().map_or(0, etcd_client::ResponseHeader::revision)),
            parts: response.op_responses().into_iter(),
        }
    }

    pub(crate) fn odd(&self, what: &'static str) -> BackendError {
        malformed(self.operation, what)
    }

    /// The next part, which read a range.
    pub(crate) fn found(&mut self) -> Result<Found, BackendError> {
        match self.parts.next() {
            Some(TxnOpResponse::Get(found)) => Ok(Found::from(&found)),
            _ => Err(self.odd("a part of the answer is no range")),
        }
    }

    /// The next part, which read one key.
    pub(crate) fn entry(&mut self) -> Result<Option<Entry>, BackendError> {
        Ok(self.found()?.entries.pop())
    }

    /// The next part, which deleted: how many keys.
    pub(crate) fn deleted(&mut self) -> Result<i64, BackendError> {
        match self.parts.next() {
            Some(TxnOpResponse::Delete(deleted)) => Ok(deleted.deleted()),
            _ => Err(self.odd("a part of the answer is no deletion")),
        }
    }

    /// The next part, which was a transaction itself.
    pub(crate) fn nested(&mut self) -> Result<Self, BackendError> {
        match self.parts.next() {
            Some(TxnOpResponse::Txn(nested)) => Ok(Self::new(self.operation, &nested)),
            _ => Err(self.odd("a part of the answer is no transaction")),
        }
    }

    /// Whether the next part read a range.
    pub(crate) fn is_range(&self) -> bool {
        matches!(self.parts.as_slice().first(), Some(TxnOpResponse::Get(_)))
    }

    /// Passes over parts that only wrote.
    pub(crate) fn pass(&mut self, count: usize) {
        for _ in 0..count {
            let _ = self.parts.next();
        }
    }
}

impl From<&GetResponse> for Found {
    fn from(found: &GetResponse) -> Self {
        let entries = found.kvs().iter().map(Entry::from).collect();
        Self { entries, count: number(found.count()) }
    }
}

impl From<&KeyValue> for Entry {
    fn from(kv: &KeyValue) -> Self {
        Self {
            key: kv.key().to_vec(),
            value: kv.value().to_vec(),
            created: number(kv.create_revision()),
            changed: number(kv.mod_revision()),
            lease: kv.lease(),
        }
    }
}

/// Numbers of the store are never negative.
fn number(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
