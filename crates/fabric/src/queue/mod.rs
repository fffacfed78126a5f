//! Queue disciplines. They decide which packets are kept, marked, trimmed or dropped, and which packet is sent next.
//! A discipline never schedules events.

mod built_in;
mod codel;
mod discipline;
mod drop_tail;
mod fq_codel;
mod kind;
mod lists;
mod pfabric;
mod phantom;
mod priority;
mod push_out;
mod red;
mod spec;
mod trimming;

pub use built_in::built_in;
pub use codel::{CoDel, CoDelQueue};
pub use discipline::{
    BuildDiscipline, Dequeued, DropReason, Fate, Limit, QueueDiscipline, Verdict,
};
pub use drop_tail::{DropTail, DropTailQueue};
pub use fq_codel::{FqCoDel, FqCoDelQueue};
pub(crate) use kind::Queue;
pub use kind::QueueConfig;
pub use pfabric::{PFabric, PFabricQueue};
pub(crate) use phantom::PhantomState;
pub use phantom::{Compare, Phantom, Placement};
pub use priority::{Priority, PriorityQueue};
pub use push_out::{PushOut, PushOutQueue};
pub use spec::{BuildQueue, NamedQueue, PortBuffer};
pub use trimming::{Sharing, Trimming, TrimmingQueue, Victim};
