//! Where flows come from, one after another.

mod burst;
mod closed_loop;
mod generated;
mod interface;
mod merge;
mod replay;

pub use burst::{Burst, BurstSpec};
pub use closed_loop::{ClosedLoop, ClosedLoopSpec, Think};
pub use generated::{FanIn, Generated, GeneratedSpec};
pub use interface::Source;
pub use merge::Merge;
pub use replay::TraceSource;
