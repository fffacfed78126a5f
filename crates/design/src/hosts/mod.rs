//! What runs on hosts: each design's transport with its parameters, and layers on top of it.

mod pacers;
mod pfabric;
mod receiver_driven;

use crate::kinds::{Replication, TransportKind};
use crate::own::{HostSeat, MakeHost, OwnTransport};
use crate::parameters::NicParameters;
use crate::settings::{Settings, Traffic};
use crate::stack::Stack;
use std::sync::Arc;
use tailcut_transport::ConfigError;
use tailcut_transport::copies::{Carrier, CopyingHost, Messenger};
use tailcut_transport::nic::{Coalesced, Paced, PacedConfig, Queued};
use tailcut_transport::pfabric::PFabricConfig;
use tailcut_transport::pias::Tags;
use tailcut_transport::repnet::{self, Mode, RepNetConfig};
use tailcut_transport::scdp::{self, ModelCodec, ScdpConfig};
use tailcut_transport::tcp::{self, Congestion, TcpConfig};
use tailcut_transport::{Classified, Streams, Transport, ndp};
use tailcut_units::{Duration, HostId, Rate, stream_seed};

/// Random streams of hosts, for [`stream_seed`].
const HOST_DRAWS: u64 = 0x686f_7374;

/// What runs on hosts. It speaks of transports only: what a host is told of its network stands in its
/// [`HostSeat`].
#[derive(Clone, Debug)]
pub struct HostPlan {
    design: Stack,
    settings: Settings,
    /// TCP's parameters with the design's congestion control and the framing's payload.
    tcp: TcpConfig,
    pfabric: PFabricConfig,
    /// Of scdp-plain: how long hosts wait before they know a round trip.
    first_timeout: Duration,
    traffic: Traffic,
    seed: u64,
}

/// Uses the hosts of a plan, whatever their transport is.
pub trait UseHosts {
    /// What comes of it.
    type Output;

    /// Uses hosts that `make` builds, each from its seat.
    fn with<T: Transport + 'static>(
        self,
        make: impl Fn(&HostSeat<'_>) -> Result<T, ConfigError>,
    ) -> Self::Output;
}

type Made<T> = Result<T, ConfigError>;

impl HostPlan {
    /// The plan of a design, where hosts carry `traffic`. `seed` is that of the run; `longest_round_trip`
    /// gives the longest time from the first bit of a full packet to the last bit of its ACK in the
    /// empty network, and is asked only where a timeout follows from it.
    ///
    /// # Errors
    /// Thresholds that do not ascend. What else is wrong is told when hosts are built.
    pub fn new(
        design: Stack,
        settings: &Settings,
        traffic: Traffic,
        seed: u64,
        longest_round_trip: impl FnOnce() -> Duration,
    ) -> Made<Self> {
        let mut pfabric = PFabricConfig::default();
        let mut first_timeout = Duration::ZERO;
        match design.transport {
            TransportKind::PFabric => {
                let parameters = &settings.designs.pfabric;
                pfabric = pfabric::config(parameters, settings.framing, longest_round_trip);
            }
            TransportKind::ScdpPlain => {
                let parameters = &settings.designs.scdp_plain;
                first_timeout = receiver_driven::first_timeout(parameters, longest_round_trip);
            }
            _ => {}
        }
        Ok(Self {
            design,
            tcp: tcp_config(design, settings)?,
            settings: settings.clone(),
            pfabric,
            first_timeout,
            traffic,
            seed,
        })
    }

    /// pFabric's parameters on these hosts.
    pub const fn pfabric_config(&self) -> &PFabricConfig {
        &self.pfabric
    }

    /// The tags that hosts put on what TCP sends, where the design has any.
    pub const fn tags(&self) -> Option<&Tags> {
        self.tcp.tags.as_ref()
    }

    /// The pacer in the NIC of a seat, where the design has one.
    pub fn pacer(&self, seat: &HostSeat<'_>) -> Option<PacedConfig> {
        let is_paced = self.design.transport == TransportKind::Hull;
        let parameters = self.settings.designs.hull.pacer.as_ref();
        let parameters = parameters.filter(|_| is_paced)?;
        Some(pacers::config(parameters, seat, self.seed))
    }

