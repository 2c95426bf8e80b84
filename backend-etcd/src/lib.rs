#![doc = include_str!("../README.md")]

mod acquire;
mod backend;
mod calls;
mod clock;
mod config;
mod connection;
mod error;
mod history;
mod http;
mod keys;
mod leases;
mod locks;
mod preflight;
mod records;
mod reply;
mod state;
mod text;
mod tls;

pub use backend::EtcdBackend;
pub use config::EtcdBackendBuilder;
pub use preflight::{Finding, Preflight, Severity};
