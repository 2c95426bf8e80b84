//! Names by which tests keep apart on a server that they share.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A name that no other test uses.
pub fn namespace() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let started = std::process::id();
    // A server from outside may remember the last process of this id.
    format!("test-{started}-{:x}-{number}", entropy())
}

/// What differs from process to process.
pub(super) fn entropy() -> u64 {
    static ONCE: OnceLock<u64> = OnceLock::new();
    *ONCE.get_or_init(|| RandomState::new().build_hasher().finish())
}
