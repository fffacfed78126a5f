//! PIAS: DCTCP over strict priorities. A flow moves to a lower class as it sends more bytes.

use super::dctcp;
use crate::design::Design;
use crate::hosts::{Hosts, demotion};
use crate::ports::{Ports, room};
use tailcut_fabric::queue::{Priority, QueueConfig};
use tailcut_transport::pias::Tags;

pub(super) fn design() -> Design {
    Design {
        name: "pias",
        summary: "PIAS: DCTCP with strict priorities by the number of sent bytes",
        source: "NSDI 2015",
        hosts: Hosts::tcp(dctcp::controller())
            .tagged(|run| {
                let pias = &run.settings.designs.pias;
                Ok(Tags {
                    demotion: demotion(&pias.thresholds)?,
                    resends_count: pias.resends_count,
                    in_order: pias.host_order,
                    relief_after: pias.relief_after,
                })
            })
            .reading(&["pias.*"]),
        ports: Ports::own("pias needs its strict priorities", |settings, _| {
            let pias = &settings.designs.pias;
            let (limit, sharing) = (pias.limit, pias.sharing);
            let classes = pias.thresholds.len() as u8 + 1;
            move |port| {
                QueueConfig::Priority(Priority {
                    classes,
                    limit: room(limit, sharing, classes),
                    sharing,
                    mark_above: port.mark_above,
                })
            }
        })
        .with_room("pias.limit")
        .marking(|_| true)
        .with_copies(),
        ..Design::over_tcp()
    }
}
