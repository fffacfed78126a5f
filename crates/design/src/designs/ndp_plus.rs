//! NDP+: NDP with priorities by the bytes that a flow has sent. The SCDP paper uses it for comparison.

use super::ndp;
use crate::design::Design;
use crate::hosts::{HostSeat, Hosts, demotion};
use crate::ports::Ports;

pub(super) fn design() -> Design {
    Design {
        name: "ndp-plus",
        summary: "NDP+, also ndp+: NDP with priorities by bytes sent",
        source: "SCDP paper",
        hosts: Hosts::ndp(|run| {
            let (parameters, permutes) = (run.settings.designs.ndp.clone(), run.permutes);
            let demotion = demotion(&parameters.thresholds)?;
            Ok(move |seat: &HostSeat<'_>| Ok(ndp::host(&parameters, demotion, permutes, seat)))
        })
        .reading(&["ndp.*"]),
        ports: Ports::own("ndp-plus needs switches that trim", |settings, _| {
            let classes = settings.designs.ndp.thresholds.len() as u8 + 1;
            let queue = ndp::queue(settings, classes);
            move |_| queue.clone()
        })
        .with_room("ndp.queue")
        .with_copies(),
        ..ndp::design()
    }
}
