//! Cron for a fleet.

pub mod schedule;
