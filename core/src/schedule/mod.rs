//! Schedules.
/// Placeholder
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u64);
impl Fingerprint {
    /// x
    pub const fn new(n: u64) -> Self {
        Self(n)
    }
    /// x
    pub const fn get(self) -> u64 {
        self.0
    }
}
