//! Connector of flows. It opens two connections to a target that is known to support RepNet.
//! To any other target, and if both connections fail, it opens one plain connection.

use crate::budget::{Allowed, BudgetLimits, Budgets, Target};
use crate::capability::{Capabilities, Capability};
use crate::clock;
use crate::clock::span;
use crate::connection::{Answer, Connecting, Connection};
use crate::counters::{Counter, Counters, Counts, Stats};
use crate::driver::{Core, Host, Shared, Surroundings};
use crate::ids;
use crate::lingering::Lingering;
use crate::liveness::Liveness;
use crate::settings::{FlowSettings, Pairing, SettingError, Settings};
use crate::stream::TcpStream;
use socket2::SockRef;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tailcut_transport::repnet::{Flow, FlowKey, Leg, Mode, Preamble, Purpose, Status};
use tokio::net::{self, TcpSocket, lookup_host};

/// Connector to targets that may support RepNet. Clones share the known capabilities of targets.
///
/// Only targets that the user names are replicated.
#[derive(Clone)]
pub struct Connector(Arc<Known>);

/// State that all flows of a connector share: capabilities, budgets and counters.
struct Known {
    settings: Settings,
    around: Surroundings,
    capabilities: Mutex<Capabilities>,
    budgets: Mutex<Budgets>,
    /// Number of open RepFlow and RepSYN flows.
    live: Counter,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Addresses of a flow's target.
#[derive(Clone, Debug)]
struct Destination {
    name: Target,
    service: SocketAddr,
    replica: SocketAddr,
}

/// Kind of connection that a flow opens to a target.
enum Choice {
    Replicate(SocketAddr, Mode),
    /// One plain connection, with the counter of its reason. The flag is true if the target has to be probed.
    Plain(fn(&Counts) -> &Counter, bool),
    Off,
}

impl Connector {
    /// Creates a connector with its own counters.
    ///
    /// # Errors
    /// A setting is outside its range.
    pub fn new(settings: Settings) -> Result<Self, SettingError> {
        Self::with_counters(settings, Counters::new())
    }

    /// Creates a connector that adds to `counters`.
    ///
    /// # Errors
    /// A setting is outside its range.
    pub fn with_counters(settings: Settings, counters: Counters) -> Result<Self, SettingError> {
        settings.validate()?;
        Ok(Self(Arc::new(Known {
            settings,
            around: Surroundings {
                lingering: Lingering::new(counters.clone()),
                counters,
                leg_deadline: settings.flow.leg_deadline,
                archive_cap: settings.flow.archive_cap,
            },
            capabilities: Mutex::new(Capabilities::new(span(settings.capability_ttl))),
            budgets: Mutex::default(),
            live: Counter::default(),
        })))
    }

    /// Returns the present values of the counters.
    pub fn stats(&self) -> Stats {
        self.0.around.counters.snapshot()
    }

    /// Opens a connection to `port` of `host`, a name or an address.
    /// If the call is cancelled, all its connections are reset.
    ///
    /// # Errors
    /// The name has no address, or no connection could be opened, not even a plain one.
    pub async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        self.connect_with(host, port, &self.0.settings.flow).await
    }

