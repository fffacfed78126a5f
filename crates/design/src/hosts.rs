//! Hosts of a design: their transport, its keys, and the program that runs the transport on real hosts.

use crate::kernel::Kernel;
use crate::run::{Run, lists};
use crate::settings::Settings;
use std::sync::Arc;
use tailcut_transport::nic::PacedConfig;
use tailcut_transport::pfabric::PFabricConfig;
use tailcut_transport::pias::Tags;
use tailcut_transport::scdp::{ModelCodec, ScdpConfig};
use tailcut_transport::tcp::congestion::CongestionControl;
use tailcut_transport::tcp::{Congestion, TcpConfig};
use tailcut_transport::{ConfigError, Demotion, Transport, ndp};
use tailcut_units::{Duration, HostId, Rate};
use tailcut_workload::Framing;

/// Position of one host in a network, with the values that the host's transport needs.
#[derive(Clone, Copy, Debug)]
pub struct HostSeat<'a> {
    /// Number of the host.
    pub host: HostId,
    /// Number of hosts in the network.
    pub hosts: u32,
    /// Total rate of the host's links.
    pub rate: Rate,
    /// Largest number of equal-cost paths between distant hosts.
    pub paths: u32,
    /// Header bytes, and the payload of a full packet.
    pub framing: &'a Framing,
    /// Parameters of TCP.
    pub tcp: &'a TcpConfig,
    /// Seed of the host's random stream.
    pub seed: u64,
}

impl HostSeat<'_> {
    /// Returns the time of a full packet on the host's links, with preamble and gap.
    pub fn full_packet_time(&self) -> Duration {
        let full = self.framing.wire_bytes(self.framing.payload);
        self.rate.serialisation(u64::from(full))
    }
}

