//! Driver without a socket and a clock, for fuzzers, measurements and custom event loops.

use super::endpoint::Options;
use super::engine::{Counts, Engine, News};
use super::outgoing::{Payload, Task};
use crate::codec::Codes;
use crate::udp::{Datagrams, Incoming};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tailcut_units::Time;

/// Driver that works like an [`Endpoint`](super::Endpoint), but its caller passes the time and the datagrams.
/// Decoding happens during the call of [`Self::on_incoming`].
///
/// ```
/// use tailcut_cast::driver::{Detached, Options};
/// use tailcut_cast::udp::{Ancillary, Incoming};
/// use tailcut_units::Time;
///
/// let mut driver = Detached::new("192.0.2.1:7000".parse()?, &Options::default())?;
/// driver.on_incoming(
///     Time::ZERO,
///     &Incoming {
///         from: "192.0.2.2:7000".parse()?,
///         ancillary: Ancillary::default(),
///         is_cut: false,
///         bytes: b"hello",
///     },
/// );
/// assert_eq!(driver.counts().malformed, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Detached {
    engine: Engine,
    codes: Arc<Codes>,
}

impl Detached {
    /// Creates a driver in the same way as [`Endpoint::bind`](super::Endpoint::bind), but without a socket.
    ///
    /// # Errors
    /// A parameter is outside its range, or the system has no random bytes.
    pub fn new(local: SocketAddr, options: &Options) -> io::Result<Self> {
        let codes = options.codes();
        let engine = options.engine(local, Arc::clone(&codes))?;
        Ok(Self { engine, codes })
    }

    /// Starts to send an object. Returns `false` if the object cannot be sent.
    pub fn send(
        &mut self,
        now: Time,
        to: SocketAddr,
        object: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> bool {
        let task = Task::one(to, Payload::new(object));
        self.engine.send(now, task).is_some()
    }

    /// Handles datagrams that have arrived.
    pub fn on_incoming(&mut self, now: Time, incoming: &Incoming<'_>) {
        self.engine.on_incoming(now, incoming);
        while let Some(job) = self.engine.poll_job() {
            self.engine.on_decoded(now, &job.run(&self.codes));
        }
    }

    /// Runs the timers that are due. Another timer may become due at the same time.
    pub fn on_timeout(&mut self, now: Time) {
        self.engine.on_timeout(now);
    }

    /// Returns the time at which the caller must call [`Self::on_timeout`].
    pub fn next_timeout(&self) -> Option<Time> {
        self.engine.next_timeout()
    }

    /// Sends up to about 512 waiting datagrams. Returns whether any datagram was sent.
    pub fn transmit(&mut self, now: Time, net: &mut impl Datagrams) -> bool {
        // The limit is the same as in an endpoint, which receives again after this number of segments.
        self.engine.transmit(now, net, 512)
    }

    /// Returns the next object that has arrived, with the sender's address.
    /// Drops the results of objects that this driver has sent.
    pub fn received(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        loop {
            if let News::Received { route, bytes, .. } = self.engine.poll_news()? {
                return Some((route.to, bytes));
            }
        }
    }

    /// Returns the driver's counters.
    pub fn counts(&self) -> Counts {
        self.engine.counts()
    }
}
