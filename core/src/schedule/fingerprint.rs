//! What tells one schedule from another, for a store.

use std::fmt;
use std::str::FromStr;

/// A number that stays the same as long as a schedule's ticks do.
///
/// It is kept beside a job's mark, so that a node can tell an edited schedule from the one that
/// moved the mark. It is FNV-1a (64 bits) over a canonical text of the schedule: the same in every
/// process, on every platform and in every release. `Display` and `FromStr` use 16 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// A fingerprint read back from where it was stored.
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// FNV-1a, as <http://www.isthe.com/chongo/tech/comp/fnv/> has it.
    pub(super) fn of(text: &str) -> Self {
        let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(text.bytes().fold(0xcbf2_9ce4_8422_2325, fold))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A text that is not 16 hex digits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseFingerprintError;

impl fmt::Display for ParseFingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fingerprint is 16 hex digits")
    }
}

impl std::error::Error for ParseFingerprintError {}

impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // from_str_radix would take a sign.
        if text.len() != 16 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ParseFingerprintError);
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| ParseFingerprintError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(Fingerprint::of("").get(), 0xcbf2_9ce4_8422_2325);
        assert_eq!(Fingerprint::of("a").get(), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(Fingerprint::of("foobar").get(), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn text_round_trips_and_nothing_else_is_read() {
        let print = Fingerprint::new(0x00ab);
        assert_eq!(print.to_string(), "00000000000000ab");
        assert_eq!("00000000000000ab".parse(), Ok(print));
        for wrong in ["", "ab", "+0000000000000ab", "00000000000000abc", "000000000000 0ab"] {
            assert_eq!(wrong.parse::<Fingerprint>(), Err(ParseFingerprintError), "{wrong}");
        }
    }
}
