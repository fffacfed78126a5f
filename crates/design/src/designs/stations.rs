//! Design without packets: requests wait at the stations of servers.

use crate::design::Design;
use crate::hosts::Hosts;
use crate::ports::Ports;

pub(super) fn design() -> Design {
    Design {
        name: "stations",
        summary: "no packets: requests at stations of servers (queueing model), with delays between",
        source: "",
        handshake: false,
        hosts: Hosts::none(),
        ports: Ports::network(|_| false).reading(&[]),
        ..Design::over_tcp()
    }
}
