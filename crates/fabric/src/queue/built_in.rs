//! Built-in queue disciplines that the key `queue.discipline` can name.
//! Disciplines that belong to a design, such as trimming, have no name.

use super::kind::QueueConfig;
use super::spec::NamedQueue;
use super::{codel, fq_codel, red};

/// Returns the built-in queue disciplines, in the order of `tailcut list disciplines`.
pub fn built_in() -> [NamedQueue; 4] {
    let fifo = "FIFO, drop-tail, with an ECN threshold";
    [
        NamedQueue::new("fifo", fifo, |port, _| QueueConfig::DropTail(port.fifo())),
        codel::discipline(),
        fq_codel::discipline(),
        red::discipline(),
    ]
}
