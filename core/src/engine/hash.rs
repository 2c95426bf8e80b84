//! Hashing of ids within the engine, several times a run.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A multiplication and a fold each eight bytes, from a seed of the process's own, so that nobody
/// can make ids up that collide. The standard library's hash costs four times as much for ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folding;

    fn build_hasher(&self) -> Folding {
        Folding(self.0)
    }
}

#[derive(Debug)]
pub(crate) struct Folding(u64);

impl Folding {
    #[allow(clippy::cast_possible_truncation)] // both halves are used
    fn fold(&mut self, word: u64) {
        let wide = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15_u128;
        self.0 = (wide as u64) ^ ((wide >> 64) as u64);
    }
}

impl Hasher for Folding {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.fold(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The length tells rests from each other that end in zeros.
        self.fold(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn write_u8(&mut self, byte: u8) {
        self.fold(u64::from(byte));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_that_differ_little_differ_in_their_hashes() {
        let seeded = Seeded::default();
        let hashes: HashSet<u64> =
            (0..100_000).map(|n| seeded.hash_one(format!("job-{n}"))).collect();
        assert_eq!(hashes.len(), 100_000);
        let low: HashSet<u64> = hashes.iter().map(|hash| hash % 4_096).collect();
        let high: HashSet<u64> = hashes.iter().map(|hash| hash >> 52).collect();
        assert_eq!((low.len(), high.len()), (4_096, 4_096));
        assert_ne!(seeded.hash_one("a\0"), seeded.hash_one("a"));
    }
}
