#![doc = include_str!("../README.md")]

mod backend;
mod calls;
mod config;
mod connection;
mod error;
mod keys;
mod locks;
mod origin;
mod preflight;
mod records;
mod replicas;
mod reply;
mod script;
#[cfg(feature = "sentinel")]
mod sentinels;
mod text;
mod tls;
mod untold;

pub use backend::RedisBackend;
pub use config::RedisBackendBuilder;
pub use connection::SharedConnection;
// What `preflight` tells.
pub use tidelock::{Finding, Preflight, Severity};
