//! The library's door: an endpoint that sends and receives objects.

use super::engine::{Counts, Engine};
use super::mailbox::Mailbox;
use super::outcome::{Failure, Received, Sent};
use super::outgoing::Payload;
use super::room::Room;
use super::run::{Bell, Command, Outcome, Thread};
use crate::codec::Codes;
use crate::udp::{Port, Socket, SocketOptions};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use tailcut_transport::Demotion;
use tailcut_transport::scdp::{BlockOrder, Delivery, DriverCodec, Host, Limits, ScdpConfig};
use tailcut_units::{Duration, HostId};
use tailcut_wire::scdp::SYN_BYTES;

/// Codes that are kept: one for each number of source symbols of a block.
const CODES: usize = 16;
/// Symbols that are on their way at once.
const WINDOW: u32 = 64;
/// Bytes of an Ethernet frame that are IP's.
const MTU: u32 = 1_500;
/// Bytes of the headers of IP and UDP.
const HEADERS_V4: u32 = 28;
const HEADERS_V6: u32 = 48;

/// How an endpoint is opened.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// The socket's options.
    pub socket: SocketOptions,
    /// Bytes of an object that is received, at most. Default 17 MiB: a slab, and something with it.
    pub object: u64,
    /// Bytes of all objects that are received and not taken by the application, at most. Others
    /// have to wait. Default 64 MiB.
    pub memory: u64,
    /// Threads that decode, at least 1. Default 1.
    pub decoders: usize,
    /// The protocol's parameters; `None`: those for the address that is bound, with symbols that
    /// fill a frame of 1,500 bytes.
    pub scdp: Option<ScdpConfig>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            socket: SocketOptions::default(),
            object: 17 << 20,
            memory: 64 << 20,
            decoders: 1,
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
        self.scdp.unwrap_or(ScdpConfig {
            symbol: MTU - headers - SYN_BYTES as u32,
            initial_window: WINDOW,
            limits: Limits {
                pushed: WINDOW,
                ..Limits::SOCKETS
            },
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
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Opens a socket at `local`; port 0: one that is free.
    ///
    /// # Errors
    /// What the system says, and parameters outside their ranges.
    pub fn bind(local: SocketAddr, options: &Options) -> io::Result<Self> {
        let config = options.scdp(local);
        let me = HostId(0);
        let host = Host::new(me, config, DriverCodec::default())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
        let socket = Socket::bind(local, &options.socket)?;
        let local = socket.local();
        let codes = Arc::new(Codes::new(CODES));
        let room = Room::new(options.object, options.memory);
        let engine = Engine::new(host, config, me, room, Arc::clone(&codes));
        let bell = Arc::new(Bell::new()?);
        let received = Arc::new(Mailbox::default());
        let (commands, queue) = mpsc::channel();
        let thread = Thread::new(
            engine,
            Port::new(socket),
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
            thread: Some(thread),
        })
    }

    /// The address that it is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Sends an object to the endpoint at an address. The bytes are kept, and not copied, until all
    /// of them have arrived.
    pub fn send(
        &self,
        to: SocketAddr,
        object: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Sending {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let outcome = Arc::new(Outcome::default());
        let payload = Payload::new(object);
        let command = Command::Send {
            to,
            payload,
            number,
            outcome: Arc::clone(&outcome),
        };
        if self.commands.send(command).is_err() {
            outcome.put(Err(Failure::Closed));
        }
        self.bell.ring();
        Sending {
            number,
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

/// An object on its way: a future, or [`Sending::wait`]. Dropping it does not stop it.
#[derive(Debug)]
pub struct Sending {
    number: u64,
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
