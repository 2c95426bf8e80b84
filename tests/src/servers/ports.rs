//! Ports for servers that are killed and come back.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};

/// Below those that the system gives to outgoing connections: the port of a server that is away
/// stays free for its return, and nobody who asks for it can connect to himself.
const FIRST: u64 = 10_000;
const COUNT: u64 = 20_000;

/// A port that nobody listens on, as far as one can tell.
pub(super) fn free_port() -> u16 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Other processes begin elsewhere.
    let start = super::name::entropy();
    for _ in 0..COUNT {
        let number = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(FIRST + number % COUNT).expect("below the largest port");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free")
}
