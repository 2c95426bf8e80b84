//! Real servers for tests, and a way to them that fails as a test wants it.

mod certificates;
#[cfg(feature = "containers")]
mod container;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "etcd")]
mod http;
#[cfg(feature = "etcd")]
mod json;
mod name;
mod origin;
mod place;
mod ports;
mod process;
mod proxy;
#[cfg(feature = "redis")]
mod redis;
mod served;

pub use certificates::Certificates;
#[cfg(feature = "etcd")]
pub use etcd::{EtcdCluster, EtcdServer, EtcdSettings};
#[cfg(feature = "etcd")]
pub use json::{base64, json_text};
pub use name::namespace;
pub use proxy::{Proxy, Way};
#[cfg(feature = "redis")]
pub use redis::{RedisServer, RedisSettings};
pub use served::{Served, Servers};
