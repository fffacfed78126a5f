//! The queue that each design asks of switches. Designs over ordinary switches keep the network's.

use super::priorities;
use crate::kinds::TransportKind;
use crate::own::{OwnTransport, PortSeat};
use crate::parameters::{NdpParameters, ScdpParameters};
use crate::settings::{Settings, Traffic};
use crate::stack::Stack;
use std::sync::Arc;
use tailcut_fabric::queue::{Limit, PushOut, QueueConfig, Sharing, Trimming, Victim};
use tailcut_workload::Framing;

/// What says the queue of a switch port; `None` keeps the network's.
pub(super) type QueuePlan = Box<dyn Fn(&PortSeat<'_>) -> Option<QueueConfig> + Send + Sync>;

/// The queues of a design.
pub(super) fn queue(design: Stack, settings: &Settings, traffic: Traffic) -> QueuePlan {
    if let Some(own) = design.own_transport.and_then(OwnTransport::queue) {
        let own = Arc::clone(own);
        return Box::new(move |seat| Some(own(seat)));
    }
    if traffic == Traffic::Requests {
        return with_duplicates(design, settings);
    }
    let designs = &settings.designs;
    match design.transport {
        TransportKind::Tcp
        | TransportKind::Cubic
        | TransportKind::Dctcp
        | TransportKind::Hull
        | TransportKind::ScdpPlain
        | TransportKind::Stations => Box::new(|_| None),
        TransportKind::PFabric => always(priorities::pfabric_queue(&designs.pfabric)),
        TransportKind::Pias => {
            let pias = designs.pias.clone();
            Box::new(move |seat| Some(priorities::pias_queue(&pias, seat.usual)))
        }
        TransportKind::Qos => Box::new(|seat| priorities::qos_queue(seat.usual)),
        TransportKind::Ndp | TransportKind::NdpPlus => always(QueueConfig::Trimming(ndp(
            design,
            &designs.ndp,
            settings.framing,
        ))),
        TransportKind::Scdp => always(QueueConfig::Trimming(scdp(&designs.scdp))),
    }
}

/// The same queue at every port.
fn always(queue: QueueConfig) -> QueuePlan {
    Box::new(move |_| Some(queue.clone()))
}

/// The same under requests: the design's classes do not know the one of duplicates below them.
fn with_duplicates(design: Stack, settings: &Settings) -> QueuePlan {
    let designs = &settings.designs;
    match design.transport {
        TransportKind::Pias => {
            let (classes, limit) = (priorities::classes(&designs.pias), designs.pias.limit);
            Box::new(move |seat| {
                let mark_above = priorities::mark_above(seat.usual);
                Some(pushed_out(classes, limit, mark_above))
            })
        }
        TransportKind::Ndp | TransportKind::NdpPlus => {
            let usual = ndp(design, &designs.ndp, settings.framing);
            always(trimmed_with_duplicates(usual))
        }
        TransportKind::Scdp => always(trimmed_with_duplicates(scdp(&designs.scdp))),
        _ => Box::new(|seat| match seat.usual {
            QueueConfig::DropTail(queue) => Some(pushed_out(1, queue.limit, queue.mark_above)),
            _ => None,
        }),
    }
}

/// The queue that switches have under requests: `classes` of the transport's own, and below them that of
/// duplicates, which they do not know.
fn pushed_out(classes: u8, limit: Limit, mark_above: Option<Limit>) -> QueueConfig {
    QueueConfig::PushOut(PushOut {
        classes: classes + 1,
        group: classes,
        limit,
        mark_above,
    })
}

/// The same over a `usual` queue that trims. Duplicates have as much room for themselves.
fn trimmed_with_duplicates(usual: Trimming) -> QueueConfig {
    QueueConfig::Trimming(Trimming {
        classes: usual.classes + 1,
        sharing: match usual.sharing {
            Sharing::PerClass => Sharing::PerClass,
            Sharing::Shared | Sharing::LastApart => Sharing::LastApart,
        },
        ..usual
    })
}

fn ndp(design: Stack, parameters: &NdpParameters, framing: Framing) -> Trimming {
    let classes = match design.transport {
        TransportKind::NdpPlus => parameters.thresholds.len() as u8 + 1,
        _ => 1,
    };
    let full = u64::from(framing.wire_bytes(framing.payload));
    Trimming {
        classes,
        data_limit: priorities::room(parameters.queue, parameters.sharing, classes),
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
        data_limit: priorities::room(parameters.queue, sharing, classes),
        sharing,
        header_limit_bytes: parameters.header_queue.0,
        headers_per_data: parameters.headers_per_data,
        victim: parameters.victim,
        return_to_sender: false,
    }
}
