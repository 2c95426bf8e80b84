//! Real servers for tests, and a way to them that fails as a test wants it.

#[cfg(feature = "containers")]
mod container;
mod process;
mod proxy;
mod redis;

pub use proxy::{Proxy, Way};
pub use redis::{RedisServer, RedisSettings, namespace};
