//! Plan for the hosts of a run: the design's transport, and the layers above and below it.

use crate::design::Design;
use crate::hosts::{HostSeat, Kind, Made, Nic, PerSeat};
use crate::replication::Replication;
use crate::run::Run;
use crate::settings::{Settings, Traffic};
use crate::stack::Stack;
use std::fmt;
use std::sync::Arc;
use tailcut_fabric::load_balancer::Choice;
use tailcut_transport::copies::{Carrier, CopyingHost, Messenger};
use tailcut_transport::nic::{Coalesced, Departures, Jittered, Paced, PacedConfig, Queued};
use tailcut_transport::pfabric::{self, PFabricConfig};
use tailcut_transport::pias::Tags;
use tailcut_transport::repnet::{self, RepNetConfig};
use tailcut_transport::scdp::{self, ModelCodec, ScdpConfig};
use tailcut_transport::tcp::{self, TcpConfig};
use tailcut_transport::{Classified, ConfigError, Streams, Transport, ndp};
use tailcut_units::{Duration, HostId, Rate, stream_seed};

/// Number of the random stream of the hosts, an argument of [`stream_seed`].
const HOST_DRAWS: u64 = 0x686f_7374;
/// Number of the random stream of a host's departures, an argument of [`stream_seed`].
const DEPARTURES: u64 = 0x6465_7061;

/// Plan for the hosts of one run. The plan uses only types of the transports.
/// The properties of the network come from a [`HostSeat`].
#[derive(Clone)]
pub struct HostPlan {
    design: &'static Design,
    replication: Replication,
    settings: Settings,
    traffic: Traffic,
    seed: u64,
    hosts: RunHosts,
}

/// Transport of a run's hosts, with its configuration.
#[derive(Clone)]
enum RunHosts {
    /// Hosts with TCP. The configuration is boxed, because it is much larger than the other variants.
    Tcp(Arc<TcpConfig>),
    PFabric(PFabricConfig),
    Ndp(PerSeat<ndp::NdpConfig>),
    Scdp(PerSeat<(ScdpConfig, ModelCodec)>),
    Own(PerSeat<Box<dyn Transport>>),
    None,
}

/// Name of the key that sets a timer of a transport, and the timer's length.
pub type KeyedTimer = (&'static str, Duration);

/// Timers of a transport that can determine the completion time of a flow.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Timeouts {
    /// Retransmission timer before the first round-trip sample.
    pub initial: Option<KeyedTimer>,
    /// Lower bound of the retransmission timer.
    pub least: Option<KeyedTimer>,
}

/// Function that uses the hosts of a plan. It is generic over the type of their transport.
pub trait UseHosts {
    /// Type of the result of using the hosts.
    type Output;

    /// Uses the hosts. `make` builds the host at a given seat.
    fn with<T: Transport + 'static>(
        self,
        make: impl Fn(&HostSeat<'_>) -> Result<T, ConfigError>,
    ) -> Self::Output;
}

impl HostPlan {
    /// Returns the plan for a design whose hosts carry `traffic`. `seed` is the seed of the run.
    /// `longest_round_trip` returns the longest round trip of a full packet and its ACK in the empty network.
    /// Only designs whose timeouts depend on this time call the function.
    ///
    /// # Errors
    /// The design's thresholds do not ascend. Other invalid parameters cause errors when the hosts are built.
    pub fn new(
        stack: Stack,
        settings: &Settings,
        traffic: Traffic,
        seed: u64,
        longest_round_trip: impl Fn() -> Duration,
    ) -> Made<Self> {
        let design = stack.design;
        let run = Run {
            settings,
            values: &settings.values_of(design.name, design.parameters),
            permutes: stack.balancer.choice == Choice::Sender,
            longest_round_trip: &longest_round_trip,
        };
        let hosts = match &design.hosts.kind {
            Kind::Tcp { controller, tags } => RunHosts::Tcp(Arc::new(TcpConfig {
                mss: settings.framing.payload,
                congestion: (controller.make)(&run),
                tags: tags.as_ref().map(|make| make(&run)).transpose()?,
                ..settings.tcp.clone()
            })),
            Kind::PFabric(make) => RunHosts::PFabric(make(&run)?),
            Kind::Ndp(make) => RunHosts::Ndp(make(&run)?),
            Kind::Scdp(make) => RunHosts::Scdp(make(&run)?),
            Kind::Own(make) => RunHosts::Own(make(&run)?),
            Kind::None => RunHosts::None,
        };
        Ok(Self {
            design,
            replication: stack.replication,
            settings: settings.clone(),
            traffic,
            seed,
            hosts,
        })
    }

