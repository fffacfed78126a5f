//! What hosts run: each design's transport with its parameters, and layers on top of it.

use crate::config::RunConfig;
use crate::design::{HostSeat, MakeHost, OwnTransport, Replication, TransportKind};
use crate::error::RunError;
use crate::parameters::{NicParameters, PiasParameters};
use crate::{hull, priorities, receiver_driven};
use std::sync::Arc;
use tailcut_fabric::topology::Topology;
use tailcut_transport::nic::{Coalesced, Paced, Queued};
use tailcut_transport::pias::Tags;
use tailcut_transport::qos::Classified;
use tailcut_transport::rans::{Carrier, CopyingHost, Messenger};
use tailcut_transport::repnet::{self, Mode, RepNetConfig};
use tailcut_transport::scdp::ModelCodec;
use tailcut_transport::tcp::{self, Congestion, ControllerFactory, TcpConfig};
use tailcut_transport::{Streams, Transport, ndp, pfabric, scdp};
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
        Replication::None | Replication::Duplicates(_) => None,
        // Of a mixed run the driver draws every mouse's replication itself.
        Replication::RepFlow | Replication::Mixed => Some(Mode::RepFlow),
        Replication::RepSyn => Some(Mode::RepSyn),
    }
}

/// TCP's parameters with the design's congestion control and the framing's payload.
fn tcp_config(config: &RunConfig) -> Outcome<TcpConfig> {
    let tags = match config.design.transport {
        TransportKind::Pias => Some(tags(&config.designs.pias)?),
        _ => None,
    };
    Ok(TcpConfig {
        tags,
        mss: config.framing.payload,
        congestion: match (own_controller(config), config.design.transport) {
            (Some(make), _) => Congestion::Custom(Arc::clone(make)),
            (None, TransportKind::Cubic) => Congestion::Cubic,
            (None, TransportKind::Dctcp | TransportKind::Pias | TransportKind::Hull) => {
                Congestion::Dctcp {
                    gain: config.dctcp_gain,
                    first_alpha: config.dctcp_first_alpha,
                }
            }
            _ => Congestion::NewReno,
        },
        ..config.tcp.clone()
    })
}

/// What makes a congestion controller of one's own, where the design has one.
fn own_controller(config: &RunConfig) -> Option<&'static ControllerFactory> {
    config
        .design
        .own_transport
        .and_then(OwnTransport::controller)
}

/// What makes hosts of one's own, where the design has some.
fn own_hosts(config: &RunConfig) -> Option<&'static MakeHost> {
    config.design.own_transport.and_then(OwnTransport::hosts)
}

/// PIAS' tags.
fn tags(pias: &PiasParameters) -> Outcome<Tags> {
    let demotion = receiver_driven::demotion(&pias.thresholds).map_err(RunError::Transport)?;
    Ok(Tags {
        demotion,
        resends_count: pias.resends_count,
        in_order: pias.host_order,
    })
}

/// What makes the transport of each host.
type Outcome<T> = Result<T, RunError>;

/// TCP hosts.
pub(crate) fn tcp(config: &RunConfig) -> impl Fn(HostId) -> Outcome<tcp::Host> + use<> {
    let tcp = tcp_config(config);
    move |host| tcp::Host::new(host, tcp.clone()?).map_err(RunError::Transport)
}

/// Hosts that carry requests.
pub(crate) fn carriers(
    config: &RunConfig,
) -> impl Fn(HostId) -> Outcome<CopyingHost<Carrier>> + use<> {
    let tcp = tcp_config(config);
    let policy = config.designs.requests.policy(config.design.replication);
    move |host| {
        let mut carrier = Carrier::new(host, &tcp.clone()?).map_err(RunError::Transport)?;
        if policy.swap_lead.is_some() {
            carrier.tell_windows();
        }
        Ok(CopyingHost::new(carrier))
    }
}

/// Hosts that carry requests over messages of `base`.
pub(crate) fn messengers<T: Streams>(
    base: impl Fn(HostId) -> Outcome<T>,
) -> impl Fn(HostId) -> Outcome<CopyingHost<Messenger<T>>> {
    move |host| Ok(CopyingHost::new(Messenger::new(base(host)?)))
}

/// RepNet hosts.
pub(crate) fn repnet(
    config: &RunConfig,
    repnet: RepNetConfig,
) -> impl Fn(HostId) -> Outcome<repnet::Host> + use<> {
    let tcp = tcp_config(config);
    move |host| repnet::Host::new(host, tcp.clone()?, repnet).map_err(RunError::Transport)
}

