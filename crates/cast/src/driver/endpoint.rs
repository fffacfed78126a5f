//! The library's door: an endpoint that sends and receives objects.

use super::board::{Board, Progress};
use super::clock::WallClock;
use super::engine::{Counts, Engine, Setup};
use super::mailbox::Mailbox;
use super::outcome::{Failure, Received, Sent};
use super::outgoing::{Kind, Payload, Task};
use super::pace::Pace;
use super::room::Room;
use super::run::{Bell, Command, Driver, Membership, Outcome, Thread};
use super::sealing::TRAILER;
use super::spares::Spares;
use super::words::Hearers;
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
    Adaptive, BlockOrder, Control, Delivery, DriverCodec, Host, Limits, ScdpConfig,
};
use tailcut_transport::{Demotion, Share, Stragglers};
use tailcut_units::{Duration, HostId};
use tailcut_wire::cast::SYMBOL_BYTES;
use tailcut_wire::scdp::SYN_BYTES;

/// Codes that are kept: one for each number of source symbols of a block.
const CODES: usize = 16;
/// Symbols that are on their way at once in the paper's mode.
const WINDOW: u32 = 64;
/// Bytes of the headers of IP and UDP.
const HEADERS_V4: u32 = 28;
const HEADERS_V6: u32 = 48;

