//! The queues of pFabric, PIAS and QoS, and how classes share a buffer.

use crate::parameters::{PFabricParameters, PiasParameters};
use tailcut_fabric::queue::{Limit, PFabric, Priority, QueueConfig, Sharing};

/// pFabric's queue.
pub(super) fn pfabric_queue(parameters: &PFabricParameters) -> QueueConfig {
    QueueConfig::PFabric(PFabric {
        limit: parameters.queue,
    })
}

/// How many classes PIAS has.
pub(super) fn classes(parameters: &PiasParameters) -> u8 {
    parameters.thresholds.len() as u8 + 1
}

/// PIAS' queue in place of the network's.
pub(super) fn pias_queue(parameters: &PiasParameters, usual: &QueueConfig) -> QueueConfig {
    let classes = classes(parameters);
    QueueConfig::Priority(Priority {
        classes,
        limit: room(parameters.limit, parameters.sharing, classes),
        sharing: parameters.sharing,
        mark_above: mark_above(usual),
    })
}

/// Where a `usual` queue marks.
pub(super) fn mark_above(usual: &QueueConfig) -> Option<Limit> {
    match usual {
        QueueConfig::DropTail(drop_tail) => drop_tail.mark_above,
        _ => None,
    }
}

/// The two queues of QoS in place of a `usual` one: each has all the room that it has, so that large
/// flows cannot make small ones lose anything.
pub(super) fn qos_queue(usual: &QueueConfig) -> Option<QueueConfig> {
    let QueueConfig::DropTail(drop_tail) = usual else {
        return None;
    };
    Some(QueueConfig::Priority(Priority {
        classes: 2,
        limit: drop_tail.limit,
        sharing: Sharing::PerClass,
        mark_above: drop_tail.mark_above,
    }))
}

/// The limit that holds for each class, or for all that share a port's buffer: split evenly, it is at least a
/// packet or a byte each.
pub(super) fn room(buffer: Limit, sharing: Sharing, classes: u8) -> Limit {
    match (sharing, buffer) {
        (Sharing::Shared | Sharing::LastApart, _) => buffer,
        (Sharing::PerClass, Limit::Packets(packets)) => {
            Limit::Packets((packets / u32::from(classes)).max(1))
        }
        (Sharing::PerClass, Limit::Bytes(bytes)) => {
            Limit::Bytes((bytes / u64::from(classes)).max(1))
        }
    }
}