    /// The seat of a host in a network of so many `hosts`, whose links have `rate` together and see
    /// `paths` equal-cost paths to distant hosts.
    pub fn seat(&self, host: HostId, hosts: u32, rate: Rate, paths: u32) -> HostSeat<'_> {
        HostSeat {
            host,
            hosts,
            rate,
            paths,
            framing: &self.settings.framing,
            tcp: &self.settings.tcp,
            seed: stream_seed(self.seed, HOST_DRAWS, u64::from(host.0)),
        }
    }

    /// Gives `user` what builds the hosts, by their own type where it is known here: a driver's loop is
    /// compiled for it.
    pub fn build<U: UseHosts>(&self, user: U) -> U::Output {
        use TransportKind::{Ndp, NdpPlus, Scdp, ScdpPlain};
        match (self.design.transport, self.traffic) {
            (Ndp | NdpPlus, Traffic::Requests) => user.with(|seat| messenger(self.ndp(seat)?)),
            (Scdp | ScdpPlain, Traffic::Requests) => user.with(|seat| messenger(self.scdp(seat)?)),
            (_, Traffic::Requests) => user.with(|seat| self.carrier(seat)),
            _ if self.has_layers() => user.with(|seat| self.layered(seat)),
            _ => self.build_transports(user),
        }
    }

    /// The same with the built-in transports alone, without what is above or below them.
    fn build_transports<U: UseHosts>(&self, user: U) -> U::Output {
        use TransportKind::{Ndp, NdpPlus, PFabric, Scdp, ScdpPlain};
        match (self.design.transport, self.repnet_config()) {
            (Ndp | NdpPlus, _) => user.with(|seat| self.ndp(seat)),
            (Scdp | ScdpPlain, _) => user.with(|seat| self.scdp(seat)),
            (PFabric, _) => user.with(|seat| self.pfabric(seat)),
            (_, None) => user.with(|seat| self.tcp(seat)),
            (_, Some(config)) => user.with(|seat| self.repnet(seat, config)),
        }
    }

    /// Builds one host behind a pointer.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn boxed(&self, seat: &HostSeat<'_>) -> Made<Box<dyn Transport>> {
        self.build(Boxed(seat))
    }

    fn own_hosts(&self) -> Option<&'static MakeHost> {
        self.design.own_transport.and_then(OwnTransport::hosts)
    }

    /// Whether hosts are layers, put together at run time.
    fn has_layers(&self) -> bool {
        let transport = self.design.transport;
        matches!(transport, TransportKind::Qos | TransportKind::Hull)
            || self.own_hosts().is_some()
            || self.traffic == Traffic::Steered
            || self.settings.nic != NicParameters::default()
    }

    /// A host with layers: classes by size or by the application's word, then the host's queue, the
    /// pacer and coalescing, from the transport down to the link.
    fn layered(&self, seat: &HostSeat<'_>) -> Made<Box<dyn Transport>> {
        let mut transport = match self.own_hosts() {
            Some(make) => make(seat)?,
            None => self.build_transports(Boxed(seat))?,
        };
        if self.design.transport == TransportKind::Qos {
            let small_below = self.settings.designs.qos.small_below.0;
            transport = Box::new(Classified::new(transport, small_below));
        } else if self.traffic == Traffic::Steered {
            transport = Box::new(Classified::as_told(transport));
        }
        if let Some(length) = self.settings.nic.queue {
            transport = Box::new(Queued::new(transport, length));
        }
        if let Some(pacer) = self.pacer(seat) {
            transport = Box::new(Paced::new(transport, pacer)?);
        }
        if let Some(coalescing) = self.settings.nic.coalescing {
            transport = Box::new(Coalesced::new(transport, coalescing));
        }
        Ok(transport)
    }

    fn tcp(&self, seat: &HostSeat<'_>) -> Made<tcp::Host> {
        tcp::Host::new(seat.host, self.tcp.clone())
    }

    fn repnet(&self, seat: &HostSeat<'_>, config: RepNetConfig) -> Made<repnet::Host> {
        repnet::Host::new(seat.host, self.tcp.clone(), config)
    }

    fn pfabric(&self, seat: &HostSeat<'_>) -> Made<tailcut_transport::pfabric::Host> {
        tailcut_transport::pfabric::Host::new(seat.host, self.pfabric)
    }

    fn ndp(&self, seat: &HostSeat<'_>) -> Made<ndp::Host> {
        let config = receiver_driven::ndp(self.design, &self.settings.designs.ndp, seat)?;
        ndp::Host::new(seat.host, config)
    }

    fn scdp(&self, seat: &HostSeat<'_>) -> Made<scdp::Host<ModelCodec>> {
        let (config, codec) = self.scdp_parts(seat)?;
        scdp::Host::new(seat.host, config, codec)
    }

    fn scdp_parts(&self, seat: &HostSeat<'_>) -> Made<(ScdpConfig, ModelCodec)> {
        let designs = &self.settings.designs;
        let (mut config, codec) = receiver_driven::scdp(&designs.scdp, seat)?;
        if self.design.transport == TransportKind::ScdpPlain {
            config = receiver_driven::plain(config, &designs.scdp_plain, self.first_timeout);
        }
        Ok((config, codec))
    }

    /// SCDP's parameters on one host; `None` for hosts that have another transport.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn scdp_config(&self, seat: &HostSeat<'_>) -> Made<Option<ScdpConfig>> {
        match self.design.transport {
            TransportKind::Scdp | TransportKind::ScdpPlain => {
                self.scdp_parts(seat).map(|(config, _)| Some(config))
            }
            _ => Ok(None),
        }
    }

    /// A TCP host that carries requests.
    fn carrier(&self, seat: &HostSeat<'_>) -> Made<CopyingHost<Carrier>> {
        let requests = &self.settings.designs.requests;
        let mut carrier = Carrier::new(seat.host, &self.tcp)?;
        if requests.policy(self.design.replication).swap_lead.is_some() {
            carrier.tell_windows();
        }
        Ok(CopyingHost::new(carrier))
    }

    /// RepNet's parameters; `None` for hosts that replicate nothing.
    pub fn repnet_config(&self) -> Option<RepNetConfig> {
        let parameters = &self.settings.repnet;
        mode(self.design.replication).map(|mode| RepNetConfig {
            mode,
            limit: parameters.limit.0,
            archive_limit: parameters.archive_limit.0,
            waiting_list_timeout: parameters.waiting_list_timeout,
        })
    }
}