    /// Opens a connection as [`connect`](Self::connect) does, with separate settings for this flow.
    ///
    /// # Errors
    /// The errors of `connect`, and a setting outside its range.
    pub async fn connect_with(
        &self,
        host: &str,
        port: u16,
        settings: &FlowSettings,
    ) -> io::Result<TcpStream> {
        settings.validate()?;
        let bare = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let host = bare.unwrap_or(host);
        let addresses: Vec<SocketAddr> = match host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => lookup_host((host, port)).await?.collect(),
        };
        let name = (host.to_owned(), port);
        match self.0.choose(settings, &addresses, &name) {
            Choice::Off => plain(&addresses, &self.0.settings.liveness).await,
            Choice::Plain(counter, asks) => self.plain(&addresses, settings, counter, asks).await,
            Choice::Replicate(service, mode) => {
                let at = replica(service, settings);
                let before = lock(&self.0.capabilities).of(clock::now(), at);
                let to = Destination {
                    name,
                    service,
                    replica: at,
                };
                let counter = match self.race(to, mode, settings).await {
                    Ok(stream) => return Ok(stream),
                    Err(counter) => counter,
                };
                let plain = self.plain(&addresses, settings, counter, false).await;
                // A target that refuses both ports is down. The refusal gives no information about its capability.
                if let Err(error) = &plain
                    && error.kind() == io::ErrorKind::ConnectionRefused
                {
                    lock(&self.0.capabilities).restore(clock::now(), at, before);
                }
                plain
            }
        }
    }

    /// Probes the replica port that belongs to `port` of `host`. Returns whether a RepNet server answers.
    /// After `true`, even the first flow to the target is replicated.
    /// A target that accepts no connection on either port is down, and nothing is learned from it.
    ///
    /// # Errors
    /// The name has no address.
    pub async fn probe(&self, host: &str, port: u16) -> io::Result<bool> {
        let mut capable = false;
        for service in lookup_host((host, port)).await? {
            let at = replica(service, &self.0.settings.flow);
            let within = self.0.settings.flow.leg_deadline;
            let found = probe(at, within).await;
            if found || accepts(service, within).await {
                lock(&self.0.capabilities).learn(clock::now(), at, found);
            }
            capable |= found;
        }
        Ok(capable)
    }

    async fn plain(
        &self,
        addresses: &[SocketAddr],
        settings: &FlowSettings,
        counter: fn(&Counts) -> &Counter,
        asks: bool,
    ) -> io::Result<TcpStream> {
        counter(&self.0.around.counters.0).up();
        let stream = plain(addresses, &self.0.settings.liveness).await?;
        if asks && let Ok(service) = stream.peer_addr() {
            let at = replica(service, settings);
            let known = Arc::clone(&self.0);
            let within = settings.leg_deadline;
            if lock(&known.capabilities).start_probe(at) {
                let probing = Probing {
                    known,
                    at,
                    capable: false,
                };
                tokio::spawn(probing.run(within));
            }
        }
        Ok(stream)
    }

    /// Opens both connections of a flow. If both fail, returns the counter for the plain flow.
    async fn race(
        &self,
        to: Destination,
        mode: Mode,
        settings: &FlowSettings,
    ) -> Result<TcpStream, fn(&Counts) -> &Counter> {
        let (service, at) = (to.service, to.replica);
        let Ok(flow) = self.0.start(to, mode, settings) else {
            return Err(|counts| &counts.plain_fallback);
        };
        tokio::spawn(Arc::clone(&flow).drive());
        // If the call is cancelled after this line, `stream` is dropped. The drop closes the flow.
        let liveness = &self.0.settings.liveness;
        let stream = TcpStream::replicated(Arc::clone(&flow), service, None, liveness);
        let opened = std::future::poll_fn(|cx| flow.lock().poll_opened(cx));
        let opened = match settings.fallback_delay {
            Some(delay) => match tokio::time::timeout(delay, opened).await {
                Ok(opened) => opened.is_ok(),
                Err(_) => {
                    // A banner that arrived while this process was busy is processed first.
                    tokio::task::yield_now().await;
                    if !flow.lock().is_opened() {
                        if settings.pairing == Pairing::Hello {
                            lock(&self.0.capabilities).doubt(clock::now(), at);
                        }
                        stream.reset();
                        return Err(|counts| &counts.plain_silent);
                    }
                    true
                }
            },
            None => opened.await.is_ok(),
        };
        match opened {
            true => Ok(stream),
            false => Err(|counts| &counts.plain_fallback),
        }
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("settings", &self.0.settings)
            .finish_non_exhaustive()
    }
}

/// Running probe. It ends when its result is known, or when the runtime ends.
struct Probing {
    known: Arc<Known>,
    at: SocketAddr,
    capable: bool,
}

