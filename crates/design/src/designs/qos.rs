//! Ideal comparison design: TCP NewReno over two strict priorities, with known flow sizes.

use super::tcp;
use crate::design::Design;
use crate::hosts::Nic;
use crate::ports::Ports;
use tailcut_fabric::queue::{Priority, QueueConfig, Sharing};

pub(super) fn design() -> Design {
    Design {
        name: "qos",
        summary: "TCP NewReno over two strict priorities, small flows first: an ideal with known flow sizes",
        source: "",
        nic: Nic::SmallFirst(|settings| settings.designs.qos.small_below.0, &["qos.*"]),
        ports: Ports::own("qos needs its two priorities", |_, _| {
            |port| {
                QueueConfig::Priority(Priority {
                    classes: 2,
                    limit: port.limit,
                    // Each class has the whole limit, so that large flows cause no losses of small flows.
                    sharing: Sharing::PerClass,
                    mark_above: port.mark_above,
                })
            }
        })
        .reading(&["queue.limit"])
        .marking(|settings| settings.tcp.classic_ecn),
        ..tcp::design()
    }
}
