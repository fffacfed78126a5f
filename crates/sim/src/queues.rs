//! The queue that each design asks of switches. Designs over ordinary switches keep the topology's.

use crate::config::RunConfig;
use crate::design::{PortSeat, TransportKind};
use crate::hull;
use crate::parameters::{NdpParameters, ScdpParameters};
use crate::priorities;
use crate::requests;
use tailcut_fabric::queue::{Limit, QueueConfig, Sharing, Trimming, Victim};
use tailcut_fabric::topology::{Node, Topology};
use tailcut_units::Rate;

/// Gives every switch port the queue that the run's design asks for, if it asks for one, and a phantom
/// queue, which then does the marking. A port with its design's own queue has its buffer to itself.
pub(crate) fn install(config: &RunConfig, topology: &mut Topology) {
    for link in &mut topology.links {
        if let Node::Switch(switch) = link.from
            && let Some(queue) = queue(config, link.config.rate, &link.config.queue)
        {
            link.config.queue = queue;
            topology.switches[switch as usize].shared_buffer = None;
        }
        if let (Node::Switch(_), Some(phantom)) =
            (link.from, hull::phantom(config, link.config.rate))
        {
            link.config.phantom = Some(phantom);
            if let QueueConfig::DropTail(queue) = &mut link.config.queue {
                queue.mark_above = None;
            }
        }
    }
}

/// The design's own queue in place of the `usual` one.
fn queue(config: &RunConfig, rate: Rate, usual: &QueueConfig) -> Option<QueueConfig> {
    let designs = &config.designs;
    if let Some(own) = config.design.own_transport
        && let Some(queue) = own.queue(&PortSeat { rate, usual })
    {
        return Some(queue);
    }
    if requests::part_of(config).is_some() {
        return with_duplicates(config, usual);
    }
    match config.design.transport {
        TransportKind::Tcp
        | TransportKind::Cubic
        | TransportKind::Dctcp
        | TransportKind::Hull
        | TransportKind::Stations => None,
        TransportKind::PFabric => Some(priorities::pfabric_queue(&designs.pfabric)),
        TransportKind::Pias => Some(priorities::pias_queue(&designs.pias, usual)),
        TransportKind::Qos => priorities::qos_queue(usual),
        TransportKind::Ndp | TransportKind::NdpPlus => {
            Some(QueueConfig::Trimming(ndp(config, &designs.ndp)))
        }
        TransportKind::Scdp => Some(QueueConfig::Trimming(scdp(&designs.scdp))),
    }
}

/// The same under requests: the design's classes do not know the one of duplicates below them.
fn with_duplicates(config: &RunConfig, usual: &QueueConfig) -> Option<QueueConfig> {
    let designs = &config.designs;
    match config.design.transport {
        TransportKind::Pias => {
            let classes = designs.pias.thresholds.len() as u8 + 1;
            let mark_above = priorities::mark_above(usual);
            Some(requests::queue(classes, designs.pias.limit, mark_above))
        }
        TransportKind::Ndp | TransportKind::NdpPlus => {
            Some(requests::trimming(ndp(config, &designs.ndp)))
        }
        TransportKind::Scdp => Some(requests::trimming(scdp(&designs.scdp))),
        _ => match usual {
            QueueConfig::DropTail(queue) => Some(requests::queue(1, queue.limit, queue.mark_above)),
            _ => None,
        },
    }
}

fn ndp(config: &RunConfig, parameters: &NdpParameters) -> Trimming {
    let classes = match config.design.transport {
        TransportKind::NdpPlus => parameters.thresholds.len() as u8 + 1,
        _ => 1,
    };
    let framing = &config.framing;
    let full = u64::from(framing.wire_bytes(framing.payload));
    Trimming {
        classes,
        data_limit: room(parameters.queue, parameters.sharing, classes),
        header_limit_bytes: full * u64::from(parameters.header_queue_packets),
        headers_per_data: parameters.headers_per_data,
        victim: Victim::Coin,
        sharing: parameters.sharing,
        return_to_sender: true,
    }
}

fn scdp(parameters: &ScdpParameters) -> Trimming {
    let classes = parameters.thresholds.len() as u8 + 1;
    let sharing = Sharing::PerClass;
    Trimming {
        classes,
        data_limit: room(parameters.queue, sharing, classes),
        sharing,
        header_limit_bytes: parameters.header_queue.0,
        headers_per_data: parameters.headers_per_data,
        victim: parameters.victim,
        return_to_sender: false,
    }
}

/// The limit that holds for each class, or for all that share a port's buffer: split evenly, it is at least a
/// packet or a byte each.
pub(crate) fn room(buffer: Limit, sharing: Sharing, classes: u8) -> Limit {
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
