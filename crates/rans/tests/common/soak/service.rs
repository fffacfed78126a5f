//! Service with faults. It answers late, wrong or twice, resets connections, and stalls.
//! The service records the faults of each request.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// Fault of one copy of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    None,
    /// The work takes twenty times as long.
    Late,
    /// The status of the answer is 500.
    Wrong,
    /// The answer is sent twice, the second time immediately after the first.
    /// A later second answer would be useless for the test.
    /// An HTTP/1.1 client cannot detect bytes that arrive after it has sent its next request.
    Twice,
    /// The connection is reset before the answer.
    Reset,
    /// The connection is reset in the middle of the body.
    Cut,
    /// The service does not answer.
    Silent,
    /// The body stops in the middle.
    Stalled,
}

impl Fault {
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::Late,
        Self::Wrong,
        Self::Twice,
        Self::Reset,
        Self::Cut,
        Self::Silent,
        Self::Stalled,
    ];

    /// Returns a fault for a random number. Seven copies in a hundred have a fault, and all kinds are equally likely.
    fn drawn(number: u64) -> Self {
        match number % 100 {
            number @ 0..7 => Self::ALL[number as usize + 1],
            _ => Self::None,
        }
    }

    /// Returns whether a copy with this fault never gives an answer.
    pub const fn is_no_answer(self) -> bool {
        matches!(self, Self::Wrong | Self::Reset | Self::Silent)
    }

    /// Returns whether a copy with this fault may win, although its body is not complete.
    pub const fn ends_within(self) -> bool {
        matches!(self, Self::Cut | Self::Stalled)
    }
}

/// Record of the faults of all requests that are in flight.
#[derive(Default)]
pub struct Book {
    requests: Mutex<HashMap<u64, Vec<Fault>>>,
    /// Number of faults by kind.
    pub faults: [AtomicU64; 8],
}

impl Book {
    fn note(&self, request: u64, fault: Fault) {
        self.faults[fault as usize].fetch_add(1, Relaxed);
        let mut requests = self.requests.lock().expect("a lock");
        if let Some(known) = requests.get_mut(&request) {
            known.push(fault);
        }
    }

    pub fn open(&self, request: u64) {
        let mut requests = self.requests.lock().expect("a lock");
        requests.insert(request, Vec::new());
    }

    /// Removes a request, and returns the faults of its copies.
    pub fn close(&self, request: u64) -> Vec<Fault> {
        let mut requests = self.requests.lock().expect("a lock");
        requests.remove(&request).unwrap_or_default()
    }
}

/// Service that draws a random fault for each copy.
pub struct Service {
    pub book: Arc<Book>,
    /// Longest time for which the service stalls. It is short behind guards that wait for the service.
    pub stall: Duration,
    pub working: AtomicU64,
    /// Largest number of requests that ran at the same time.
    pub most: AtomicU64,
    number: u64,
}

/// Entry in the count of running requests. Dropping it decreases the count.
struct Working<'a>(&'a Service);

impl<'a> Working<'a> {
    fn begin(service: &'a Service) -> Self {
        let now = service.working.fetch_add(1, Relaxed) + 1;
        service.most.fetch_max(now, Relaxed);
        Self(service)
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.working.fetch_sub(1, Relaxed);
    }
}

/// Returns a number in which each bit depends on all bits of `number` (SplitMix64).
pub fn scrambled(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the body of an answer. Each byte depends on the request.
pub fn body(request: u64, length: usize) -> Vec<u8> {
    let word = scrambled(request).to_le_bytes();
    word.into_iter().cycle().take(length).collect()
}

impl Service {
    /// Starts a service.
    pub async fn start(number: u64, book: Arc<Book>, stall: Duration) -> (Arc<Self>, SocketAddr) {
        let service = Arc::new(Self {
            book,
            stall,
            working: AtomicU64::new(0),
            most: AtomicU64::new(0),
            number,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let serving = Arc::clone(&service);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = Arc::clone(&serving);
                // Clients of these tests disconnect on purpose, so errors are ignored.
                tokio::spawn(async move { service.serve(stream).await });
            }
        });
        (service, address)
    }

    async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let (mut head, mut copy) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).await? == 0 {
                    return Ok(());
                }
                if let Some(told) = line.strip_prefix("tailcut-copy: ") {
                    copy = told.trim().parse().unwrap_or(0);
                }
                if head.is_empty() {
                    head.clone_from(&line);
                }
                if line == "\r\n" {
                    break;
                }
            }
            // The first line is `GET /REQUEST/MICROSECONDS/BYTES`.
            let mut numbers = head.split(['/', ' ']).filter_map(|part| part.parse().ok());
            let mut number = || numbers.next().unwrap_or(0);
            let (request, work, length) = (number(), number(), number() as usize);
            let drawn = scrambled(request ^ scrambled(self.number << 8 | copy));
            let fault = Fault::drawn(drawn);
            self.book.note(request, fault);
            if !self
                .answer(&mut stream, request, work, length, fault)
                .await?
            {
                return Ok(());
            }
        }
    }

    /// Answers a request. Returns whether the connection stays open.
    async fn answer(
        &self,
        stream: &mut BufReader<TcpStream>,
        request: u64,
        work: u64,
        length: usize,
        fault: Fault,
    ) -> io::Result<bool> {
        let working = Working::begin(self);
        let factor = if fault == Fault::Late { 20 } else { 1 };
        let work = Duration::from_micros(work * factor);
        tokio::select! {
            () = sleep(work) => {}
            // The client has disconnected.
            _ = stream.fill_buf() => return Ok(false),
        }
        let status = if fault == Fault::Wrong { 500 } else { 200 };
        let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n\r\n");
        let whole = [head.as_bytes(), &body(request, length)].concat();
        let half = &whole[..head.len() + length / 2];
        match fault {
            Fault::Reset => {
                reset(stream);
                return Ok(false);
            }
            Fault::Cut => {
                stream.write_all(half).await?;
                reset(stream);
                return Ok(false);
            }
            Fault::Stalled => stream.write_all(half).await?,
            Fault::Silent => {}
            _ => {
                // The count must fall before the client can receive the end of the answer.
                drop(working);
                let is_short = whole.len() <= 8_192;
                let again = fault == Fault::Twice && is_short;
                stream
                    .write_all(&whole.repeat(1 + usize::from(again)))
                    .await?;
                return Ok(true);
            }
        }
        // The service waits until the client disconnects.
        let _ = timeout(self.stall, stream.fill_buf()).await;
        drop(working);
        Ok(false)
    }
}

/// Makes the connection end with a RST when it is closed.
fn reset(stream: &BufReader<TcpStream>) {
    let socket = socket2::SockRef::from(stream.get_ref());
    let _ = socket.set_linger(Some(Duration::ZERO));
}
