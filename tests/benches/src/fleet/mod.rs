//! Benchmarks of a fleet of nodes that all ask for the same tick.

mod knowing;
mod skewed;

pub(crate) use knowing::BENCH as KNOWING;
pub(crate) use skewed::BENCH as SKEWED;

/// How many nodes a fleet has.
const NODES: usize = 50;