/// pFabric hosts.
pub(crate) fn pfabric(
    config: &RunConfig,
    topology: &Arc<Topology>,
) -> impl Fn(HostId) -> Outcome<pfabric::Host> + use<> {
    let pfabric = priorities::pfabric(config, topology);
    move |host| pfabric::Host::new(host, pfabric).map_err(RunError::Transport)
}

/// NDP hosts.
pub(crate) fn ndp<'a>(
    config: &'a RunConfig,
    topology: &'a Topology,
) -> impl Fn(HostId) -> Outcome<ndp::Host> + 'a {
    move |host| {
        let ndp = receiver_driven::ndp(config, topology, host);
        ndp.and_then(|ndp| ndp::Host::new(host, ndp))
            .map_err(RunError::Transport)
    }
}

/// SCDP hosts.
pub(crate) fn scdp<'a>(
    config: &'a RunConfig,
    topology: &'a Topology,
) -> impl Fn(HostId) -> Outcome<scdp::Host<ModelCodec>> + 'a {
    move |host| {
        let scdp = receiver_driven::scdp(config, topology, host);
        scdp.and_then(|(scdp, codec)| scdp::Host::new(host, scdp, codec))
            .map_err(RunError::Transport)
    }
}

/// Whether a run's hosts are layers, put together at run time.
pub(crate) fn have_layers(config: &RunConfig) -> bool {
    let design = config.design.transport;
    let layered = matches!(design, TransportKind::Qos | TransportKind::Hull);
    layered || own_hosts(config).is_some() || config.nic != NicParameters::default()
}

/// A host whose layers are known at run time.
pub(crate) type AnyHost = Box<dyn Transport>;

/// What makes hosts whose layers are known at run time.
pub(crate) type MakeAny<'a> = Box<dyn Fn(HostId) -> Outcome<AnyHost> + 'a>;

fn boxed<'a, T: Transport + 'static>(make: impl Fn(HostId) -> Outcome<T> + 'a) -> MakeAny<'a> {
    Box::new(move |host| Ok(Box::new(make(host)?)))
}

/// Makes a design's hosts that carry requests, of whichever kind.
pub(crate) fn copying<'a>(config: &'a RunConfig, topology: &'a Arc<Topology>) -> MakeAny<'a> {
    match config.design.transport {
        TransportKind::Ndp | TransportKind::NdpPlus => boxed(messengers(ndp(config, topology))),
        TransportKind::Scdp => boxed(messengers(scdp(config, topology))),
        _ => boxed(carriers(config)),
    }
}

/// Makes hosts with layers: classes by size, then the host's queue, the pacer and coalescing, from the
/// transport down to the link.
///
/// # Errors
/// A parameter outside its range.
pub(crate) fn layered<'a>(
    config: &'a RunConfig,
    topology: &'a Arc<Topology>,
) -> Outcome<MakeAny<'a>> {
    let base = unlayered(config, topology);
    Ok(Box::new(move |host| {
        let mut transport = base(host)?;
        if config.design.transport == TransportKind::Qos {
            transport = Box::new(Classified::new(transport, config.designs.qos.small_below.0));
        }
        if let Some(length) = config.nic.queue {
            transport = Box::new(Queued::new(transport, length));
        }
        if let Some(pacer) = hull::pacer(config, topology, host) {
            let paced = Paced::new(transport, pacer).map_err(RunError::Transport)?;
            transport = Box::new(paced);
        }
        if let Some(coalescing) = config.nic.coalescing {
            transport = Box::new(Coalesced::new(transport, coalescing));
        }
        Ok(transport)
    }))
}

/// Makes a design's hosts, of whichever kind.
fn unlayered<'a>(config: &'a RunConfig, topology: &'a Arc<Topology>) -> MakeAny<'a> {
    if let Some(make) = own_hosts(config) {
        return Box::new(move |host| {
            let made = make(&HostSeat {
                host,
                hosts: topology.hosts(),
                rate: topology.host_rate(host),
                paths: topology.paths,
                framing: &config.framing,
                tcp: &config.tcp,
                seed: receiver_driven::host_seed(config, host),
            });
            made.map_err(RunError::Transport)
        });
    }
    match config.design.transport {
        TransportKind::PFabric => boxed(pfabric(config, topology)),
        TransportKind::Ndp | TransportKind::NdpPlus => boxed(ndp(config, topology)),
        TransportKind::Scdp => boxed(scdp(config, topology)),
        _ => match repnet_config(config) {
            None => boxed(tcp(config)),
            Some(parameters) => boxed(repnet(config, parameters)),
        },
    }
}
