//! Relay of datagrams between two ends, as a NAT or a slow link.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("a port");
    // The threads of the relay look at their stop flag at this interval.
    let interval = Some(Duration::from_millis(20));
    socket.set_read_timeout(interval).expect("a time");
    socket
}

/// Relay between two ends. The inner end knows one address of the relay all the time.
/// The outer end sees another address of the relay, which can change.
pub struct Relay {
    inner: Arc<UdpSocket>,
    outer: Arc<Mutex<Arc<UdpSocket>>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Relay {
    /// Starts a relay. An address that is not known is learned from the first datagram.
    /// `rate` is the rate to the inner end in bytes per second. `None`: no limit.
    pub fn start(
        inner_end: Option<SocketAddr>,
        outer_end: Option<SocketAddr>,
        rate: Option<u64>,
    ) -> Self {
        let inner = Arc::new(socket());
        let outer = Arc::new(Mutex::new(Arc::new(socket())));
        let ends = Arc::new(Mutex::new((inner_end, outer_end)));
        let stop = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for is_inward in [false, true] {
            let (inner, outer, ends, stop) =
                (inner.clone(), outer.clone(), ends.clone(), stop.clone());
            threads.push(thread::spawn(move || {
                let mut buffer = [0; 65_535];
                let mut free = Instant::now();
                while !stop.load(Ordering::Relaxed) {
                    let now = outer.lock().expect("a socket").clone();
                    let (from, to) = match is_inward {
                        true => (&now, &inner),
                        false => (&inner, &now),
                    };
                    let Ok((length, sender)) = from.recv_from(&mut buffer) else {
                        continue;
                    };
                    let mut ends = ends.lock().expect("addresses");
                    let target = match is_inward {
                        true => {
                            ends.1.get_or_insert(sender);
                            ends.0
                        }
                        false => {
                            ends.0.get_or_insert(sender);
                            ends.1
                        }
                    };
                    if let Some(target) = target {
                        // A full buffer loses the datagram, as in a network.
                        let _ = to.send_to(&buffer[..length], target);
                    }
                    drop(ends);
                    if let Some(rate) = rate.filter(|_| is_inward) {
                        let time = Duration::from_secs_f64(length as f64 / rate as f64);
                        free = free.max(Instant::now()) + time;
                        thread::sleep(free.saturating_duration_since(Instant::now()));
                    }
                }
            }));
        }
        Self {
            inner,
            outer,
            stop,
            threads,
        }
    }

    pub fn inner(&self) -> SocketAddr {
        self.inner.local_addr().expect("an address")
    }

    pub fn outer(&self) -> SocketAddr {
        let outer = self.outer.lock().expect("a socket");
        outer.local_addr().expect("an address")
    }

    /// Gives the relay another outer address. Datagrams to the old one are lost.
    pub fn rebind(&self) {
        *self.outer.lock().expect("a socket") = Arc::new(socket());
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            assert!(thread.join().is_ok() || thread::panicking());
        }
    }
}