/// Builds the host of one seat, behind a pointer.
struct Boxed<'a>(&'a HostSeat<'a>);

impl UseHosts for Boxed<'_> {
    type Output = Made<Box<dyn Transport>>;

    fn with<T: Transport + 'static>(self, make: impl Fn(&HostSeat<'_>) -> Made<T>) -> Self::Output {
        Ok(Box::new(make(self.0)?))
    }
}

/// A host that carries requests over the messages of another.
fn messenger<T: Streams>(base: T) -> Made<CopyingHost<Messenger<T>>> {
    Ok(CopyingHost::new(Messenger::new(base)))
}

/// What hosts replicate where the driver does not say; `None` for hosts that replicate nothing.
const fn mode(replication: Replication) -> Option<Mode> {
    match replication {
        Replication::None | Replication::Duplicates(_) => None,
        // Of a mixed run the driver draws every mouse's replication itself.
        Replication::RepFlow | Replication::Mixed => Some(Mode::RepFlow),
        Replication::RepSyn => Some(Mode::RepSyn),
    }
}

/// TCP's parameters with a design's congestion control and tags, and the framing's payload.
fn tcp_config(design: Stack, settings: &Settings) -> Made<TcpConfig> {
    let own = design.own_transport.and_then(OwnTransport::controller);
    let pias = &settings.designs.pias;
    let tags = match design.transport {
        TransportKind::Pias => Some(Tags {
            demotion: receiver_driven::demotion(&pias.thresholds)?,
            resends_count: pias.resends_count,
            in_order: pias.host_order,
        }),
        _ => None,
    };
    Ok(TcpConfig {
        tags,
        mss: settings.framing.payload,
        congestion: match (own, design.transport) {
            (Some(make), _) => Congestion::Custom(Arc::clone(make)),
            (None, TransportKind::Cubic) => Congestion::Cubic,
            (None, TransportKind::Dctcp | TransportKind::Pias | TransportKind::Hull) => {
                Congestion::Dctcp {
                    gain: settings.dctcp_gain,
                    first_alpha: settings.dctcp_first_alpha,
                }
            }
            _ => Congestion::NewReno,
        },
        ..settings.tcp.clone()
    })
}
