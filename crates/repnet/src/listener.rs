//! Listener of flows, on the service's port and on the replica port.
//! With pairing by hello, connections to the service's port are plain TCP without any additional bytes.

use crate::clock;
use crate::clock::span;
use crate::connection::{Connecting, Connection, reset};
use crate::counters::{Counters, Stats};
use crate::driver::{Core, Host, Shared, Surroundings};
use crate::ids;
use crate::lingering::Lingering;
use crate::pending_hellos::{PendingHello, PendingHellos, ReceivedHello};
use crate::settings::{Pairing, SecondLegFrom, Settings};
use crate::stream::TcpStream;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tailcut_transport::repnet::{
    Banner, Flow, FlowKey, FlowTable, InstanceId, Leg, Mode, Placement, Preamble, Purpose, Rejoin,
    Status, Ticket,
};
use tailcut_wire::repnet::{HELLO_BYTES, encode_banner};
use tokio::net;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Largest number of ports that `bind` gets from the kernel.
/// `bind` stops earlier at a port whose next port is free, too.
const KERNEL_TRIES: u32 = 64;
/// Number of random ports that `bind` tries if the kernel's ports fail.
const OWN_TRIES: u32 = 4_096;
/// Pause before the next `accept` if the process has no free descriptors.
const BACK_OFF: Duration = Duration::from_millis(20);

/// Identification of a flow at this listener.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key {
    Hello(FlowKey),
    Port(SocketAddr),
}

/// Flow, and the address of its first connection.
#[derive(Clone)]
struct Entry {
    flow: Arc<Shared>,
    from: SocketAddr,
}

type Accepted = io::Result<(TcpStream, SocketAddr)>;

struct Server {
    settings: Settings,
    instance: InstanceId,
    port: u16,
    table: Mutex<FlowTable<Key, Entry>>,
    hellos: PendingHellos,
    flows: mpsc::Sender<Accepted>,
    closing: AtomicBool,
    around: Surroundings,
}

/// Listener on a port and on its replica port. Dropping it closes both ports. Accepted flows continue.
pub struct TcpListener {
    server: Arc<Server>,
    accepted: tokio::sync::Mutex<mpsc::Receiver<Accepted>>,
    address: SocketAddr,
    tasks: [JoinHandle<()>; 2],
}