pub(crate) type Made<T> = Result<T, ConfigError>;
/// Function that configures one host.
pub(crate) type PerSeat<T> = Arc<dyn Fn(&HostSeat<'_>) -> Made<T> + Send + Sync>;
/// Function that is called once per run.
pub(crate) type PerRun<T> = Arc<dyn Fn(&Run<'_>) -> Made<T> + Send + Sync>;

/// Transport of the hosts, with the functions that configure it.
#[derive(Clone)]
pub(crate) enum Kind {
    Tcp {
        controller: Controller,
        tags: Option<PerRun<Tags>>,
    },
    PFabric(PerRun<PFabricConfig>),
    Ndp(PerRun<PerSeat<ndp::NdpConfig>>),
    Scdp(PerRun<PerSeat<(ScdpConfig, ModelCodec)>>),
    Own(PerRun<PerSeat<Box<dyn Transport>>>),
    None,
}

/// Congestion controller of TCP, with the keys that it reads and its implementation in the kernel.
#[derive(Clone)]
pub struct Controller {
    pub(crate) make: Arc<dyn Fn(&Run<'_>) -> Congestion + Send + Sync>,
    keys: &'static [&'static str],
    kernel: Kernel,
}

impl Controller {
    /// Returns a controller that is compiled into TCP.
    pub fn new(make: impl Fn(&Run<'_>) -> Congestion + Send + Sync + 'static) -> Self {
        Self {
            make: Arc::new(make),
            keys: &["tcp.classic_ecn"],
            kernel: Kernel::Missing("no kernel implements its congestion controller"),
        }
    }

    /// Returns a custom controller. `make` reads the parameters once per run.
    /// `make` returns the function that creates the controller of each connection.
    pub fn own<C, M>(make: impl Fn(&Run<'_>) -> M + Send + Sync + 'static) -> Self
    where
        C: CongestionControl + 'static,
        M: Fn() -> C + Send + Sync + 'static,
    {
        Self::new(move |run| {
            let make = make(run);
            Congestion::Custom(Arc::new(move || Box::new(make())))
        })
    }

    /// Sets the keys of `[tcp]` that only this controller reads.
    #[must_use]
    pub fn reading(self, keys: &'static [&'static str]) -> Self {
        Self { keys, ..self }
    }

    /// Sets the kernel's implementation of this controller.
    #[must_use]
    pub fn on_kernel(self, kernel: Kernel) -> Self {
        Self { kernel, ..self }
    }
}

/// Keys of `[tcp]` that only some of the controllers read.
const KEYS_OF_CONTROLLERS: [&str; 3] =
    ["tcp.dctcp_gain", "tcp.dctcp_first_alpha", "tcp.classic_ecn"];

/// Hosts of a design: their configuration, their keys, and the program that runs their transport on real hosts.
#[derive(Clone)]
pub struct Hosts {
    pub(crate) kind: Kind,
    keys: &'static [&'static str],
    kernel: Kernel,
    fault: Option<&'static str>,
}

impl Hosts {
    const fn new(kind: Kind) -> Self {
        Self {
            kind,
            keys: &[],
            kernel: Kernel::Missing("no kernel implements its transport"),
            fault: None,
        }
    }

    /// Returns hosts that send no packets.
    pub const fn none() -> Self {
        Self::new(Kind::None)
    }

    /// Returns hosts with TCP and this controller.
    pub fn tcp(controller: Controller) -> Self {
        Self::new(Kind::Tcp {
            controller,
            tags: None,
        })
    }

    /// Adds classes to TCP packets. The class of a packet depends on the bytes that its flow has sent.
    #[must_use]
    pub fn tagged(mut self, make: impl Fn(&Run<'_>) -> Made<Tags> + Send + Sync + 'static) -> Self {
        match &mut self.kind {
            Kind::Tcp { tags, .. } => *tags = Some(Arc::new(make)),
            // A builder returns no error. Registration reports the fault instead.
            _ => self.fault = Some("it has tags, but its hosts do not use TCP"),
        }
        self
    }

    /// Returns the same hosts, but with another congestion controller.
    #[must_use]
    pub fn with_controller(mut self, other: Controller) -> Self {
        match &mut self.kind {
            Kind::Tcp { controller, .. } => *controller = other,
            _ => {
                self.fault =
                    Some("it sets a congestion controller, but its base design does not use TCP");
            }
        }
        self
    }

    /// Returns hosts with pFabric. `make` is called once per run.
    pub fn pfabric(make: impl Fn(&Run<'_>) -> Made<PFabricConfig> + Send + Sync + 'static) -> Self {
        Self::new(Kind::PFabric(Arc::new(make)))
    }

    /// Returns hosts with NDP. `make` is called once per run, and returns the function that configures each host.
    pub fn ndp<M>(make: impl Fn(&Run<'_>) -> Made<M> + Send + Sync + 'static) -> Self
    where
        M: Fn(&HostSeat<'_>) -> Made<ndp::NdpConfig> + Send + Sync + 'static,
    {
        Self::new(Kind::Ndp(Arc::new(move |run| Ok(Arc::new(make(run)?)))))
    }

    /// Returns hosts with SCDP. `make` is called once per run, and returns the function that configures each host.
    pub fn scdp<M>(make: impl Fn(&Run<'_>) -> Made<M> + Send + Sync + 'static) -> Self
    where
        M: Fn(&HostSeat<'_>) -> Made<(ScdpConfig, ModelCodec)> + Send + Sync + 'static,
    {
        Self::new(Kind::Scdp(Arc::new(move |run| Ok(Arc::new(make(run)?)))))
    }

    /// Returns hosts with a custom transport.
    /// `make` is called once per run, and returns the function that creates each host.
    pub fn own<T, M>(make: impl Fn(&Run<'_>) -> Made<M> + Send + Sync + 'static) -> Self
    where
        T: Transport + 'static,
        M: Fn(&HostSeat<'_>) -> Made<T> + Send + Sync + 'static,
    {
        Self::new(Kind::Own(Arc::new(move |run| {
            let make = make(run)?;
            let boxed = move |seat: &HostSeat<'_>| -> Made<Box<dyn Transport>> {
                Ok(Box::new(make(seat)?))
            };
            Ok(Arc::new(boxed))
        })))
    }

    /// Sets the keys that the hosts read, except keys of TCP.
    /// If the last character of a key is `*`, the key stands for all keys with this beginning.
    #[must_use]
    pub fn reading(self, keys: &'static [&'static str]) -> Self {
        Self { keys, ..self }
    }

    /// Sets the program that runs the transport on real hosts. With TCP, the controller sets this program instead.
    #[must_use]
    pub fn on_kernel(self, kernel: Kernel) -> Self {
        Self { kernel, ..self }
    }

    /// Returns the program that runs the transport on real hosts.
    pub(crate) const fn kernel(&self) -> Kernel {
        match &self.kind {
            Kind::Tcp { controller, .. } => controller.kernel,
            _ => self.kernel,
        }
    }

    /// Returns the reason why the design cannot be registered, or `None` if it can.
    pub(crate) const fn fault(&self) -> Option<&'static str> {
        self.fault
    }

    /// Returns whether TCP packets have classes. The class depends on the bytes that the flow has sent.
    pub const fn have_tags(&self) -> bool {
        matches!(self.kind, Kind::Tcp { tags: Some(_), .. })
    }

    pub(crate) const fn is_none(&self) -> bool {
        matches!(self.kind, Kind::None)
    }

    pub(crate) const fn are_tcp(&self) -> bool {
        matches!(self.kind, Kind::Tcp { .. })
    }

    pub(crate) const fn carry_requests(&self) -> bool {
        // Requests need TCP, or a transport with `Streams`. pFabric and custom transports have neither.
        !matches!(self.kind, Kind::PFabric(_) | Kind::Own(_))
    }

    pub(crate) fn reads(&self, key: &str) -> bool {
        let of_tcp = match &self.kind {
            Kind::Tcp { controller, .. } if KEYS_OF_CONTROLLERS.contains(&key) => {
                controller.keys.contains(&key)
            }
            Kind::Tcp { .. } => key.starts_with("tcp."),
            _ => false,
        };
        of_tcp || lists(self.keys, key)
    }
}

/// Layer in the network card, between a host's transport and its link.
#[derive(Clone, Copy)]
pub enum Nic {
    /// No layer.
    Plain,
    /// Priority for flows below a size.
    /// The variant contains the function that returns the size, and the keys on which the size depends.
    SmallFirst(fn(&Settings) -> u64, &'static [&'static str]),
    /// Pacer. The function configures the pacer from the settings, the seat and the run's seed.
    /// The variant also contains the keys on which the pacer depends.
    Paced(
        fn(&Settings, &HostSeat<'_>, u64) -> Option<PacedConfig>,
        &'static [&'static str],
    ),
}

impl Nic {
    pub(crate) fn reads(&self, key: &str) -> bool {
        match self {
            Self::Plain => false,
            Self::SmallFirst(_, keys) | Self::Paced(_, keys) => lists(keys, key),
        }
    }
}

/// Returns the classes of flows. A threshold is the number of sent bytes at which a flow moves to the next class.
///
/// # Errors
/// The thresholds do not ascend, or there are too many thresholds.
pub(crate) fn demotion(thresholds: &[u64]) -> Made<Demotion> {
    Demotion::at(thresholds).ok_or_else(|| ConfigError {
        key: "thresholds",
        found: format!("{thresholds:?}"),
        allowed: "at most 7, each greater than the one before".into(),
    })
}