    /// Returns the classes that hosts set in TCP packets, if the design has classes.
    pub fn tags(&self) -> Option<&Tags> {
        match &self.hosts {
            RunHosts::Tcp(config) => config.tags.as_ref(),
            _ => None,
        }
    }

    /// Returns the pacer of a host's network card, if the design has a pacer.
    pub fn pacer(&self, seat: &HostSeat<'_>) -> Option<PacedConfig> {
        match self.design.nic {
            Nic::Paced(pacer, _) => pacer(&self.settings, seat, self.seed),
            Nic::Plain | Nic::SmallFirst(..) => None,
        }
    }

    /// Returns the random departures of a host's packets. `None`: packets leave when the link is free.
    pub fn departures(&self, seat: &HostSeat<'_>) -> Option<Departures> {
        let jitter = self.settings.nic.jitter;
        (jitter > Duration::ZERO)
            .then(|| Departures::new(jitter, stream_seed(seat.seed, DEPARTURES, 0)))
    }

    /// Returns the timers of a host's transport.
    ///
    /// # Errors
    /// A parameter is outside its range.
    pub fn timeouts(&self, seat: &HostSeat<'_>) -> Made<Timeouts> {
        let least = |key, span| Timeouts {
            initial: None,
            least: Some((key, span)),
        };
        Ok(match &self.hosts {
            RunHosts::Tcp(config) => Timeouts {
                initial: Some(("tcp.initial_rto", config.initial_rto)),
                ..least("tcp.min_rto", config.min_rto)
            },
            RunHosts::PFabric(config) => least("pfabric.rto", config.rto),
            RunHosts::Ndp(make) => least("ndp.min_rto", make(seat)?.min_rto),
            RunHosts::Scdp(make) => {
                let (config, _) = make(seat)?;
                match config.mode {
                    scdp::Mode::Paper => least("scdp.timeout", config.timeout),
                    scdp::Mode::Credit(credit) => {
                        least("scdp_plain.min_timeout", credit.min_timeout)
                    }
                }
            }
            RunHosts::Own(_) | RunHosts::None => Timeouts::default(),
        })
    }

    /// Returns the position of a host in a network of `hosts` hosts.
    /// `rate` is the total rate of the host's links. `paths` is the number of equal-cost paths to distant hosts.
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

    /// Calls `user` with the function that builds the hosts.
    /// In each arm of the `match`, the type of the hosts is known at compile time.
    /// The compiler therefore generates the caller's loop for this type.
    pub fn build<U: UseHosts>(&self, user: U) -> U::Output {
        let requests = self.traffic == Traffic::Requests;
        match &self.hosts {
            RunHosts::Ndp(make) if requests => user.with(|seat| messenger(ndp(make, seat)?)),
            RunHosts::Scdp(make) if requests => user.with(|seat| messenger(scdp(make, seat)?)),
            RunHosts::Tcp(config) if requests => user.with(|seat| self.carrier(config, seat)),
            _ if self.has_layers() => self.with_layers(user),
            _ => self.bare(user),
        }
    }

    /// Calls `user` with the function that builds hosts without layers.
    fn bare<U: UseHosts>(&self, user: U) -> U::Output {
        match (&self.hosts, self.repnet_config()) {
            (RunHosts::Tcp(config), None) => {
                user.with(|seat| tcp::Host::new(seat.host, Arc::clone(config)))
            }
            (RunHosts::Tcp(config), Some(repnet)) => {
                user.with(|seat| repnet::Host::new(seat.host, Arc::clone(config), repnet))
            }
            (RunHosts::PFabric(config), _) => {
                user.with(|seat| pfabric::Host::new(seat.host, *config))
            }
            (RunHosts::Ndp(make), _) => user.with(|seat| ndp(make, seat)),
            (RunHosts::Scdp(make), _) => user.with(|seat| scdp(make, seat)),
            (RunHosts::Own(_) | RunHosts::None, _) => self.with_layers(user),
        }
    }

    /// Calls `user` with the function that builds hosts as trait objects.
    /// All hosts of this kind share one compiled loop.
    fn with_layers<U: UseHosts>(&self, user: U) -> U::Output {
        user.with(|seat| self.layered(seat))
    }

    /// Returns one host as a trait object.
    ///
    /// # Errors
    /// A parameter is outside its range.
    pub fn boxed(&self, seat: &HostSeat<'_>) -> Made<Box<dyn Transport>> {
        self.build(Boxed(seat))
    }

    /// Returns whether the hosts consist of layers that are combined at run time.
    fn has_layers(&self) -> bool {
        !matches!(self.design.nic, Nic::Plain)
            || matches!(self.hosts, RunHosts::Own(_) | RunHosts::None)
            || self.traffic == Traffic::Steered
            || self.settings.nic.queue.is_some()
            || self.settings.nic.coalescing.is_some()
            || self.settings.nic.jitter > Duration::ZERO
    }

