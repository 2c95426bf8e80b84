//! Hashing of run ids, which are random already.

use std::hash::{BuildHasherDefault, Hasher};

pub(crate) type ByRunId = BuildHasherDefault<Random>;

/// Takes a random number as its own hash, mixed a little for numbers that count up in tests.
#[derive(Debug, Default)]
pub(crate) struct Random(u64);

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for Random {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(ODD);
        }
    }

    #[allow(clippy::cast_possible_truncation)] // both halves are used
    fn write_u128(&mut self, number: u128) {
        let mixed = (number as u64 ^ (number >> 64) as u64).wrapping_mul(ODD);
        self.0 = mixed ^ mixed >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
