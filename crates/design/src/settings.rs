//! Parameters of all parts, and the traffic of hosts.

use crate::parameters::{DesignParameters, NicParameters, RepNetParameters};
use std::collections::BTreeMap;
use tailcut_fabric::queue::NamedQueue;
use tailcut_transport::tcp::TcpConfig;
use tailcut_transport::tcp::congestion::Dctcp;
use tailcut_units::parameter::{Parameter, Values};
use tailcut_workload::Framing;

/// Parameters of all designs, and parameters that all designs share. Each design reads only its own parameters.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Header, preamble and gap bytes of each packet, and the payload of a full packet.
    pub framing: Framing,
    /// Parameters of TCP. The design sets the congestion control.
    pub tcp: TcpConfig,
    /// Estimation gain g of DCTCP, above 0 and at most 1 (1/16 in RFC 8257).
    pub dctcp_gain: f64,
    /// First estimate of DCTCP's share of marked packets, 0 to 1 (1 in RFC 8257).
    pub dctcp_first_alpha: f64,
    /// Parameters of RepNet.
    pub repnet: RepNetParameters,
    /// Parameters that only some designs have.
    pub designs: DesignParameters,
    /// Parameters of the hosts' queues and NICs.
    pub nic: NicParameters,
    /// The user's queue discipline of switch ports. `None` keeps the design's queue.
    pub discipline: Option<&'static NamedQueue>,
    /// Values of the parameters that parts declare, by the part's name. A part without an entry has its defaults.
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
    /// Returns Ethernet's framing, the DCTCP of RFC 8257, and the defaults of each part.
    fn default() -> Self {
        Self {
            framing: Framing::ETHERNET_TCP,
            tcp: TcpConfig::default(),
            dctcp_gain: Dctcp::GAIN,
            dctcp_first_alpha: Dctcp::FIRST_ALPHA,
            repnet: RepNetParameters::default(),
            designs: DesignParameters::default(),
            nic: NicParameters::default(),
            discipline: None,
            values: BTreeMap::new(),
        }
    }
}

/// Kind of traffic that hosts carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// Transfers between hosts: flows and storage sessions.
    Transfers,
    /// Same as `Transfers`, but a custom application sends some of the transfers and may set their classes.
    Steered,
    /// Requests to servers. Copies of requests have a separate class in the network.
    Requests,
}
