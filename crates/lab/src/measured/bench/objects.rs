//! Benches of SCDP over UDP on a link of 100 Mb/s: with random loss, and in competition with the kernel's CUBIC.
//! Further benches have many senders, or a multicast group.

use super::figure::Figure;
use super::slow_link::{RATE, SlowLinkNetwork};
use anyhow::{Context, Result, bail};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tailcut_cast::driver::{Endpoint, Sending, StragglerPolicy, Stragglers};
use tailcut_units::mix64;

const WEST_EAST: &str = "west-east";
/// Duration in seconds of a long transfer that uses the full rate of the link.
const SECONDS: f64 = 20.0;
/// Time during which the throughput of two competing transfers is measured.
const SPAN: Duration = Duration::from_secs(60);
/// Size on the wire of a packet with a full symbol, in bytes.
const WIRE: f64 = 1_538.0;
/// Payload of a full symbol in bytes.
const SYMBOL: f64 = 1_440.0;

/// Returns an object of pseudo-random bytes. An error at any position is visible when objects are compared.
fn object(length: usize, seed: u64) -> Vec<u8> {
    let words = (0..length.div_ceil(8) as u64).map(|at| mix64(at ^ (seed << 40)));
    let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    bytes.truncate(length);
    bytes
}

/// Sends an object. Returns the time in seconds until the whole object has arrived.
fn seconds(from: &Endpoint, to: &Endpoint, object: &Arc<[u8]>) -> Result<f64> {
    let began = Instant::now();
    let sending = from.send(to.local(), Arc::clone(object));
    let received = to.receive().context("the receiver has ended")?;
    let took = began.elapsed().as_secs_f64();
    if received.bytes[..] != object[..] {
        bail!("the received object differs from the sent one");
    }
    sending.wait()?;
    Ok(took)
}

/// Measures the goodput on a link with random loss in both directions.
/// Each result is a fraction of the goodput without loss.
pub(super) fn loss(round_trip_ms: u32) -> Result<Vec<Figure>> {
    // The limit of the queue is one bandwidth-delay product in packets, but at least 64.
    let queue = (round_trip_ms * 25 / 3).max(64);
    let network = SlowLinkNetwork::new(1, 1, round_trip_ms * 1_000, queue)?;
    let (from, to) = (network.endpoint(0)?, network.endpoint(1)?);
    let object = |seconds: f64, seed| object((RATE / 8.0 * seconds) as usize, seed);
    let (long, short): (Arc<[u8]>, Arc<[u8]>) =
        (object(SECONDS, 1).into(), object(SECONDS / 4.0, 2).into());
    let goodput = |percent: f64, object: &Arc<[u8]>| -> Result<f64> {
        network.lose(WEST_EAST, percent / 100.0)?;
        let goodput = object.len() as f64 * 8e-6 / seconds(&from, &to, object)?;
        eprintln!("{percent:.1} % loss: {goodput:.1} Mb/s");
        Ok(goodput)
    };
    let of = format!("{round_trip_ms} ms, {queue} packets");
    let clean = goodput(0.0, &long)?;
    let name = format!("{of}: goodput without loss (Mb/s)");
    let mut figures = vec![Figure::without_target(name, clean)];
    for (percent, least) in [(0.1, 0.97), (1.0, 0.95), (5.0, 0.88)] {
        let kept = goodput(percent, &long)? / clean;
        let name = format!("{of}: goodput at {percent} % loss over goodput without loss");
        figures.push(Figure::wanted(name, kept, least, 1.02));
    }
    for percent in [10.0, 30.0] {
        let kept = goodput(percent, &short)? / clean;
        let name = format!("{of}: goodput at {percent} % loss over goodput without loss, 5 s");
        figures.push(Figure::without_target(name, kept));
    }
    figures.extend(network.lateness(&of)?);
    Ok(figures)
}

/// Long transfer that does not end before the measurement ends.
enum Transfer {
    Scdp(Sending),
    Tcp(Arc<AtomicU64>, TcpStream),
}

