//! Endpoint that sends and receives objects.

use super::buffer_budget::BufferBudget;
use super::check_codec::GroupListeners;
use super::clock::WallClock;
use super::engine::{Counts, Engine, Setup};
use super::mailbox::Mailbox;
use super::outcome::{Failure, Received, Sent};
use super::outgoing::{Kind, Payload, Task};
use super::pace::Pace;
use super::route::Route;
use super::run::{Bell, Command, Driver, Membership, Outcome, Thread};
use super::sealing::TRAILER;
use super::shared_progress::{Progress, SharedProgress};
use super::spares::Spares;
use crate::codec::Codes;
use crate::seal::{Key, Tokens, random};
use crate::udp::{Multicast, Port, Socket, SocketOptions};
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use tailcut_transport::scdp::{
    BlockOrder, CreditConfig, Delivery, DriverCodec, Host, Limits, Mode, ScdpConfig,
};
use tailcut_transport::{Demotion, Share, Stragglers};
use tailcut_units::{Duration, HostId};
use tailcut_wire::scdp::credit::SYMBOL_BYTES;
use tailcut_wire::scdp::paper::SYN_BYTES;

/// Number of erasure codes that are kept. Blocks with the same number of source symbols have the same code.
/// The code of the largest block (256 symbols) needs about 128 KiB, so 16 codes need 2 MiB at most.
/// With fewer codes, objects of different lengths would create their codes again.
const CODES: usize = 16;
/// Largest number of symbols in flight in paper mode. 64 packets of 1,500 bytes fill a link of 10 Gb/s for 77 us.
/// The SCDP paper uses 32 symbols at this rate (section V).
const WINDOW: u32 = 64;
/// Size of the IPv4 and UDP headers in bytes.
const HEADERS_V4: u32 = 28;
/// Size of the IPv6 and UDP headers in bytes.
const HEADERS_V6: u32 = 48;

/// Options of an endpoint.
#[derive(Clone, Debug)]
pub struct Options {
    /// Options of the socket.
    pub socket: SocketOptions,
    /// Size of the largest object that is received, in bytes.
    /// The default of 17 MiB is enough for a slab with its header.
    pub object: u64,
    /// Memory for received objects until the application takes them, in bytes.
    /// If the memory is full, further objects must wait. Default 64 MiB.
    pub memory: u64,
    /// Largest rate of sent bytes per second. Each datagram counts as `mtu` bytes. Default: no limit.
    pub rate: Option<u64>,
    /// Number of threads that decode, at least 1. Default 1.
    pub decoders: usize,
    /// Flow control of received objects. [`Mode::Credit`] is the default and works on any network.
    /// [`Mode::Paper`] is the mode of the SCDP paper, with a window of 64 symbols and version 1 of the header.
    /// Paper mode needs switches that trim, and hosts that trust each other. It has no tokens, keys or shares.
    /// Both ends must use the same mode.
    pub mode: Mode,
    /// Pre-shared key of this endpoint and of all endpoints that exchange objects with it.
    /// With a key, packets are encrypted, and packets of hosts without the key are dropped.
    /// A key needs [`Mode::Credit`]. Default: no key.
    pub key: Option<Key>,
    /// Options for sending to multicast groups.
    pub multicast: Multicast,
    /// Largest IP packet that is sent, in bytes: 1,280 to 9,000. Default 1,500.
    /// If a path carries only smaller packets, the transfer starts again with smaller symbols.
    pub mtu: u16,
    /// Parameters of the protocol.
    /// `None`: the defaults for `mode` and the bound address, with symbols that fill packets of `mtu` bytes.
    /// If parameters are given, their `mode` is used instead of the `mode` of these options.
    pub scdp: Option<ScdpConfig>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            socket: SocketOptions::default(),
            object: 17 << 20,
            // The memory is enough for three of the largest objects.
            // So one object can arrive while the application takes another object.
            memory: 64 << 20,
            rate: None,
            decoders: 1,
            mode: Mode::Credit(CreditConfig::default()),
            key: None,
            multicast: Multicast::default(),
            mtu: 1_500,
            scdp: None,
        }
    }
}

