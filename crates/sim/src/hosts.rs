//! What hosts run: TCP and RepNet with a design's parameters, and layers on top of them.

use crate::config::RunConfig;
use crate::design::{Replication, TransportKind};
use crate::receiver_driven;
use crate::run::RunError;
use std::sync::Arc;
use tailcut_fabric::topology::Topology;
use tailcut_transport::pias::Tagged;
use tailcut_transport::repnet::{self, Mode, RepNetConfig};
use tailcut_transport::tcp::{self, Congestion, TcpConfig};
use tailcut_transport::{Demotion, Transport};
use tailcut_units::HostId;

/// RepNet's parameters; `None` for hosts that replicate nothing.
pub(crate) fn repnet_config(config: &RunConfig) -> Option<RepNetConfig> {
    mode(config.design.replication).map(|mode| RepNetConfig {
        mode,
        limit: config.repnet.limit.0,
        archive_limit: config.repnet.archive_limit.0,
        waiting_list_timeout: config.repnet.waiting_list_timeout,
    })
}

/// What hosts replicate where the driver does not say; `None` for hosts that replicate nothing.
fn mode(replication: Replication) -> Option<Mode> {
    match replication {
        Replication::None => None,
        // Of a mixed run the driver draws every mouse's replication itself.
        Replication::RepFlow | Replication::Mixed => Some(Mode::RepFlow),
        Replication::RepSyn => Some(Mode::RepSyn),
    }
}

/// TCP's parameters with the design's congestion control and the framing's payload.
pub(crate) fn tcp_config(config: &RunConfig) -> TcpConfig {
    TcpConfig {
        mss: config.framing.payload,
        congestion: match config.design.transport {
            TransportKind::Cubic => Congestion::Cubic,
            TransportKind::Dctcp | TransportKind::Pias => Congestion::Dctcp {
                gain: config.dctcp_gain,
            },
            _ => Congestion::NewReno,
        },
        ..config.tcp.clone()
    }
}

/// Whether a design's hosts are layers, put together at run time.
pub(crate) fn have_layers(config: &RunConfig) -> bool {
    config.design.transport == TransportKind::Pias
}

/// Makes the hosts of a design with layers.
///
/// # Errors
/// A parameter outside its range.
pub(crate) fn layered<'a>(
    config: &'a RunConfig,
    _topology: &'a Arc<Topology>,
) -> Result<impl Fn(HostId) -> Result<Box<dyn Transport>, RunError> + 'a, RunError> {
    let tcp = tcp_config(config);
    let repnet = repnet_config(config);
    let demotion = match config.design.transport {
        TransportKind::Pias => receiver_driven::demotion(&config.designs.pias.thresholds)
            .map_err(RunError::Transport)?,
        _ => Demotion::NONE,
    };
    Ok(move |host| {
        let base: Box<dyn Transport> = match repnet {
            None => Box::new(tcp::Host::new(host, tcp.clone()).map_err(RunError::Transport)?),
            Some(repnet) => {
                let host = repnet::Host::new(host, tcp.clone(), repnet);
                Box::new(host.map_err(RunError::Transport)?)
            }
        };
        Ok(match config.design.transport {
            TransportKind::Pias => Box::new(Tagged::new(base, demotion)),
            _ => base,
        })
    })
}
