//! Sources of flows.

mod burst;
mod closed_loop;
mod coflow_trace;
mod generated;
mod interface;
mod merge;
mod queries;
mod replay;

pub use burst::{Burst, BurstSpec};
pub use closed_loop::{ClosedLoop, ClosedLoopSpec, ThinkTime};
pub use coflow_trace::{CoflowSource, CoflowTrace};
pub use generated::{FanIn, Generated, GeneratedSpec};
pub use interface::Source;
pub use merge::Merge;
pub use queries::{Queries, QueriesSpec};
pub use replay::TraceSource;