impl Transfer {
    fn scdp(pair: &(Endpoint, Endpoint)) -> Self {
        // The object is larger than the link can transport during the measurement.
        // The bytes of the object are not checked.
        let endless = vec![0; (RATE / 8.0 * 75.0) as usize];
        Self::Scdp(pair.0.send(pair.1.local(), endless))
    }

    fn tcp(network: &SlowLinkNetwork, from: u32, to: u32) -> Result<Self> {
        let (mut sender, mut receiver) = network.connection(from, to)?;
        let stopper = sender.try_clone()?;
        let count = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&count);
        // The sending and the receiving thread end when the connection is shut down.
        thread::spawn(move || while sender.write_all(&[0; 1 << 16]).is_ok() {});
        thread::spawn(move || {
            let mut buffer = [0; 1 << 16];
            loop {
                match receiver.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(bytes) => drop(counted.fetch_add(bytes as u64, Ordering::Relaxed)),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        });
        Ok(Self::Tcp(count, stopper))
    }

    /// Returns the number of bytes that have arrived at the receiver.
    fn bytes(&self) -> u64 {
        match self {
            Self::Scdp(sending) => sending.progress().iter().map(|one| one.bytes).sum(),
            Self::Tcp(count, _) => count.load(Ordering::Relaxed),
        }
    }

    fn end(self) {
        match self {
            Self::Scdp(sending) => sending.cancel(),
            Self::Tcp(_, stopper) => drop(stopper.shutdown(std::net::Shutdown::Both)),
        }
    }
}

/// Transport protocol of a long transfer.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Scdp,
    Cubic,
}

/// Runs two long transfers. The second transfer starts 1.5 s after the first transfer.
/// Returns the throughput of the second transfer divided by the throughput of the first.
/// The measurement starts together with the second transfer.
fn second_over_first(network: &SlowLinkNetwork, kinds: [Kind; 2]) -> Result<f64> {
    let start = |at: u32| -> Result<(Transfer, Option<(Endpoint, Endpoint)>)> {
        let (from, to) = (at, at + 2);
        match kinds[at as usize] {
            Kind::Cubic => Ok((Transfer::tcp(network, from, to)?, None)),
            Kind::Scdp => {
                let pair = (network.endpoint(from)?, network.endpoint(to)?);
                Ok((Transfer::scdp(&pair), Some(pair)))
            }
        }
    };
    // The returned endpoints must live as long as their transfer.
    let (first, _held) = start(0)?;
    thread::sleep(Duration::from_millis(1_500));
    let before = first.bytes();
    let (second, _held_too) = start(1)?;
    thread::sleep(SPAN);
    let rates = (first.bytes() - before, second.bytes());
    first.end();
    second.end();
    Ok(rates.1 as f64 / rates.0.max(1) as f64)
}

/// Measures how two transfers share a link. The transfers use SCDP, the kernel's CUBIC, or one of each.
/// A pair of SCDP and CUBIC is measured in both orders of their starts.
pub(super) fn shares(round_trip_ms: u32, queue: u32) -> Result<Vec<Figure>> {
    let network = SlowLinkNetwork::new(2, 2, round_trip_ms * 1_000, queue)?;
    let of = format!("{round_trip_ms} ms, {queue} packets");
    let mut figures = Vec::new();
    for (kinds, name) in [
        ([Kind::Scdp, Kind::Cubic], "SCDP / CUBIC, SCDP first"),
        ([Kind::Cubic, Kind::Scdp], "SCDP / CUBIC, CUBIC first"),
        (
            [Kind::Scdp, Kind::Scdp],
            "rate of SCDP, second / first transfer",
        ),
    ] {
        let ratio = second_over_first(&network, kinds)?;
        let ratio = match kinds {
            [Kind::Scdp, Kind::Cubic] => 1.0 / ratio,
            _ => ratio,
        };
        figures.push(Figure::wanted(format!("{of}: {name}"), ratio, 0.5, 2.0));
    }
    let ratio = second_over_first(&network, [Kind::Cubic; 2])?;
    let name = format!("{of}: rate of CUBIC, second / first transfer");
    figures.push(Figure::without_target(name, ratio));
    figures.extend(network.lateness(&of)?);
    Ok(figures)
}

