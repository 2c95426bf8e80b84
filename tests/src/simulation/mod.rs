//! A whole fleet, simulated from a seed.

mod action;
mod disturbance;
mod draw;
mod event;
mod handler;
mod kit;
mod listen;
mod log;
mod node;
mod oracle;
mod outcome;
mod plan;
mod play;
mod shrink;
mod stage;
mod sweep;
mod tap;
mod when;

pub use disturbance::{Disturbance, Planned};
pub use draw::{Size, draw};
pub use event::{Answered, Ask, End, Event, Handler, Life, What};
pub use kit::Simulation;
pub use log::{Left, Trace};
pub use oracle::{Finding, Promise, judge};
pub use outcome::Outcome;
pub use plan::{JobPlan, Network, NodePlan, Plan, Work};
pub use play::play;
pub use shrink::shrink;
pub use sweep::{Failure, sweep};
pub use when::When;
