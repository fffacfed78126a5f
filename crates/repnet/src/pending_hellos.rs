//! Connections to the replica port that belong to no flow.
//! Their hello is incomplete, or the listener has refused them and they have not ended.
//! The number of these connections is limited. If there are more, the oldest connection is reset.

use crate::connection::reset;
use crate::counters::Counters;
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

/// Set of connections whose hello is being processed.
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

/// Slot of one connection. The number of slots is limited.
pub(crate) struct HelloSlot {
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

    /// Starts the task that processes the hello of a connection.
    pub fn add(&self, start: impl FnOnce(HelloSlot) -> AbortHandle) {
        let mut tasks = self.tasks();
        let id = tasks.next;
        tasks.next += 1;
        let task = start(HelloSlot {
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

    /// Resets all connections with a pending hello.
    pub fn clear(&self) {
        let tasks = std::mem::take(&mut self.tasks().by_age);
        for task in tasks.into_values() {
            self.0.counters.0.pending_hellos.down();
            task.abort();
        }
    }
}

impl HelloSlot {
    /// Frees the slot. Returns whether the slot was in use.
    fn release(&self) -> bool {
        let there = self.pending.tasks().by_age.remove(&self.id).is_some();
        if there {
            self.pending.0.counters.0.pending_hellos.down();
        }
        there
    }
}

impl Drop for HelloSlot {
    fn drop(&mut self) {
        self.release();
    }
}

/// Connection whose hello is being processed. Dropping it resets the connection.
pub(crate) struct PendingHello {
    tcp: Option<TcpStream>,
    /// Byte of the application that was read together with the hello.
    early: Option<u8>,
    slot: HelloSlot,
}

/// Result of a client's hello.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReceivedHello {
    Preamble(Preamble),
    /// Preamble of a version that is not supported.
    OtherVersion([u8; HELLO_BYTES]),
    Foreign,
    /// The client closed the connection.
    Nothing,
}

impl PendingHello {
    pub const fn new(tcp: TcpStream, slot: HelloSlot) -> Self {
        Self {
            tcp: Some(tcp),
            early: None,
            slot,
        }
    }

    /// Returns the connection and a byte that was already read. The connection now belongs to a flow.
    /// Returns `None` if the connection was reset because newer connections needed its slot.
    pub fn into_leg(mut self) -> Option<(TcpStream, Option<u8>)> {
        let there = self.slot.release();
        let tcp = self.tcp.take_if(|_| there)?;
        Some((tcp, self.early))
    }

    /// Reads the hello. The buffer has space for one more byte.
    /// A read that does not fill the buffer shows that no more bytes are available. The next read is then not needed.
    pub async fn read_hello(&mut self) -> ReceivedHello {
        let Some(tcp) = &mut self.tcp else {
            return ReceivedHello::Nothing;
        };
        let mut bytes = [0; MAX_PREAMBLE_BYTES + 1];
        let (mut received, mut wanted) = (0, HELLO_BYTES);
        loop {
            match read(tcp, &mut bytes[received..=wanted]).await {
                Ok(0) | Err(_) => return ReceivedHello::Nothing,
                Ok(count) => received += count,
            }
            let preamble = bytes.first_chunk::<HELLO_BYTES>();
            match (decode_preamble(&bytes[..received.min(wanted)]), preamble) {
                (Ok((preamble, _)), _) => {
                    self.early = (received > wanted).then_some(bytes[wanted]);
                    return ReceivedHello::Preamble(preamble);
                }
                (Err(Rejection::Incomplete), _) if received < HELLO_BYTES => {}
                (Err(Rejection::Incomplete), _) => wanted = MAX_PREAMBLE_BYTES,
                (Err(Rejection::Version), _) if received < HELLO_BYTES => {}
                (Err(Rejection::Version), Some(preamble)) => {
                    return ReceivedHello::OtherVersion(*preamble);
                }
                (Err(_), _) => return ReceivedHello::Foreign,
            }
        }
    }

    /// Sends a refusal or the answer to a probe, and waits until the client has closed the connection, too.
    pub async fn refuse(mut self, banner: [u8; HELLO_BYTES]) {
        if let Some(mut tcp) = self.tcp.take()
            && hang_up(&mut tcp, &banner).await.is_err()
        {
            reset(tcp);
        }
    }
}

impl Drop for PendingHello {
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