/// Measures an incast: 32 senders send one object each to the same receiver at the same time.
/// The result is the time until the last object arrives, divided by the serialisation time of all objects.
pub(super) fn incast() -> Result<Vec<Figure>> {
    const SENDERS: u32 = 32;
    let network = SlowLinkNetwork::new(SENDERS, 1, 200, 64)?;
    let senders = (0..SENDERS).map(|host| network.endpoint(host));
    let senders = senders.collect::<Result<Vec<Endpoint>>>()?;
    let receiver = network.endpoint(SENDERS)?;
    let mut figures = Vec::new();
    for (bytes, most) in [(65_536usize, 1.5), (1_048_576, 1.25)] {
        let sent: Arc<[u8]> = object(bytes, 3).into();
        let began = Instant::now();
        let sendings: Vec<Sending> = senders
            .iter()
            .map(|sender| sender.send(receiver.local(), Arc::clone(&sent)))
            .collect();
        for _ in 0..SENDERS {
            let received = receiver.receive().context("the receiver has ended")?;
            if received.bytes[..] != sent[..] {
                bail!("the received object differs from the sent one");
            }
        }
        let took = began.elapsed().as_secs_f64();
        for sending in sendings {
            sending.wait()?;
        }
        let wire = bytes as f64 + (bytes as f64 / SYMBOL).ceil() * (WIRE - SYMBOL);
        let ideal = f64::from(SENDERS) * wire * 8.0 / RATE + 200e-6;
        let name = format!("incast of 32, {} KB each: time / ideal time", bytes / 1_024);
        figures.push(Figure::wanted(name, took / ideal, 1.0, most));
    }
    figures.extend(network.lateness("incast")?);
    Ok(figures)
}

/// Measures the cost of multicast: one sender sends an object to 8 receivers.
/// Each receiver loses packets independently.
/// The result is the number of symbols sent, divided by the number of symbols of the object.
pub(super) fn group() -> Result<Vec<Figure>> {
    const RECEIVERS: u32 = 8;
    let network = SlowLinkNetwork::new(1, RECEIVERS, 200, 256)?;
    let sender = network.endpoint(0)?;
    let members = (1..=RECEIVERS).map(|host| network.member(host));
    let members = members.collect::<Result<Vec<(Endpoint, SocketAddr)>>>()?;
    let port = sender.local().port();
    let group = SocketAddr::from((IpAddr::from([239, 255, 77, 1]), port));
    for (member, _) in &members {
        SlowLinkNetwork::join(member, group)?;
    }
    let to: Vec<SocketAddr> = members.iter().map(|(_, address)| *address).collect();
    let sent: Arc<[u8]> = object(57_600_000, 4).into();
    let mut figures = Vec::new();
    for (percent, most) in [(0.0, None), (0.1, Some(1.02)), (1.0, Some(1.06))] {
        network.lose("east-right", percent / 100.0)?;
        let wait = Stragglers {
            after: tailcut_units::Duration::from_ms(60_000),
            policy: StragglerPolicy::Wait,
        };
        let sending = sender.send_to_group(group, &to, wait, Arc::clone(&sent));
        for (member, _) in &members {
            let received = member.receive().context("a receiver has ended")?;
            if received.bytes[..] != sent[..] {
                bail!("the received object differs from the sent one");
            }
        }
        let board = sending.progress();
        let cost = sending.wait()?;
        let ratio = cost.bytes as f64 / sent.len() as f64;
        let lost: Vec<String> = board.iter().map(|one| one.lost.to_string()).collect();
        eprintln!(
            "{percent} % loss: {ratio:.4} times the object's symbols; lost at the receivers: {}",
            lost.join(", ")
        );
        let name = format!("8 receivers, {percent} % loss: symbols sent per symbol of the object");
        figures.push(match most {
            Some(most) => Figure::wanted(name, ratio, 1.0, most),
            None => Figure::without_target(name, ratio),
        });
    }
    figures.extend(network.lateness("8 receivers")?);
    Ok(figures)
}