impl Options {
    fn scdp(&self, local: SocketAddr) -> ScdpConfig {
        let headers = match local.is_ipv4() {
            true => HEADERS_V4,
            false => HEADERS_V6,
        };
        let (header, window) = match self.mode {
            Mode::Credit(_) if self.key.is_some() => {
                (SYMBOL_BYTES + TRAILER, Limits::SOCKETS.pushed)
            }
            Mode::Credit(_) => (SYMBOL_BYTES, Limits::SOCKETS.pushed),
            Mode::Paper => (SYN_BYTES, WINDOW),
        };
        self.scdp.unwrap_or(ScdpConfig {
            // The caller has not checked the MTU yet. So the value is limited here.
            symbol: u32::from(self.mtu.clamp(1_280, 9_000))
                .saturating_sub(headers + header as u32)
                .min(Limits::SOCKETS.max_symbol),
            initial_window: window,
            // A receiver refuses an offer that pushes more symbols than the receiver's limit.
            shared_window: window.min(ScdpConfig::default().shared_window),
            limits: Limits {
                pushed: window,
                ..Limits::SOCKETS
            },
            mode: self.mode,
            // All datagrams have the same DSCP. So priority classes of symbols would change nothing in the network.
            demotion: Demotion::NONE,
            in_order: false,
            // A socket has no fixed link rate. So pulls have no fixed interval.
            // Only the limit of symbols in flight delays pulls.
            pull_interval: Duration::from_ps(1),
            byte_time: Duration::from_ps(0),
            // A sender that has not received the final message asks again after at most `max_timeout` (1 s by default).
            // The receiver must remember the session for this time.
            time_wait: Duration::from_ms(1_000),
            // The driver has memory for the whole object and stores each symbol at its offset.
            // So no block waits for another block or for a reader.
            delivery: Delivery::Blocks {
                order: BlockOrder::AsWhole,
                window: u64::MAX,
            },
            ..ScdpConfig::default()
        })
    }
}

impl Options {
    pub(super) fn codes(&self) -> Arc<Codes> {
        Arc::new(Codes::new(CODES))
    }

    /// Creates the engine of an endpoint at `local`.
    pub(super) fn engine(&self, local: SocketAddr, codes: Arc<Codes>) -> io::Result<Engine> {
        let invalid = |said| io::Error::new(io::ErrorKind::InvalidInput, said);
        let config = self.scdp(local);
        if !(1_280..=9_000).contains(&self.mtu) {
            let found = self.mtu;
            return Err(invalid(format!("mtu {found}; allowed: 1280 to 9000 bytes")));
        }
        if self.key.is_some() && config.mode == Mode::Paper {
            let said = "a key needs credits: mode is Paper; allowed: Credit";
            return Err(invalid(said.to_owned()));
        }
        let me = HostId(0);
        let host = Host::new(me, config, DriverCodec::default());
        Ok(Engine::new(Setup {
            host: host.map_err(|error| invalid(error.to_string()))?,
            config,
            me,
            budget: BufferBudget::new(self.object, self.memory),
            codes,
            tokens: Tokens::generate().map_err(io::Error::other)?,
            key: self.key.clone(),
        }))
    }
}