    /// Returns a host with layers. The list of layers begins at the transport and ends at the link:
    /// Classes (by flow size, or set by the application), queue, pacer, random departures, coalescing.
    fn layered(&self, seat: &HostSeat<'_>) -> Made<Box<dyn Transport>> {
        let mut transport = match &self.hosts {
            RunHosts::Own(make) => make(seat)?,
            RunHosts::None => {
                return Err(ConfigError {
                    key: "designs",
                    found: format!("'{}' over a network", self.design.name),
                    allowed: "designs with packets".into(),
                });
            }
            _ => self.bare(Boxed(seat))?,
        };
        if let Nic::SmallFirst(below, _) = self.design.nic {
            transport = Box::new(Classified::new(transport, below(&self.settings)));
        } else if self.traffic == Traffic::Steered {
            transport = Box::new(Classified::as_told(transport));
        }
        if let Some(length) = self.settings.nic.queue {
            transport = Box::new(Queued::new(transport, length));
        }
        if let Some(pacer) = self.pacer(seat) {
            transport = Box::new(Paced::new(transport, pacer)?);
        }
        if let Some(departures) = self.departures(seat) {
            transport = Box::new(Jittered::new(transport, departures));
        }
        if let Some(coalescing) = self.settings.nic.coalescing {
            transport = Box::new(Coalesced::new(transport, coalescing));
        }
        Ok(transport)
    }

    /// Returns SCDP's parameters of one host, or `None` if the hosts have another transport.
    ///
    /// # Errors
    /// A parameter is outside its range.
    pub fn scdp_config(&self, seat: &HostSeat<'_>) -> Made<Option<ScdpConfig>> {
        match &self.hosts {
            RunHosts::Scdp(make) => make(seat).map(|(config, _)| Some(config)),
            _ => Ok(None),
        }
    }

    /// Returns a TCP host that carries requests.
    fn carrier(&self, config: &Arc<TcpConfig>, seat: &HostSeat<'_>) -> Made<CopyingHost<Carrier>> {
        let requests = &self.settings.designs.requests;
        let mut carrier = Carrier::new(seat.host, Arc::clone(config))?;
        if requests.policy(self.replication).swap_lead.is_some() {
            carrier.tell_windows();
        }
        Ok(CopyingHost::new(carrier))
    }

    /// Returns RepNet's parameters. `None`: the hosts replicate no flow.
    pub fn repnet_config(&self) -> Option<RepNetConfig> {
        let parameters = &self.settings.repnet;
        mode(self.replication).map(|mode| RepNetConfig {
            mode,
            limit: parameters.limit.0,
            archive_limit: parameters.archive_limit.0,
            waiting_list_timeout: parameters.waiting_list_timeout,
        })
    }
}

impl fmt::Debug for HostPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostPlan")
            .field("design", &self.design.name)
            .field("traffic", &self.traffic)
            .finish_non_exhaustive()
    }
}

/// Implementation of [`UseHosts`] that builds the host of one seat as a trait object.
struct Boxed<'a>(&'a HostSeat<'a>);

impl UseHosts for Boxed<'_> {
    type Output = Made<Box<dyn Transport>>;

    fn with<T: Transport + 'static>(self, make: impl Fn(&HostSeat<'_>) -> Made<T>) -> Self::Output {
        Ok(Box::new(make(self.0)?))
    }
}

fn ndp(make: &PerSeat<ndp::NdpConfig>, seat: &HostSeat<'_>) -> Made<ndp::Host> {
    ndp::Host::new(seat.host, make(seat)?)
}

fn scdp(
    make: &PerSeat<(ScdpConfig, ModelCodec)>,
    seat: &HostSeat<'_>,
) -> Made<scdp::Host<ModelCodec>> {
    let (config, codec) = make(seat)?;
    scdp::Host::new(seat.host, config, codec)
}

/// Returns a host that carries requests as messages of the transport `base`.
fn messenger<T: Streams>(base: T) -> Made<CopyingHost<Messenger<T>>> {
    Ok(CopyingHost::new(Messenger::new(base)))
}

/// Returns RepNet's default mode for mice. `None`: the hosts replicate no flow.
/// The driver can set another mode for each mouse.
const fn mode(replication: Replication) -> Option<repnet::Mode> {
    match replication {
        Replication::None | Replication::Duplicates(_) => None,
        // In a mixed run, the driver selects a random replication for each mouse.
        Replication::RepFlow | Replication::Mixed => Some(repnet::Mode::RepFlow),
        Replication::RepSyn => Some(repnet::Mode::RepSyn),
    }
}