impl Probing {
    async fn run(mut self, within: Duration) {
        self.capable = probe(self.at, within).await;
    }
}

impl Drop for Probing {
    fn drop(&mut self) {
        let mut known = lock(&self.known.capabilities);
        known.end_probe(clock::now(), self.at, self.capable);
    }
}

impl Known {
    fn choose(&self, settings: &FlowSettings, addresses: &[SocketAddr], name: &Target) -> Choice {
        let Some(mode) = settings.mode else {
            return Choice::Off;
        };
        let address = match settings.pairing {
            Pairing::Port => addresses.first().copied().ok_or(Capability::Incapable),
            Pairing::Hello => self.capable_address(settings, addresses),
        };
        let address = match address {
            Ok(address) => address,
            Err(Capability::Doubtful) => return Choice::Plain(|c| &c.plain_doubtful, true),
            Err(Capability::Unknown) => return Choice::Plain(|c| &c.plain_unknown, true),
            Err(_) => return Choice::Plain(|c| &c.plain_incapable, false),
        };
        let counts = &self.around.counters.0;
        let limits = self.limits(settings);
        let allowed = lock(&self.budgets).ask(name, mode, self.live.get(), limits);
        if allowed != Allowed::All {
            counts.budget_refusals.up();
        }
        match allowed {
            Allowed::All => Choice::Replicate(address, mode),
            Allowed::RepSyn => Choice::Replicate(address, Mode::RepSyn),
            Allowed::Nothing => Choice::Plain(|c| &c.plain_budget, false),
        }
    }

    fn capable_address(
        &self,
        settings: &FlowSettings,
        addresses: &[SocketAddr],
    ) -> Result<SocketAddr, Capability> {
        let now = clock::now();
        let known = lock(&self.capabilities);
        let of = |address: &&SocketAddr| known.of(now, replica(**address, settings));
        let first = |wanted| {
            addresses
                .iter()
                .find(|address| of(address) == wanted)
                .copied()
        };
        if let Some(address) = first(Capability::Capable) {
            return Ok(address);
        }
        if first(Capability::Doubtful).is_some() {
            return Err(Capability::Doubtful);
        }
        match first(Capability::Unknown) {
            Some(address) if settings.assume_capable => Ok(address),
            Some(_) => Err(Capability::Unknown),
            None => Err(Capability::Incapable),
        }
    }

    const fn limits(&self, settings: &FlowSettings) -> BudgetLimits {
        BudgetLimits {
            budget: self.settings.budget,
            incast_limit: self.settings.incast_limit,
            adaptive: settings.adaptive,
        }
    }

    fn start(
        self: &Arc<Self>,
        to: Destination,
        mode: Mode,
        settings: &FlowSettings,
    ) -> io::Result<Arc<Shared>> {
        let key = match settings.pairing {
            Pairing::Hello => Some(FlowKey(ids::random()?)),
            Pairing::Port => None,
        };
        let sockets = match settings.pairing {
            Pairing::Hello => [None, None],
            Pairing::Port => pair(to.service.is_ipv6())?.map(Some),
        };
        let own = Settings {
            flow: *settings,
            ..self.settings
        };
        let flow = Flow::client(clock::now(), mode, key, own.limits());
        self.live.up();
        let limits = self.limits(settings);
        let host = Opened {
            known: Arc::clone(self),
            to,
            sockets,
            limits,
            is_live: true,
        };
        Ok(Core::new(flow, Box::new(host), self.around.clone()).share())
    }
}

