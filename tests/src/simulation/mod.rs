//! A whole fleet, simulated from a seed.

mod action;
mod disturbance;
mod draw;
mod event;
mod handler;
mod log;
mod node;
mod oracle;
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
pub use log::{Left, Trace};
pub use oracle::{Finding, Promise, judge};
pub use plan::{JobPlan, Network, NodePlan, Plan, Work};
pub use play::play;
pub use shrink::shrink;
pub use sweep::{Failure, sweep};
pub use when::When;
