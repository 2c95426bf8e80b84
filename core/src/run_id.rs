//! Names of runs and of acquisitions.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::NodeId;
use crate::id::MAX_ID_BYTES;

/// The name of one run, 128 random bits, printed as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(u128);

impl RunId {
    /// The run of that number.
    pub const fn new(bits: u128) -> Self {
        Self(bits)
    }

    /// The id of the record of skipped ticks of which the first would have been that run.
    ///
    /// Another one than the run's: a request that comes again when an operator has taken the mark
    /// away may be granted at one time and consumed at another.
    pub const fn of_skipped(self) -> Self {
        Self(self.0 ^ (u128::MAX << 64))
    }

    /// The id of the record of the ticks that were passed over by that run's grant, or by
    /// consuming the tick that it would have been.
    pub const fn of_passed(self) -> Self {
        Self(!self.0)
    }

    /// The number behind the name.
    pub const fn get(self) -> u128 {
        self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no run id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a run id: expected 32 hexadecimal digits")]
pub struct RunIdError(());

impl FromStr for RunId {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(RunIdError(()));
        }
        u128::from_str_radix(text, 16).map(Self).map_err(|_| RunIdError(()))
    }
}

/// Who holds or held a lock: unique per acquisition (node id and a random part), never per node.
///
/// That makes it safe that two nodes bear one name, and lets a retried request be told from
/// another one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder(Arc<str>);

impl Holder {
    /// The holder of one acquisition by `node`; `random` must never be used twice.
    pub fn new(node: &NodeId, random: u128) -> Self {
        // Made for each acquisition: `format!` would cost more than the rest of it.
        let node = node.as_str().as_bytes();
        let mut text = [b'/'; MAX_ID_BYTES + 33];
        text[..node.len()].copy_from_slice(node);
        let digits = &mut text[node.len() + 1..node.len() + 33];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(random.to_be_bytes()) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 0xf)];
        }
        // (A node's id is a text, and the rest is ASCII.)
        Self(std::str::from_utf8(&text[..node.len() + 33]).unwrap_or_default().into())
    }

    /// A holder read back from a store.
    pub fn from_stored(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The holder as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_the_node_and_the_number_in_hexadecimal_digits() {
        let (node, number) = (NodeId::new("a/b").unwrap(), 0x0123_4567_89ab_cdef);
        assert_eq!(Holder::new(&node, number).as_str(), format!("{node}/{number:032x}"));
    }

    #[test]
    fn a_run_id_reads_back_what_it_prints() {
        let id = RunId::new(0x00ab_cdef);
        assert_eq!(id.to_string().len(), 32);
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in ["", "00", "+0000000000000000000000000000000", &"é".repeat(16)] {
            assert!(bad.parse::<RunId>().is_err(), "{bad:?}");
        }
    }
}
