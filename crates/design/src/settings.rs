//! Parameters of all parts, and the traffic of hosts.

use crate::parameters::{DesignParameters, NicParameters, RepNetParameters};
use std::collections::BTreeMap;
use tailcut_transport::tcp::TcpConfig;
use tailcut_transport::tcp::congestion::Dctcp;
use tailcut_units::parameter::{Parameter, Values};
use tailcut_workload::Framing;

/// The parameters of every design, and of what all have in common. A design reads its own.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Header, preamble and gap bytes a packet, and the payload of a full one.
    pub framing: Framing,
    /// TCP's parameters; the design decides the congestion control.
    pub tcp: TcpConfig,
    /// DCTCP's estimation gain g, above 0 to 1 (1/16 in RFC 8257).
    pub dctcp_gain: f64,
    /// DCTCP's first estimate of marking, 0 to 1 (1 in RFC 8257).
    pub dctcp_first_alpha: f64,
    /// RepNet's parameters.
    pub repnet: RepNetParameters,
    /// Parameters of the other designs.
    pub designs: DesignParameters,
    /// What the hosts' NICs do.
    pub nic: NicParameters,
    /// Queue discipline of switch ports, by name; `fifo` keeps the design's.
    pub discipline: &'static str,
    /// Parameters that parts declare, by the part's name. A part that is missing has its defaults.
    pub values: BTreeMap<&'static str, Values>,
}

impl Settings {
    /// Returns the values of a part's parameters.
    pub fn values_of(&self, part: &str, parameters: &[Parameter]) -> Values {
        let values = self.values.get(part).cloned();
        values.unwrap_or_else(|| Values::of(parameters))
    }
}

impl Default for Settings {
    /// Ethernet's framing, RFC 8257's DCTCP, and the defaults of each part.
    fn default() -> Self {
        Self {
            framing: Framing::ETHERNET_TCP,
            tcp: TcpConfig::default(),
            dctcp_gain: Dctcp::GAIN,
            dctcp_first_alpha: Dctcp::FIRST_ALPHA,
            repnet: RepNetParameters::default(),
            designs: DesignParameters::default(),
            nic: NicParameters::default(),
            discipline: "fifo",
            values: BTreeMap::new(),
        }
    }
}

/// Traffic of hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// Transfers between hosts: flows, storage sessions.
    Transfers,
    /// The same, some of them of an application of one's own, which may give them classes.
    Steered,
    /// Requests to servers, with copies that have a class of their own in the network.
    Requests,
}
