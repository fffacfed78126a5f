//! Connections to the replica port that are no flow's leg: in the middle of their hello, or
//! answered and not gone yet. Bounded: beyond the limit the oldest one is reset.

use crate::counters::Counters;
use crate::line::reset;
use std::collections::BTreeMap;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tailcut_transport::repnet::Preamble;
use tailcut_wire::repnet::{HELLO_BYTES, MAX_PREAMBLE_BYTES, Rejection, decode_preamble};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

/// The connections that are greeted now.
#[derive(Clone)]
pub(crate) struct PendingHellos(Arc<Pending>);

struct Pending {
    limit: usize,
    counters: Counters,
    tasks: Mutex<Tasks>,
}

#[derive(Default)]
struct Tasks {
    next: u64,
    by_age: BTreeMap<u64, AbortHandle>,
}

/// A place among the connections that are greeted.
pub(crate) struct Place {
    pending: PendingHellos,
    id: u64,
}

impl PendingHellos {
    pub fn new(limit: usize, counters: Counters) -> Self {
        Self(Arc::new(Pending {
            limit,
            counters,
            tasks: Mutex::default(),
        }))
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the task that greets a connection.
    pub fn add(&self, start: impl FnOnce(Place) -> AbortHandle) {
        let mut tasks = self.tasks();
        let id = tasks.next;
        tasks.next += 1;
        let task = start(Place {
            pending: self.clone(),
            id,
        });
        tasks.by_age.insert(id, task);
        self.0.counters.0.pending_hellos.up();
        let one_too_many = tasks.by_age.len() > self.0.limit;
        let oldest = one_too_many.then(|| tasks.by_age.pop_first()).flatten();
        drop(tasks);
        if let Some((_, oldest)) = oldest {
            self.0.counters.0.pending_hellos.down();
            oldest.abort();
        }
    }

    /// Resets all of them.
    pub fn clear(&self) {
        let tasks = std::mem::take(&mut self.tasks().by_age);
        for task in tasks.into_values() {
            self.0.counters.0.pending_hellos.down();
            task.abort();
        }
    }
}

impl Place {
    /// Whether it was still there.
    fn leave(&self) -> bool {
        let there = self.pending.tasks().by_age.remove(&self.id).is_some();
        if there {
            self.pending.0.counters.0.pending_hellos.down();
        }
        there
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A connection that is greeted. Dropping it resets the connection.
pub(crate) struct Greeting {
    tcp: Option<TcpStream>,
    /// A byte that came right behind the hello.
    early: Option<u8>,
    place: Place,
}

/// What a client said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Heard {
    Preamble(Preamble),
    /// A preamble of a version that is not spoken here.
    OtherVersion([u8; HELLO_BYTES]),
    Foreign,
    /// It hung up.
    Nothing,
}

impl Greeting {
    pub const fn new(tcp: TcpStream, place: Place) -> Self {
        Self {
            tcp: Some(tcp),
            early: None,
            place,
        }
    }

    /// The connection, which is now a leg, and a byte of it that was read already; `None` where it
    /// was given up for a newer one.
    pub fn into_leg(mut self) -> Option<(TcpStream, Option<u8>)> {
        let there = self.place.leave();
        let tcp = self.tcp.take_if(|_| there)?;
        Some((tcp, self.early))
    }

    /// Reads the hello. The read has room for one more byte: a read that leaves room shows that no more bytes
    /// wait, which spares the next read.
    pub async fn listen(&mut self) -> Heard {
        let Some(tcp) = &mut self.tcp else {
            return Heard::Nothing;
        };
        let mut bytes = [0; MAX_PREAMBLE_BYTES + 1];
        let (mut received, mut wanted) = (0, HELLO_BYTES);
        loop {
            match read(tcp, &mut bytes[received..=wanted]).await {
                Ok(0) | Err(_) => return Heard::Nothing,
                Ok(count) => received += count,
            }
            let preamble = bytes.first_chunk::<HELLO_BYTES>();
            match (decode_preamble(&bytes[..received.min(wanted)]), preamble) {
                (Ok((preamble, _)), _) => {
                    self.early = (received > wanted).then_some(bytes[wanted]);
                    return Heard::Preamble(preamble);
                }
                (Err(Rejection::Incomplete), _) if received < HELLO_BYTES => {}
                (Err(Rejection::Incomplete), _) => wanted = MAX_PREAMBLE_BYTES,
                (Err(Rejection::Version), _) if received < HELLO_BYTES => {}
                (Err(Rejection::Version), Some(preamble)) => return Heard::OtherVersion(*preamble),
                (Err(_), _) => return Heard::Foreign,
            }
        }
    }

    /// Says no, or answers a probe, and waits until the client has hung up too.
    pub async fn refuse(mut self, banner: [u8; HELLO_BYTES]) {
        if let Some(mut tcp) = self.tcp.take()
            && hang_up(&mut tcp, &banner).await.is_err()
        {
            reset(tcp);
        }
    }
}

impl Drop for Greeting {
    fn drop(&mut self) {
        if let Some(tcp) = self.tcp.take() {
            reset(tcp);
        }
    }
}

async fn read(tcp: &mut TcpStream, into: &mut [u8]) -> io::Result<usize> {
    std::future::poll_fn(|cx| {
        let mut into = ReadBuf::new(into);
        let read = Pin::new(&mut *tcp).poll_read(cx, &mut into);
        read.map_ok(|()| into.filled().len())
    })
    .await
}

async fn hang_up(tcp: &mut TcpStream, banner: &[u8]) -> io::Result<()> {
    let mut sent = 0;
    while sent < banner.len() {
        let rest = &banner[sent..];
        sent += std::future::poll_fn(|cx| Pin::new(&mut *tcp).poll_write(cx, rest)).await?;
    }
    std::future::poll_fn(|cx| Pin::new(&mut *tcp).poll_shutdown(cx)).await?;
    std::future::poll_fn(|cx| {
        loop {
            let mut scrap = [const { MaybeUninit::uninit() }; 512];
            let mut scrap = ReadBuf::uninit(&mut scrap);
            std::task::ready!(Pin::new(&mut *tcp).poll_read(cx, &mut scrap))?;
            if scrap.filled().is_empty() {
                return std::task::Poll::Ready(Ok(()));
            }
        }
    })
    .await
}
