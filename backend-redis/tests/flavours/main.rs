//! TLS, Sentinel and Cluster: `cargo test -p tidelock-redis --all-features --test flavours`.

#![cfg(all(feature = "tls", feature = "sentinel", feature = "cluster"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod bench;
mod cluster;
mod secure;
mod sentinel;
mod silence;
mod tls;