/// Returns two sockets for the two connections of a flow, bound to one port that the kernel chooses.
fn pair(is_ipv6: bool) -> io::Result<[TcpSocket; 2]> {
    let (any, new): (IpAddr, fn() -> io::Result<TcpSocket>) = match is_ipv6 {
        true => (Ipv6Addr::UNSPECIFIED.into(), TcpSocket::new_v6),
        false => (Ipv4Addr::UNSPECIFIED.into(), TcpSocket::new_v4),
    };
    let first = new()?;
    first.set_reuseaddr(true)?;
    first.bind(SocketAddr::new(any, 0))?;
    let second = new()?;
    second.set_reuseaddr(true)?;
    second.bind(SocketAddr::new(any, first.local_addr()?.port()))?;
    // If the flow is closed just after the kernel has established a connection, the connection must end with a reset.
    // Without a hello, its FIN would look like the end of the flow's stream.
    // The option is removed after the connection is established.
    first.set_zero_linger()?;
    second.set_zero_linger()?;
    Ok([first, second])
}

/// Flow that this process opened.
struct Opened {
    known: Arc<Known>,
    to: Destination,
    /// Sockets for pairing by port. They are already bound to one port.
    sockets: [Option<TcpSocket>; 2],
    limits: BudgetLimits,
    is_live: bool,
}

impl Host for Opened {
    fn open(&mut self, leg: Leg) -> Connecting {
        let Destination {
            service, replica, ..
        } = self.to;
        let liveness = self.known.settings.liveness;
        let socket = self.sockets[leg as usize].take();
        Box::pin(async move {
            let stream = match socket {
                Some(socket) => {
                    let to = [service, replica][leg as usize];
                    let stream = socket.connect(to).await?;
                    SockRef::from(&stream).set_linger(None)?;
                    stream
                }
                None => net::TcpStream::connect(replica).await?,
            };
            liveness.apply(&stream);
            Ok(stream)
        })
    }

    fn learn(&mut self, capable: bool) {
        lock(&self.known.capabilities).learn(clock::now(), self.to.replica, capable);
    }

    fn outcome(&mut self, established: bool) {
        lock(&self.known.budgets).outcome(&self.to.name, established);
    }

    fn may_rejoin(&mut self) -> bool {
        let live = self.known.live.get();
        let mut budgets = lock(&self.known.budgets);
        let allowed = budgets.ask(&self.to.name, Mode::RepFlow, live, self.limits);
        if allowed != Allowed::All {
            self.known.around.counters.0.budget_refusals.up();
        }
        allowed == Allowed::All
    }

    fn bury(&mut self) {
        if std::mem::take(&mut self.is_live) {
            self.known.live.down();
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.bury();
    }
}

fn replica(mut service: SocketAddr, settings: &FlowSettings) -> SocketAddr {
    let port = settings.replica_port;
    service.set_port(port.unwrap_or(service.port().wrapping_add(1)));
    service
}

async fn plain(addresses: &[SocketAddr], liveness: &Liveness) -> io::Result<TcpStream> {
    let stream = net::TcpStream::connect(addresses).await?;
    liveness.apply(&stream);
    Ok(TcpStream::plain(stream, liveness))
}

/// Returns whether a program accepts connections at this address.
async fn accepts(service: SocketAddr, within: Duration) -> bool {
    let connected = tokio::time::timeout(within, net::TcpStream::connect(service)).await;
    matches!(connected, Ok(Ok(_)))
}

/// Probes a replica port. Returns whether a RepNet server answers.
async fn probe(at: SocketAddr, within: Duration) -> bool {
    let asked = async {
        let flow = FlowKey(ids::random()?);
        let mut connection = Connection::new(net::TcpStream::connect(at).await?);
        connection.say_hello(&Preamble {
            purpose: Purpose::Probe,
            leg: Leg::First,
            flow,
        });
        let answer = std::future::poll_fn(|cx| connection.poll_hello(cx)).await;
        connection.reset();
        Ok::<_, io::Error>(match answer {
            Some(Answer::Banner(banner)) => {
                banner.status == Status::Probed && banner.check == flow.check()
            }
            _ => false,
        })
    };
    // If there is no answer, the result is the same for every cause: no RepNet server.
    matches!(tokio::time::timeout(within, asked).await, Ok(Ok(true)))
}