impl TcpListener {
    /// Listens on `address` and on the next port, with the default settings.
    /// With port 0, `bind` chooses a free port whose next port is free, too.
    ///
    /// # Errors
    /// One of the ports is taken or not permitted.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::bind_with(address, Settings::default(), Counters::new()).await
    }

    /// Listens as [`bind`](Self::bind) does, with these settings, and adds to `counters`.
    ///
    /// # Errors
    /// The errors of [`bind`](Self::bind), and a setting outside its range.
    pub async fn bind_with(
        address: SocketAddr,
        settings: Settings,
        counters: Counters,
    ) -> io::Result<Self> {
        settings.validate()?;
        let (service, replica) = bind_both(address, settings.flow.replica_port).await?;
        let address = service.local_addr()?;
        // Accepted connections inherit these options.
        settings.liveness.apply(&service);
        settings.liveness.apply(&replica);
        // `serve_plain` reserves a slot before a connection arrives, so the channel has one slot more than the backlog.
        let (flows, accepted) = mpsc::channel(settings.accept_backlog + 1);
        let server = Arc::new(Server {
            settings,
            instance: InstanceId(ids::random()?),
            port: address.port(),
            table: Mutex::new(FlowTable::new(
                settings.flow.pairing == Pairing::Port,
                span(settings.tombstone_time),
                settings.tombstone_limit,
            )),
            hellos: PendingHellos::new(settings.pending_hellos, counters.clone()),
            flows,
            closing: AtomicBool::new(false),
            around: Surroundings {
                lingering: Lingering::new(counters.clone()),
                counters: counters.clone(),
                leg_deadline: settings.flow.leg_deadline,
                archive_cap: settings.flow.archive_cap,
            },
        });
        counters.0.servers_paired.up();
        let tasks = match settings.flow.pairing {
            Pairing::Hello => [
                tokio::spawn(Arc::clone(&server).serve_plain(service)),
                tokio::spawn(Arc::clone(&server).serve_hellos(replica)),
            ],
            Pairing::Port => [
                tokio::spawn(Arc::clone(&server).serve_legs(service, Leg::First)),
                tokio::spawn(Arc::clone(&server).serve_legs(replica, Leg::Second)),
            ],
        };
        Ok(Self {
            server,
            accepted: tokio::sync::Mutex::new(accepted),
            address,
            tasks,
        })
    }

    /// Returns the next flow, replicated or plain, and its source address. If the call is cancelled, no flow is lost.
    ///
    /// # Errors
    /// The system cannot accept a connection, usually because the process has no descriptors left.
    /// Later calls may succeed.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let next = self.accepted.lock().await.recv().await;
        next.unwrap_or_else(|| Err(io::Error::other("the runtime of the listener has ended")))
    }

    /// Returns the address of the service.
    ///
    /// # Errors
    /// None. The result has the same type as in [`tokio::net::TcpListener::local_addr`].
    pub const fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }

    /// Returns the present values of the counters.
    pub fn stats(&self) -> Stats {
        self.server.around.counters.snapshot()
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        self.server.close();
        // The application has not served these flows. They are reset, because a client could take a FIN for an answer.
        let accepted = self.accepted.get_mut();
        accepted.close();
        while let Ok(waiting) = accepted.try_recv() {
            if let Ok((stream, _)) = waiting {
                stream.reset();
            }
        }
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpListener")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Binds both ports or neither.
async fn bind_both(
    address: SocketAddr,
    replica_port: Option<u16>,
) -> io::Result<(net::TcpListener, net::TcpListener)> {
    let mut tries = 0;
    // These ports stay bound until the search ends, so that the kernel chooses other ports.
    let mut held = Vec::new();
    loop {
        let mut wanted = address;
        if address.port() == 0 && tries >= KERNEL_TRIES {
            wanted.set_port(random_port()?);
        }
        let bound = bind_pair(wanted, replica_port).await;
        tries += 1;
        let chooses = address.port() == 0 && replica_port.is_none();
        let may_go_on = chooses && tries < KERNEL_TRIES + OWN_TRIES;
        match bound {
            Ok(pair) => return Ok(pair),
            Err((error, service)) if may_go_on && is_taken(&error) => {
                held.extend(service.filter(|_| tries < KERNEL_TRIES));
            }
            Err((error, _)) => return Err(error),
        }
    }
}

/// Returns whether the error concerns only this port, because it is in use or reserved for the system.
/// Another port may then be free.
fn is_taken(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrInUse, PermissionDenied};
    matches!(error.kind(), AddrInUse | PermissionDenied)
}

/// Returns a random port that has a next port.
/// This function is needed if connections in TIME_WAIT occupy most of the ephemeral ports.
/// The kernel chooses only from the ephemeral ports.
fn random_port() -> io::Result<u16> {
    const PORTS: std::ops::Range<u128> = 1_024..65_535;
    let offset = ids::random()? % (PORTS.end - PORTS.start);
    Ok(u16::try_from(PORTS.start + offset).unwrap_or(u16::MAX - 1))
}

/// Binds a port and its replica port. The error contains the listener of the first port, if that port was free.
async fn bind_pair(
    address: SocketAddr,
    replica_port: Option<u16>,
) -> Result<(net::TcpListener, net::TcpListener), (io::Error, Option<net::TcpListener>)> {
    let service = net::TcpListener::bind(address)
        .await
        .map_err(|error| (error, None))?;
    let mut replica = match service.local_addr() {
        Ok(replica) => replica,
        Err(error) => return Err((error, None)),
    };
    let Some(port) = replica_port.or_else(|| replica.port().checked_add(1)) else {
        let message = format!("the replica port: there is none after {}", replica.port());
        let error = io::Error::new(io::ErrorKind::AddrInUse, message);
        return Err((error, Some(service)));
    };
    replica.set_port(port);
    match net::TcpListener::bind(replica).await {
        Ok(replica) => Ok((service, replica)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let message = format!("the replica port {port}: {error}");
            let error = io::Error::new(io::ErrorKind::AddrInUse, message);
            Err((error, Some(service)))
        }
        Err(error) => Err((error, Some(service))),
    }
}

