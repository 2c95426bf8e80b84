//! The cases, each named for the line of the contract that it shows.

mod consuming;
mod granting;
mod histories;
mod holding;
mod operating;
mod refusing;
mod remembering;
mod runs;
mod texts;
mod untold;

pub use consuming::*;
pub use granting::*;
pub use histories::*;
pub use holding::*;
pub use operating::*;
pub use refusing::*;
pub use remembering::*;
pub use runs::*;
pub use texts::*;
pub use untold::*;
