#![doc = include_str!("../README.md")]

mod acquire;
mod again;
mod backend;
mod calls;
mod clock;
mod config;
mod connection;
mod consume;
mod error;
mod history;
mod http;
mod keys;
mod leases;
mod loan;
mod locks;
mod moment;
mod preflight;
mod records;
mod release;
mod reply;
mod state;
mod text;
mod tls;
mod untold;
mod warm;

pub use backend::EtcdBackend;
pub use config::EtcdBackendBuilder;
// What `preflight` tells.
pub use tidelock::{Finding, Preflight, Severity};
