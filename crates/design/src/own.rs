//! Transports and load balancers of one's own: what they are called, what they are like, and what they do
//! in another way. Once registered they have names like those that are built in.

use crate::kinds::{Replication, Routing, TransportKind};
use crate::parts::{REPLICATIONS, ROUTINGS, TRANSPORTS, names};
use crate::register::{NameError, Register};
use std::sync::Arc;
use tailcut_fabric::load_balancer::{BuildBalancer, LoadBalancer};
use tailcut_fabric::queue::QueueConfig;
use tailcut_transport::ConfigError;
use tailcut_transport::Transport;
use tailcut_transport::tcp::congestion::CongestionControl;
use tailcut_transport::tcp::{ControllerFactory, TcpConfig};
use tailcut_units::{HostId, Rate};
use tailcut_workload::Framing;

/// What a transport of one's own is told of the host that it runs on.
#[derive(Clone, Copy, Debug)]
pub struct HostSeat<'a> {
    /// The host.
    pub host: HostId,
    /// Hosts in the network.
    pub hosts: u32,
    /// The rate of the host's links together.
    pub rate: Rate,
    /// Equal-cost paths between distant hosts, at most.
    pub paths: u32,
    /// Header bytes, and the payload of a full packet.
    pub framing: &'a Framing,
    /// The scenario's parameters of TCP.
    pub tcp: &'a TcpConfig,
    /// The seed of the host's random stream.
    pub seed: u64,
}

/// What a queue of one's own is told of the switch port that it is for.
#[derive(Clone, Copy, Debug)]
pub struct PortSeat<'a> {
    /// The rate of the port's link.
    pub rate: Rate,
    /// The queue that the scenario's network has there.
    pub usual: &'a QueueConfig,
}

pub(crate) type MakeHost =
    Arc<dyn Fn(&HostSeat<'_>) -> Result<Box<dyn Transport>, ConfigError> + Send + Sync>;
pub(crate) type MakeQueue = Arc<dyn Fn(&PortSeat<'_>) -> QueueConfig + Send + Sync>;

/// A transport of one's own: like one that is built in, with another congestion controller, another queue
/// at switch ports, or hosts of another kind. Closures make them, and carry what parameters there are.
#[derive(Clone)]
pub struct OwnTransport {
    name: &'static str,
    about: &'static str,
    like: TransportKind,
    controller: Option<ControllerFactory>,
    queue: Option<MakeQueue>,
    host: Option<MakeHost>,
}

impl OwnTransport {
    /// A transport that is called `name`, and is like a built-in one as long as nothing else is said.
    /// `about` is a line for `tailcut list designs`.
    ///
    /// What it is like also says whether flows begin with a handshake, which load balancers it works
    /// with, and which of the scenario's sections it reads.
    pub const fn like(name: &'static str, about: &'static str, like: TransportKind) -> Self {
        Self {
            name,
            about,
            like,
            controller: None,
            queue: None,
            host: None,
        }
    }

    /// Each connection gets a congestion controller that `make` builds. Only for transports over TCP.
    #[must_use]
    pub fn with_controller<C: CongestionControl + 'static>(
        mut self,
        make: impl Fn() -> C + Send + Sync + 'static,
    ) -> Self {
        self.controller = Some(Arc::new(move || Box::new(make())));
        self
    }

    /// Each switch port gets the queue that `make` says.
    #[must_use]
    pub fn with_queue(
        mut self,
        make: impl Fn(&PortSeat<'_>) -> QueueConfig + Send + Sync + 'static,
    ) -> Self {
        self.queue = Some(Arc::new(make));
        self
    }

    /// Each host runs a transport that `make` builds, or the error that it gives ends the run.
    #[must_use]
    pub fn with_host<T: Transport + 'static>(
        mut self,
        make: impl Fn(&HostSeat<'_>) -> Result<T, ConfigError> + Send + Sync + 'static,
    ) -> Self {
        self.host = Some(Arc::new(move |seat| Ok(Box::new(make(seat)?))));
        self
    }

    /// Makes its name known to this process: from now on designs can be called by it.
    ///
    /// # Errors
    /// A name that cannot be one or is taken, or a controller for a transport that has none.
    pub fn register(self) -> Result<(), NameError> {
        if self.controller.is_some() && !self.like.has_handshake() {
            return Err(NameError {
                name: self.name,
                why: "it has a congestion controller and is like a transport that has none",
            });
        }
        OWN_TRANSPORTS.enter(self, built_in())
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// What it is, in a line.
    pub const fn about(&self) -> &'static str {
        self.about
    }

    /// What it is like.
    pub const fn kind(&self) -> TransportKind {
        self.like
    }

    /// Every transport that was registered, in that order.
    pub fn all() -> Vec<&'static Self> {
        OWN_TRANSPORTS.all()
    }

    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        OWN_TRANSPORTS.find(name)
    }

    /// Whether a replication is a layer over it: RepNet's are layers over TCP's hosts, and duplicates of
    /// requests have a class of their own at ports.
    pub(crate) fn carries(&self, replication: Replication) -> bool {
        replication.works_over(self.like)
            && match replication {
                Replication::None => true,
                Replication::RepFlow | Replication::RepSyn | Replication::Mixed => {
                    self.host.is_none()
                }
                Replication::Duplicates(_) => self.host.is_none() && self.queue.is_none(),
            }
    }

    /// Whether its connections have a congestion controller of their own.
    pub fn has_controller(&self) -> bool {
        self.controller.is_some()
    }

    pub(crate) fn controller(&self) -> Option<&ControllerFactory> {
        self.controller.as_ref()
    }

    /// What says the queue of each switch port, where it is its own.
    pub(crate) fn queue(&self) -> Option<&MakeQueue> {
        self.queue.as_ref()
    }

    /// What makes its hosts, where they are its own.
    pub(crate) fn hosts(&self) -> Option<&MakeHost> {
        self.host.as_ref()
    }
}

