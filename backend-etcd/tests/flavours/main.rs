//! What features add: `cargo test -p tidelock-etcd --all-features --test flavours`.

#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod members;
mod tls;