/// How an endpoint is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// The socket's options.
    pub socket: SocketOptions,
    /// Bytes of an object that is received, at most. Default 17 MiB: a slab, and something with it.
    pub object: u64,
    /// Bytes of all objects that are received and not taken by the application, at most. Others
    /// have to wait. Default 64 MiB.
    pub memory: u64,
    /// Bytes a second that leave at most, each datagram counted as `mtu` bytes. Default: no limit.
    pub rate: Option<u64>,
    /// Threads that decode, at least 1. Default 1.
    pub decoders: usize,
    /// How a receiver decides what is on its way. [`Control::Adaptive`] (default) is for any network.
    /// [`Control::Window`] is the SCDP paper's mode, with a window of 64 symbols and version 1 of the
    /// header: for switches that trim and hosts that trust each other; it has no tokens, no keys and
    /// no shares. Both ends have to have the same mode.
    pub control: Control,
    /// A key that all have who send to this endpoint or receive from it: packets are encrypted, and those
    /// of others dropped. It takes credits ([`Control::Adaptive`]). Default none.
    pub key: Option<Key>,
    /// How it sends to multicast groups.
    pub multicast: Multicast,
    /// Bytes of an IP packet that are sent, at most: 1,280 to 9,000. Default 1,500. Where a path takes
    /// less, objects are begun again with smaller symbols.
    pub mtu: u16,
    /// The protocol's parameters; `None`: those for `control` and the address that is bound, with symbols
    /// that fill packets of `mtu` bytes. Its own `control` counts, and `control` here does not.
    pub scdp: Option<ScdpConfig>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            socket: SocketOptions::default(),
            object: 17 << 20,
            memory: 64 << 20,
            rate: None,
            decoders: 1,
            control: Control::Adaptive(Adaptive::default()),
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
        let (header, window) = match self.control {
            Control::Adaptive(_) if self.key.is_some() => {
                (SYMBOL_BYTES + TRAILER, Limits::SOCKETS.pushed)
            }
            Control::Adaptive(_) => (SYMBOL_BYTES, Limits::SOCKETS.pushed),
            Control::Window => (SYN_BYTES, WINDOW),
        };
        self.scdp.unwrap_or(ScdpConfig {
            symbol: u32::from(self.mtu.clamp(1_280, 9_000))
                .saturating_sub(headers + header as u32)
                .min(Limits::SOCKETS.max_symbol),
            initial_window: window,
            shared_window: window.min(ScdpConfig::default().shared_window),
            limits: Limits {
                pushed: window,
                ..Limits::SOCKETS
            },
            control: self.control,
            demotion: Demotion::NONE,
            in_order: false,
            // Nothing holds pulls back but what is on its way.
            pull_interval: Duration::from_ps(1),
            byte_time: Duration::from_ps(0),
            time_wait: Duration::from_ms(1_000),
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

    /// The engine of an endpoint at `local`.
    pub(super) fn engine(&self, local: SocketAddr, codes: Arc<Codes>) -> io::Result<Engine> {
        let invalid = |said| io::Error::new(io::ErrorKind::InvalidInput, said);
        let config = self.scdp(local);
        if !(1_280..=9_000).contains(&self.mtu) {
            let found = self.mtu;
            return Err(invalid(format!("mtu {found}; allowed: 1280 to 9000 bytes")));
        }
        if self.key.is_some() && config.control == Control::Window {
            let said = "a key takes credits: control is Window; allowed: Adaptive";
            return Err(invalid(said.to_owned()));
        }
        let me = HostId(0);
        let host = Host::new(me, config, DriverCodec::default());
        Ok(Engine::new(Setup {
            host: host.map_err(|error| invalid(error.to_string()))?,
            config,
            me,
            room: Room::new(self.object, self.memory),
            codes,
            tokens: Tokens::generate().map_err(io::Error::other)?,
            key: self.key.clone(),
        }))
    }
}

/// A UDP socket with a thread that drives SCDP over it. It sends objects to other endpoints and
/// receives theirs. Dropping it ends the thread; what is on its way is lost.
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
/// Both calls have a form for tasks. It needs no runtime in particular:
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
    numbers: AtomicU64,
    hearers: Hearers,
    has_key: bool,
    spares: Spares,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Opens a socket at `local`; port 0: one that is free.
    ///
    /// # Errors
    /// What the system says, and parameters outside their ranges.
    pub fn bind(local: SocketAddr, options: &Options) -> io::Result<Self> {
        // Wrong parameters before anything is opened.
        options.engine(local, options.codes())?;
        let socket = Socket::bind(local, &options.socket)?;
        if options.multicast != Multicast::default() {
            socket.set_multicast(&options.multicast)?;
        }
        let local = socket.local();
        let codes = options.codes();
        let mut engine = options.engine(local, Arc::clone(&codes))?;
        // Linux tells twice what it has granted.
        let buffer = socket.receive_buffer()? / 2;
        engine.guests.receive_buffer = u32::try_from(buffer).unwrap_or(u32::MAX);
        let spares = engine.guests.room.spares.clone();
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
            hearers: Hearers::default(),
            has_key: options.key.is_some(),
            spares,
            thread: Some(thread),
        })
    }

    /// The address that it is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Whether it has a key.
    pub fn has_key(&self) -> bool {
        self.has_key
    }

    /// Sends an object to the endpoint at an address. The bytes are kept, and not copied, until all
    /// of them have arrived.
    pub fn send(
        &self,
        to: SocketAddr,
        object: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Sending {
        self.start(Task::one(to, Payload::new(object)))
    }

    /// Sends a share of an object's symbols to the endpoint at an address, in a session that the other
    /// senders have too: the receiver makes one object of what comes from all of them, whichever of
    /// them are fast, slow, or end. All have the same object, and use the same symbol size. `session`
    /// is a number that somebody has drawn ([`new_session`]) and told all of them. [`Sending`] ends
    /// well as soon as the receiver has the whole object.
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

    /// Sends an object to several endpoints at once, to each as datagrams of its own: a symbol is made
    /// once, and leaves when each of them that still needs symbols has asked for one. All go at the
    /// pace of the slowest, but for those that `stragglers` leaves out. [`Sending::progress`] tells how
    /// far each is, [`Sent::missed`] how many have not got it.
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

    /// Sends an object to several endpoints that have all [joined](Self::join) a multicast group, by
    /// datagrams to the group: each symbol leaves once. `receivers` are the addresses that they answer
    /// from. All listen at the group's port, and at all addresses of their machines, or they do not hear
    /// the group. Else as [`send_to_all`](Self::send_to_all). The first probes of whether a receiver is
    /// there, and all that one receiver has to be told, go to its own address.
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

    /// Receives what is sent to a multicast group from now on, at the interface of that number; 0: as the
    /// routes say.
    ///
    /// # Errors
    /// What the system says; the address is no group, or of the other version of IP, or the endpoint is
    /// closed.
    pub fn join(&self, group: IpAddr, interface: u32) -> io::Result<()> {
        self.change(Membership::Joins, group, interface)
    }

    /// Receives nothing more of a group that was joined at that interface.
    ///
    /// # Errors
    /// What the system says; it was not joined there, or the endpoint is closed.
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

    /// Asks a multicast group who hears it, by one datagram, and gives all who have answered so far and
    /// will: endpoints that have [joined](Self::join) it, with the same key. It may get lost, so ask again.
    pub fn ask_group(&self, group: SocketAddr) -> Hearers {
        let hearers = self.hearers.clone();
        // If the thread has ended, nobody answers.
        let _ = self.commands.send(Command::Ask(group, hearers.clone()));
        self.bell.ring();
        hearers
    }

    fn start(&self, task: Task) -> Sending {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let outcome = Arc::new(Outcome::default());
        let board = task.board.clone();
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
            board,
            outcome,
            commands: self.commands.clone(),
            bell: Arc::clone(&self.bell),
        }
    }

    /// What has been counted since it was opened. `None`: the endpoint's socket has failed.
    pub fn counts(&self) -> Option<Counts> {
        let answer = Arc::new(Mailbox::default());
        self.commands
            .send(Command::Count(Arc::clone(&answer)))
            .ok()?;
        self.bell.ring();
        answer.take()
    }

    /// The next object that has arrived; waits until there is one. `None`: the endpoint's socket has
    /// failed.
    pub fn receive(&self) -> Option<Received> {
        self.received.take()
    }

    /// Gives back the bytes of an object that has arrived, for one that comes: that saves the time which
    /// fresh memory costs. Large ones are kept, two at most.
    pub fn recycle(&self, bytes: Vec<u8>) {
        self.spares.put(bytes);
    }

    /// The same for a task.
    pub fn arrival(&self) -> impl Future<Output = Option<Received>> + '_ {
        std::future::poll_fn(|context| self.received.poll(context))
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.commands.send(Command::Stop);
        self.bell.ring();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A number for a session that several senders have: 64 random bits.
///
/// # Errors
/// The system has no random bytes.
pub fn new_session() -> io::Result<u64> {
    random().map(u64::from_be_bytes).map_err(io::Error::other)
}

/// An object on its way: a future, or [`Sending::wait`]. Dropping it does not stop it.
#[derive(Debug)]
pub struct Sending {
    number: u64,
    board: Board,
    outcome: Arc<Outcome>,
    commands: Sender<Command>,
    bell: Arc<Bell>,
}

impl Sending {
    /// Waits until the whole object has arrived.
    ///
    /// # Errors
    /// It has not, and why.
    pub fn wait(self) -> Result<Sent, Failure> {
        self.outcome.take().unwrap_or(Err(Failure::Closed))
    }

    /// How far each receiver is, in the order in which they were given.
    pub fn progress(&self) -> Vec<Progress> {
        self.board.read()
    }

    /// Sends no more of it. The receiver forgets what has arrived.
    pub fn cancel(&self) {
        // If the thread has ended, so has this.
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