/// A load balancer of one's own.
#[derive(Clone)]
pub struct OwnBalancer {
    name: &'static str,
    about: &'static str,
    like: Routing,
    build: BuildBalancer,
}

impl OwnBalancer {
    /// A load balancer that is called `name` and keeps the packets of a flow on one path. `build` makes
    /// that of each switch, from the switch's number.
    pub fn by_flow<L: LoadBalancer + 'static>(
        name: &'static str,
        about: &'static str,
        build: impl Fn(u32) -> L + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            about,
            like: Routing::Ecmp,
            build: BuildBalancer::new(build),
        }
    }

    /// The same, for one that may send each packet of a flow another way.
    pub fn by_packet<L: LoadBalancer + 'static>(
        name: &'static str,
        about: &'static str,
        build: impl Fn(u32) -> L + Send + Sync + 'static,
    ) -> Self {
        Self {
            like: Routing::Spray,
            ..Self::by_flow(name, about, build)
        }
    }

    /// Makes its name known to this process: from now on designs can have it behind their `@`.
    ///
    /// # Errors
    /// A name that cannot be one or is taken.
    pub fn register(self) -> Result<(), NameError> {
        OWN_BALANCERS.enter(self, built_in())
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// What it is, in a line.
    pub const fn about(&self) -> &'static str {
        self.about
    }

    /// What it is like: ECMP where the packets of a flow stay on one path, else spraying.
    pub const fn kind(&self) -> Routing {
        self.like
    }

    /// Every load balancer that was registered, in that order.
    pub fn all() -> Vec<&'static Self> {
        OWN_BALANCERS.all()
    }

    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        OWN_BALANCERS.find(name)
    }

    pub(crate) const fn build(&self) -> &BuildBalancer {
        &self.build
    }
}

told_by_name!(OwnTransport);
told_by_name!(OwnBalancer);

static OWN_TRANSPORTS: Register<OwnTransport> = Register::new();
static OWN_BALANCERS: Register<OwnBalancer> = Register::new();

/// Names of designs' parts that cannot be given again.
fn built_in() -> impl Iterator<Item = &'static str> {
    names(&REPLICATIONS)
        .chain(names(&TRANSPORTS))
        .chain(names(&ROUTINGS))
}
