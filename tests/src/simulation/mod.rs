//! A whole fleet, simulated from a seed.
//!
//! One seed is one run of several nodes with several jobs over a memory backend, in paused tokio
//! time on one thread: the same seed gives the same log, to the byte. What goes wrong is drawn with
//! it: clocks that are off, drift and are set; calls that are slow, lost, or answered to nobody;
//! nodes that are cut off, freeze, die, are shut down; handlers that are long, fail, panic, block or
//! do not heed; operators that run, remove and replace jobs, roll out other schedules and free locks;
//! backends without a clock, and records that are kept apart from locks.
//!
//! - [`Simulation`]: your own jobs on such a fleet, in a test of yours.
//! - [`draw`] makes a [`Plan`] of a seed, [`play`] plays it, [`judge`] says what of the promise was
//!   not kept, [`shrink`] looks for the shortest plan that goes wrong in the same way, [`sweep`]
//!   does that for many seeds. The program `simulate` puts them together.
//!
//! ```
//! use tidelock_tests::simulation::{Size, draw, judge, play};
//!
//! let plan = draw(4_711, Size::any().nodes(3).minutes(2));
//! let trace = play(&plan);
//! assert_eq!(judge(&plan, &trace), []);
//! println!("{plan}\n{}", trace.text());
//! ```
//!
//! The oracle knows nothing of the engine: it reads what nodes, handlers and backend did, the
//! schedules, and the records at the end. What nobody can know it does not ask for: a node that
//! died may have had a record in hand.

mod action;
mod acts;
mod asserts;
mod disturbance;
mod draw;
mod due;
mod event;
mod failure;
mod handler;
mod kit;
mod late;
mod left;
mod life;
mod listen;
mod lives;
mod log;
mod losses;
mod lost;
mod node;
mod ongoing;
mod oracle;
mod outcome;
mod plan;
mod play;
mod real;
mod servers;
mod shrink;
mod stage;
mod store;
mod sweep;
mod tap;
mod timeline;
mod under_way;
mod way;
mod when;
mod wrong_use;

pub use disturbance::{Disturbance, Planned};
pub use draw::{Size, draw, draw_real};
pub use event::{Answered, Ask, End, Event, Handler, Life, What};
pub use kit::Simulation;
pub use log::{Left, Trace};
pub use oracle::{Finding, Promise, judge};
pub use outcome::Outcome;
pub use plan::{JobPlan, Network, NodePlan, Plan, StorePlan, Work};
pub use play::play;
pub use real::{Real, Route, Tally, Venue, endure, play_real, rehearse};
pub use shrink::shrink;
pub use sweep::{Failure, sweep};
pub use when::When;