/// Endpoint: a UDP socket, and a thread that runs SCDP over this socket.
/// An endpoint sends objects to other endpoints and receives objects from them.
/// If the endpoint is dropped, the thread ends, and unfinished transfers are lost.
///
/// ```
/// use tailcut_cast::driver::{Endpoint, Options};
///
/// let options = Options::default();
/// let a = Endpoint::bind("127.0.0.1:0".parse()?, &options)?;
/// let b = Endpoint::bind("127.0.0.1:0".parse()?, &options)?;
///
/// let sending = a.send(b.local(), vec![7; 100_000]);
/// let received = b.receive().ok_or("closed")?;
/// assert_eq!((received.from, received.bytes), (a.local(), vec![7; 100_000]));
/// assert!(sending.wait()?.bytes >= 100_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// `receive` and `wait` have async forms, which work with any async runtime:
///
/// ```
/// # use tailcut_cast::driver::{Endpoint, Options};
/// async fn echo(endpoint: &Endpoint) -> Result<(), Box<dyn std::error::Error>> {
///     while let Some(received) = endpoint.arrival().await {
///         let from = received.from;
///         endpoint.send(from, received.into_bytes()).await?;
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Endpoint {
    local: SocketAddr,
    commands: Sender<Command>,
    bell: Arc<Bell>,
    received: Arc<Mailbox<Received>>,
    /// Number of the next transfer.
    numbers: AtomicU64,
    listeners: GroupListeners,
    has_key: bool,
    process: u64,
    spares: Spares,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Opens a socket at `local`. Port 0 selects a free port.
    ///
    /// # Errors
    /// The system refuses the socket, or a parameter is outside its range.
    pub fn bind(local: SocketAddr, options: &Options) -> io::Result<Self> {
        // Wrong parameters are found here, before a socket is opened.
        options.engine(local, options.codes())?;
        let socket = Socket::bind(local, &options.socket)?;
        socket.keep_refusals()?;
        // The default options are the defaults of the kernel.
        // An endpoint without multicast needs no system call for them.
        if options.multicast != Multicast::default() {
            socket.set_multicast(&options.multicast)?;
        }
        let local = socket.local();
        let codes = options.codes();
        // The first engine was only a test of the parameters. This engine belongs to the bound address.
        let mut engine = options.engine(local, Arc::clone(&codes))?;
        // Linux reports twice the size of the buffer that an application may fill.
        let buffer = socket.receive_buffer()? / 2;
        engine.incoming_sessions.receive_buffer = u32::try_from(buffer).unwrap_or(u32::MAX);
        let spares = engine.incoming_sessions.budget.spares.clone();
        let bell = Arc::new(Bell::new()?);
        let received = Arc::new(Mailbox::default());
        let (commands, queue) = mpsc::channel();
        let driver = Driver {
            engine,
            net: Port::new(socket),
            clock: WallClock::begin(),
            pace: Pace::new(options.rate, u32::from(options.mtu)),
        };
        let thread = Thread::new(
            driver,
            options.decoders,
            &codes,
            queue,
            Arc::clone(&bell),
            Arc::clone(&received),
        )?;
        let thread = thread::Builder::new()
            .name("cast".to_owned())
            .spawn(move || thread.run())?;
        Ok(Self {
            local,
            commands,
            bell,
            received,
            numbers: AtomicU64::new(0),
            listeners: GroupListeners::default(),
            has_key: options.key.is_some(),
            process: new_session()?,
            spares,
            thread: Some(thread),
        })
    }

    /// Returns the address that the endpoint is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Returns the number of this endpoint, which is drawn at random when it is opened.
    /// If the process of an endpoint restarts, the new endpoint has another number.
    pub fn process(&self) -> u64 {
        self.process
    }

    /// Returns whether the endpoint has a key.
    pub fn has_key(&self) -> bool {
        self.has_key
    }

    /// Sends an object to the endpoint at the address `to`. The bytes are not copied.
    /// The bytes stay in memory until the whole object has arrived.
    pub fn send(
        &self,
        to: impl Into<Route>,
        object: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Sending {
        self.start(Task::one(to, Payload::new(object)))
    }

    /// Sends an object to an endpoint that has not answered before, like [`Self::send`].
    /// The transfer ends with [`Failure::Undeliverable`] if an ICMP message reports that the endpoint is unreachable.
    /// After the first answer, an ICMP message does not end the transfer.
    /// The reason is that ICMP messages can be forged, and that a host whose process restarts sends them too.
    pub fn greet(
        &self,
        to: impl Into<Route>,
        object: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Sending {
        self.start(Task {
            heeds_icmp: true,
            ..Task::one(to, Payload::new(object))
        })
    }

    /// Sends one share of an object's symbols to the endpoint at `to`.
    /// Other senders send the other shares in the same session.
    /// The receiver builds one object from the symbols of all senders, even if some senders are slow or fail.
    /// All senders must have the same object and the same symbol size.
    /// `session` is a random number ([`new_session`]) that all senders must know.
    /// [`Sending`] succeeds as soon as the receiver has the whole object.
    ///
    /// ```
    /// use tailcut_cast::driver::{Endpoint, Options, Share, new_session};
    ///
    /// let bind = || Endpoint::bind(([127, 0, 0, 1], 0).into(), &Options::default());
    /// let (receiver, replicas) = (bind()?, [bind()?, bind()?]);
    /// let session = new_session()?;
    /// let sendings = [0, 1].map(|index| {
    ///     let share = Share { index, of: 2 };
    ///     replicas[usize::from(index)].send_share(receiver.local(), session, share, vec![7; 100_000])
    /// });
    /// assert_eq!(receiver.receive().ok_or("closed")?.bytes, vec![7; 100_000]);
    /// for sending in sendings {
    ///     sending.wait()?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn send_share(
        &self,
        to: SocketAddr,
        session: u64,
        share: Share,
        object: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Sending {
        let kind = Kind::Share(session, share);
        self.start(Task::new(vec![to], kind, Payload::new(object)))
    }

    /// Sends an object to several endpoints at the same time, with separate datagrams to each.
    /// A symbol is encoded only once. It is sent when all receivers that still need symbols have requested a symbol.
    /// So the slowest receiver sets the pace, unless `stragglers` excludes it.
    /// [`Sending::progress`] returns the progress of each receiver.
    /// [`Sent::missed`] is the number of receivers without the object.
    ///
    /// ```
    /// use tailcut_cast::driver::{Endpoint, Options, StragglerPolicy, Stragglers};
    /// use tailcut_units::Duration;
    ///
    /// let bind = || Endpoint::bind(([127, 0, 0, 1], 0).into(), &Options::default());
    /// let (sender, receivers) = (bind()?, [bind()?, bind()?]);
    /// let to = receivers.each_ref().map(Endpoint::local);
    /// let stragglers = Stragglers {
    ///     after: Duration::from_ms(10_000),
    ///     policy: StragglerPolicy::Drop,
    /// };
    /// let sending = sender.send_to_all(&to, stragglers, vec![7; 100_000]);
    /// for receiver in &receivers {
    ///     assert_eq!(receiver.receive().ok_or("closed")?.bytes, vec![7; 100_000]);
    /// }
    /// assert_eq!(sending.wait()?.missed, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn send_to_all(
        &self,
        to: &[SocketAddr],
        stragglers: Stragglers,
        object: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Sending {
        let kind = Kind::All(stragglers);
        self.start(Task::new(to.to_vec(), kind, Payload::new(object)))
    }

    /// Sends an object to several endpoints that have [joined](Self::join) a multicast group.
    /// The datagrams go to the group, and each symbol is sent only once.
    /// `receivers` are the unicast addresses of the endpoints.
    /// Each receiver must be bound to the unspecified address and to the group's port.
    /// Otherwise its socket gets no packets of the group.
    /// The first probes and all packets for one receiver go to the receiver's unicast address.
    /// In all other respects, the call works like [`send_to_all`](Self::send_to_all).
    pub fn send_to_group(
        &self,
        group: SocketAddr,
        receivers: &[SocketAddr],
        stragglers: Stragglers,
        object: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Sending {
        let kind = Kind::Group(group, stragglers);
        self.start(Task::new(receivers.to_vec(), kind, Payload::new(object)))
    }

    /// Joins a multicast group at the interface with the index `interface`.
    /// With 0, the routing table selects the interface.
    ///
    /// # Errors
    /// The system refuses the request, the address is not a multicast address, or the endpoint is closed.
    /// It is also an error if the address and the endpoint have different IP versions.
    pub fn join(&self, group: IpAddr, interface: u32) -> io::Result<()> {
        self.change(Membership::Joins, group, interface)
    }

    /// Leaves a multicast group that was joined at this interface.
    ///
    /// # Errors
    /// The system refuses the request, the group was not joined at this interface, or the endpoint is closed.
    pub fn leave(&self, group: IpAddr, interface: u32) -> io::Result<()> {
        self.change(Membership::Leaves, group, interface)
    }

    fn change(&self, change: Membership, group: IpAddr, interface: u32) -> io::Result<()> {
        let answer = Arc::new(Mailbox::default());
        let command = Command::Member(change, group, interface, Arc::clone(&answer));
        let closed = || io::Error::other(Failure::Closed);
        self.commands.send(command).map_err(|_| closed())?;
        self.bell.ring();
        answer.take().unwrap_or_else(|| Err(closed()))
    }

    /// Sends one check to a multicast group.
    /// Returns a list of all endpoints that have answered a check of this endpoint.
    /// The list grows when more answers arrive.
    /// An endpoint answers if it has [joined](Self::join) the group and has the same key.
    /// A check may get lost, so send it several times.
    pub fn check_group(&self, group: SocketAddr) -> GroupListeners {
        let listeners = self.listeners.clone();
        // The result is ignored. If the thread has ended, no answer arrives.
        let _ = self
            .commands
            .send(Command::CheckGroup(group, listeners.clone()));
        self.bell.ring();
        listeners
    }

    fn start(&self, task: Task) -> Sending {
        // The number must only be unique. No other memory depends on its order, so `Relaxed` is enough.
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let outcome = Arc::new(Outcome::default());
        let progress = task.progress.clone();
        let command = Command::Send {
            task,
            number,
            outcome: Arc::clone(&outcome),
        };
        if self.commands.send(command).is_err() {
            outcome.put(Err(Failure::Closed));
        }
        self.bell.ring();
        Sending {
            number,
            progress,
            outcome,
            commands: self.commands.clone(),
            bell: Arc::clone(&self.bell),
        }
    }

    /// Returns the counters since the endpoint was opened. Returns `None` if the endpoint's socket has failed.
    pub fn counts(&self) -> Option<Counts> {
        let answer = Arc::new(Mailbox::default());
        self.commands
            .send(Command::Count(Arc::clone(&answer)))
            .ok()?;
        self.bell.ring();
        answer.take()
    }

    /// Waits for the next object. Returns `None` if the endpoint's socket has failed.
    pub fn receive(&self) -> Option<Received> {
        self.received.take()
    }

    /// Takes back the buffer of a received object. A later object uses it again.
    /// The reuse saves time, because the kernel need not provide new memory. At most two large buffers are kept.
    pub fn recycle(&self, bytes: Vec<u8>) {
        self.spares.put(bytes);
    }

    /// Async form of [`Self::receive`].
    pub fn arrival(&self) -> impl Future<Output = Option<Received>> + '_ {
        std::future::poll_fn(|context| self.received.poll(context))
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // The result is ignored, because the thread may have ended already.
        let _ = self.commands.send(Command::Stop);
        self.bell.ring();
        if let Some(thread) = self.thread.take() {
            // If the thread has panicked, its error message was already printed.
            let _ = thread.join();
        }
    }
}

/// Returns a random identifier for a session that several senders share. It has 64 bits.
///
/// # Errors
/// The system has no random bytes.
pub fn new_session() -> io::Result<u64> {
    random().map(u64::from_be_bytes).map_err(io::Error::other)
}

/// Object that is being sent. Wait for the end of the transfer with `.await` or [`Sending::wait`].
/// The transfer continues if this value is dropped.
#[derive(Debug)]
pub struct Sending {
    number: u64,
    progress: SharedProgress,
    outcome: Arc<Outcome>,
    commands: Sender<Command>,
    bell: Arc<Bell>,
}

impl Sending {
    /// Waits until the whole object has arrived.
    ///
    /// # Errors
    /// The reason why the object has not arrived.
    pub fn wait(self) -> Result<Sent, Failure> {
        self.outcome.take().unwrap_or(Err(Failure::Closed))
    }

    /// Returns the progress of each receiver. The order is the order of the addresses in the call.
    pub fn progress(&self) -> Vec<Progress> {
        self.progress.read()
    }

    /// Stops sending to the receiver with this index, in the order of the addresses in the call.
    /// Its state becomes [`Stage::Dropped`](super::Stage::Dropped). The other receivers get the object.
    /// Has no effect before the first packet is sent.
    pub fn leave_out(&self, at: usize) {
        // The result is ignored. If the thread has ended, the transfer has ended too.
        let _ = self.commands.send(Command::LeaveOut(self.number, at));
        self.bell.ring();
    }

    /// Stops sending. The receiver discards the symbols that have arrived.
    pub fn cancel(&self) {
        // The result is ignored. If the thread has ended, the transfer has ended too.
        let _ = self.commands.send(Command::Cancel(self.number));
        self.bell.ring();
    }
}

impl Future for Sending {
    type Output = Result<Sent, Failure>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = self.outcome.poll(context);
        polled.map(|result| result.unwrap_or(Err(Failure::Closed)))
    }
}