/// Services that the driver of a server's flow needs from its listener.
struct Remembered {
    server: Arc<Server>,
    key: Key,
    ticket: Option<Ticket>,
}

impl Host for Remembered {
    fn open(&mut self, _: Leg) -> Connecting {
        // A server never opens a connection.
        Box::pin(std::future::ready(Err(io::ErrorKind::Unsupported.into())))
    }
    fn learn(&mut self, _: bool) {}
    fn outcome(&mut self, _: bool) {}
    fn may_rejoin(&mut self) -> bool {
        false
    }
    fn remember(&mut self, ticket: Ticket) {
        self.ticket = Some(ticket);
    }
    fn bury(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            let mut table = self.server.table();
            table.bury(clock::now(), &self.key, ticket);
            let stones = table.tombstones() as u64;
            self.server.around.counters.0.tombstones.set(stones);
        }
    }
}

impl Server {
    fn table(&self) -> MutexGuard<'_, FlowTable<Key, Entry>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.hellos.clear();
        let waiting: Vec<Entry> = self.table().stop().collect();
        for entry in waiting {
            entry.flow.lock().stop_waiting();
        }
    }

    /// Serves the service's port for pairing by hello, as plain TCP without any change.
    async fn serve_plain(self: Arc<Self>, service: net::TcpListener) {
        // A slot of the queue is reserved before `accept`, so that further connections wait in the kernel.
        while let Ok(place) = self.flows.reserve().await {
            let accepted = service.accept().await;
            let failed = accepted.is_err();
            let liveness = &self.settings.liveness;
            place.send(accepted.map(|(tcp, from)| (TcpStream::plain(tcp, liveness), from)));
            if failed {
                tokio::time::sleep(BACK_OFF).await;
            }
        }
    }

    /// Serves the replica port for pairing by hello.
    async fn serve_hellos(self: Arc<Self>, replica: net::TcpListener) {
        loop {
            match replica.accept().await {
                Ok((tcp, from)) => {
                    let server = Arc::clone(&self);
                    self.hellos.add(|slot| {
                        let pending = PendingHello::new(tcp, slot);
                        tokio::spawn(server.serve_hello(pending, from)).abort_handle()
                    });
                }
                Err(_) => tokio::time::sleep(BACK_OFF).await,
            }
        }
    }

    /// Serves a port for pairing by port. The source address of a connection identifies its flow.
    async fn serve_legs(self: Arc<Self>, port: net::TcpListener, leg: Leg) {
        loop {
            match port.accept().await {
                Ok((tcp, from)) => {
                    let arrival = Arrival {
                        key: Key::Port(from),
                        leg,
                        mode: Mode::RepFlow,
                        from,
                        flow: None,
                        early: None,
                    };
                    match self.route(&arrival, tcp) {
                        Routed::Opened(flow) => drop(tokio::spawn(flow.drive())),
                        Routed::Attached => {}
                        // Pairing by port has no hello, so the client cannot be redirected to a plain connection.
                        Routed::Refused(tcp) => reset(tcp),
                    }
                }
                Err(_) => tokio::time::sleep(BACK_OFF).await,
            }
        }
    }

    /// Processes the hello of a connection to the replica port.
    async fn serve_hello(self: Arc<Self>, mut pending: PendingHello, from: SocketAddr) {
        let counts = &self.around.counters.0;
        let hello_timeout = self.settings.hello_timeout;
        let received = tokio::time::timeout(hello_timeout, pending.read_hello()).await;
        let preamble = match received {
            Ok(ReceivedHello::Preamble(preamble)) => preamble,
            Ok(ReceivedHello::OtherVersion(preamble)) => {
                let banner = tailcut_wire::repnet::unsupported(&preamble, self.instance);
                return self.refuse(pending, banner).await;
            }
            Ok(ReceivedHello::Foreign) => return counts.dropped_foreign.up(),
            Ok(ReceivedHello::Nothing) => return,
            Err(_) => return counts.dropped_hello_timeout.up(),
        };
        let status = match preamble.purpose {
            Purpose::Probe => Status::Probed,
            Purpose::Open(mode) => {
                let Some((tcp, early)) = pending.into_leg() else {
                    return;
                };
                let arrival = Arrival {
                    key: Key::Hello(preamble.flow),
                    leg: preamble.leg,
                    mode,
                    from,
                    flow: Some(preamble.flow),
                    early,
                };
                match self.route(&arrival, tcp) {
                    Routed::Opened(flow) => return flow.drive().await,
                    Routed::Attached => return,
                    Routed::Refused(tcp) => return self.refuse_leg(tcp, &preamble),
                }
            }
            Purpose::Rejoin(rejoin) => {
                let Some((tcp, early)) = pending.into_leg() else {
                    return;
                };
                match self.rejoin(&preamble, &rejoin, from, (tcp, early)) {
                    Ok(()) => return,
                    Err(tcp) => return self.refuse_leg(tcp, &preamble),
                }
            }
        };
        let banner = self.banner(preamble.flow, preamble.leg, status);
        self.refuse(pending, banner).await;
    }

    async fn refuse(&self, pending: PendingHello, banner: [u8; HELLO_BYTES]) {
        let refused = pending.refuse(banner);
        // If the client does not close the connection, the server closes it after the timeout.
        let _ = tokio::time::timeout(self.settings.hello_timeout, refused).await;
    }

    /// Refuses a connection with the status "busy". The connection then counts as a connection without a flow.
    fn refuse_leg(self: &Arc<Self>, tcp: net::TcpStream, preamble: &Preamble) {
        let banner = self.banner(preamble.flow, preamble.leg, Status::Busy);
        let server = Arc::clone(self);
        self.hellos.add(|slot| {
            let pending = PendingHello::new(tcp, slot);
            tokio::spawn(async move { server.refuse(pending, banner).await }).abort_handle()
        });
    }

    fn banner(&self, flow: FlowKey, leg: Leg, status: Status) -> [u8; HELLO_BYTES] {
        encode_banner(&Banner {
            status,
            leg,
            check: flow.check(),
            instance: self.instance,
        })
    }

    /// Returns the server's end of a flow's connection. The connection sends the banner first.
    fn connection(&self, arrival: &Arrival, status: Status, tcp: net::TcpStream) -> Connection {
        let banner = arrival
            .flow
            .map(|flow| self.banner(flow, arrival.leg, status));
        Connection::accepted(tcp, banner, arrival.early)
    }

    /// Assigns a new connection to its flow.
    fn route(self: &Arc<Self>, arrival: &Arrival, tcp: net::TcpStream) -> Routed {
        let counts = &self.around.counters.0;
        let Arrival { key, leg, from, .. } = *arrival;
        let mut table = self.table();
        match table.place(clock::now(), &key, leg) {
            Placement::New => self.open(arrival, table, tcp),
            Placement::Full => {
                counts.refused_tombstones.up();
                Routed::Refused(tcp)
            }
            Placement::Late => {
                counts.legs_late.up();
                reset(tcp);
                Routed::Attached
            }
            Placement::Known(entry) => {
                drop(table);
                if arrival.flow.is_some() && !self.is_from(&entry, from) {
                    counts.dropped_other_address.up();
                    counts.legs_late.up();
                    reset(tcp);
                    return Routed::Attached;
                }
                let connection = self.connection(arrival, Status::Joined, tcp);
                let joined = entry.flow.lock().join(leg, connection);
                self.table().saw(&key, leg);
                if let Some(late) = joined {
                    counts.legs_late.up();
                    // The client of a RepSYN flow has chosen the other connection, and waits until this one ends.
                    match arrival.mode {
                        Mode::RepSyn => drop(late),
                        Mode::RepFlow => late.reset(),
                    }
                }
                Routed::Attached
            }
        }
    }

    /// Opens a new flow, and puts it into the queue of `accept`.
    fn open(
        self: &Arc<Self>,
        arrival: &Arrival,
        mut table: MutexGuard<'_, FlowTable<Key, Entry>>,
        tcp: net::TcpStream,
    ) -> Routed {
        let counts = &self.around.counters.0;
        let Arrival { key, leg, from, .. } = *arrival;
        if self.closing.load(Ordering::Relaxed) {
            counts.refused_closing.up();
            return Routed::Refused(tcp);
        }
        let Ok(place) = self.flows.try_reserve() else {
            counts.refused_full.up();
            return Routed::Refused(tcp);
        };
        let connection = self.connection(arrival, Status::Opened, tcp);
        let host = Remembered {
            server: Arc::clone(self),
            key,
            ticket: None,
        };
        let flow = Flow::server(clock::now(), arrival.mode, leg, self.settings.limits());
        let flow = Core::new(flow, Box::new(host), self.around.clone()).share();
        // No other task can access the flow yet, so this lock cannot block.
        // All other code locks the flow before the table.
        let mut core = flow.lock();
        let entry = Entry {
            flow: Arc::clone(&flow),
            from,
        };
        let ticket = table.add(clock::now(), key, leg, entry);
        drop(table);
        core.remember(ticket);
        core.first_leg(leg, connection);
        drop(core);
        let liveness = &self.settings.liveness;
        let stream = TcpStream::replicated(Arc::clone(&flow), from, Some(self.port), liveness);
        place.send(Ok((stream, from)));
        Routed::Opened(flow)
    }

    /// Returns whether a connection from this address may join a flow.
    /// Such a connection can read the flow's bytes and write some.
    /// By default, only the address that opened the flow may join.
    fn is_from(&self, entry: &Entry, from: SocketAddr) -> bool {
        self.settings.flow.second_leg_from == SecondLegFrom::Anywhere
            || entry.from.ip() == from.ip()
    }

    /// Adds a second connection to a flow that has been idle.
    /// If the connection does not fit the flow, it is refused, and the flow continues unchanged.
    fn rejoin(
        &self,
        preamble: &Preamble,
        rejoin: &Rejoin,
        from: SocketAddr,
        (tcp, early): (net::TcpStream, Option<u8>),
    ) -> Result<(), net::TcpStream> {
        let entry = self.table().live(&Key::Hello(preamble.flow));
        let entry = entry.filter(|entry| self.is_from(entry, from));
        let Some(entry) = entry.filter(|_| !self.closing.load(Ordering::Relaxed)) else {
            return Err(tcp);
        };
        let mut core = entry.flow.lock();
        if !core.flow().stands_at(preamble.leg, rejoin) {
            return Err(tcp);
        }
        let banner = self.banner(preamble.flow, preamble.leg, Status::Joined);
        core.rejoin(
            preamble.leg,
            rejoin,
            Connection::accepted(tcp, Some(banner), early),
        );
        Ok(())
    }
}

/// Connection of a flow that has arrived at the listener.
struct Arrival {
    key: Key,
    leg: Leg,
    mode: Mode,
    from: SocketAddr,
    /// Identifier of the flow in the connection's hello.
    flow: Option<FlowKey>,
    /// Byte of the application that was read together with the hello.
    early: Option<u8>,
}

/// Result for a connection that has arrived.
enum Routed {
    /// The connection opened a flow. The caller has to drive the flow.
    Opened(Arc<Shared>),
    /// The connection belongs to a flow, or was closed.
    Attached,
    /// No flow accepts the connection.
    Refused(net::TcpStream),
}
