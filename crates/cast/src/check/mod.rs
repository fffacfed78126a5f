//! Tests an endpoint and the path to it, for `tailcut cast check`. The report shows whether transfers will work.
//! The tested endpoint stores nothing for the test (docs/wire/scdp.md, checks).

mod checker;
mod report;
mod sizes;

pub use report::{Burst, Group, Mark, Mtu, Path, Reach, Report, RoundTrip};

use crate::driver::check_codec::CheckCodec;
use crate::seal::Key;
use crate::transfer::Error;
use crate::udp::{Cause, Multicast, Refusal, Socket, SocketOptions, TrafficClass};
use checker::{Answer, CheckRequest, CheckResults, Checker};
use sizes::{MOST, Sizes};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tailcut_units::Ecn;

/// Number of checks without an answer after which an endpoint counts as silent.
/// With fewer checks, a few lost packets would make an endpoint look silent.
const ATTEMPTS: usize = 5;
/// Time to wait for each answer.
const ATTEMPT: Duration = Duration::from_millis(500);
/// Port number that is probably unused: the first port of traceroute.
const UNUSED_PORT: u16 = 33_434;
/// Number of measured round trips. With fewer round trips, one slow answer could change the median.
const ROUND_TRIPS: usize = 20;
/// Time between two packets in the tests of sizes and marks. The packets are so far apart that no queue fills.
/// So a loss must have another cause.
const SPACING: Duration = Duration::from_millis(5);
/// Number of packets in the test of losses. If none is lost, the 95 % interval of the loss rate ends at 1.9 %.
const BURST: usize = 200;
/// Default DSCP in the test of marks: AF11, "high-throughput data" (RFC 4594).
const DSCP: u8 = 10;
/// Number of packets that test one size, mark or group.
/// If none of them arrives, the path counts as blocked for this size, mark or group.
/// On a path that loses 1 % of the packets, all three are lost by chance in one of a million tests.
const TRIES: usize = 3;

/// Options of a check.
#[derive(Clone, Debug)]
pub struct Options {
    /// Pre-shared key of this end.
    pub key: Option<Key>,
    /// Options of the socket. The test of marks uses the socket's DSCP, or 10 if the socket's DSCP is 0.
    pub socket: SocketOptions,
    /// Multicast group that the other end should receive from.
    pub group: Option<IpAddr>,
    /// Options for sending to the group.
    pub multicast: Multicast,
    /// Rate of the packets in the test of losses, in bits per second. Default 2.4 Mbit/s.
    pub rate: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            key: None,
            socket: SocketOptions::default(),
            group: None,
            multicast: Multicast::default(),
            rate: 2.4e6,
        }
    }
}

/// Checks an endpoint, from a socket at `local`. The check needs a few seconds and about 400 packets.
///
/// # Errors
/// The user has set `stop`, or the system has no socket or no random bytes.
/// If the endpoint does not answer, the report says so, and this is not an error.
pub fn check(
    local: SocketAddr,
    to: SocketAddr,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Report, Error> {
    let socket = Socket::bind(local, &options.socket).map_err(Error::System)?;
    socket.keep_refusals().map_err(Error::System)?;
    if options.group.is_some() {
        let set = socket.set_multicast(&options.multicast);
        set.map_err(Error::System)?;
    }
    // Linux reports twice the size of the buffer that an application may fill.
    let buffer = socket.receive_buffer().map_err(Error::System)? / 2;
    let codec = CheckCodec::new(options.key.as_ref()).map_err(Error::System)?;
    let mut checker = Checker::new(socket, codec, stop);
    let (reach, first) = reach(&mut checker, to, options)?;
    let mut report = Report {
        to,
        has_key: options.key.is_some(),
        reach,
        path: None,
        buffer_here: u32::try_from(buffer).unwrap_or(u32::MAX),
        buffer_wanted: u32::try_from(options.socket.receive_buffer).unwrap_or(u32::MAX),
        group: None,
    };
    if let Some(first) = first.filter(|_| report.is_good()) {
        report.path = Some(path(&mut checker, to, options, &first)?);
    }
    if let Some(address) = options.group {
        let hears = report.is_good() && is_in_group(&mut checker, address, to)?;
        report.group = Some(Group { address, hears });
    }
    Ok(report)
}

/// Tests whether an endpoint answers. Returns the result and the endpoint's first answer.
fn reach(
    checker: &mut Checker<'_>,
    to: SocketAddr,
    options: &Options,
) -> Result<(Reach, Option<Answer>), Error> {
    let checks = [CheckRequest::plain(to)];
    for _ in 0..ATTEMPTS {
        let results = checker.run(&checks, Duration::ZERO, ATTEMPT, 1)?;
        if let Some(answer) = results.answers.first() {
            return Ok((Reach::Answers, Some(*answer)));
        }
        if let Some(reach) = refused_by(&results) {
            return Ok((reach, None));
        }
    }
    // A silent endpoint may have no key. Such an endpoint answers only checks without a key.
    if options.key.is_some() {
        let without = CheckCodec::new(None).map_err(Error::System)?;
        let with = std::mem::replace(&mut checker.codec, without);
        for _ in 0..TRIES {
            let results = checker.run(&checks, Duration::ZERO, ATTEMPT, 1)?;
            if !results.answers.is_empty() {
                return Ok((Reach::HasNoKey, None));
            }
        }
        checker.codec = with;
    }
    // If the host reports an error about another port, the host is running.
    let other = SocketAddr::new(to.ip(), UNUSED_PORT);
    let mut refuses_others = false;
    for _ in 0..TRIES {
        let results = checker.run(&[CheckRequest::plain(other)], Duration::ZERO, ATTEMPT, 1)?;
        let is_no = |one: &Refusal| one.to == other && one.cause == Cause::Port;
        refuses_others |= results.refusals.iter().any(is_no);
        if refuses_others {
            break;
        }
        // If a neighbour is switched off, the kernel needs some seconds to report it (ARP).
        if let Some(reach @ Reach::Unreachable { .. }) = refused_by(&results) {
            return Ok((reach, None));
        }
    }
    Ok((Reach::Silent { refuses_others }, None))
}

/// Returns the result for the first ICMP error, if there is one.
fn refused_by(results: &CheckResults) -> Option<Reach> {
    results.refusals.iter().find_map(|refusal| {
        let by = refusal.by;
        match refusal.cause {
            Cause::Port => Some(Reach::Refused { by }),
            Cause::Prohibited => Some(Reach::Prohibited { by }),
            Cause::Unreachable => Some(Reach::Unreachable { by }),
            Cause::TooLong(_) | Cause::Other(..) => None,
        }
    })
}

/// Tests the path to an endpoint that answers.
fn path(
    checker: &mut Checker<'_>,
    to: SocketAddr,
    options: &Options,
    first: &Answer,
) -> Result<Path, Error> {
    let checks = [CheckRequest::plain(to); ROUND_TRIPS];
    // If all these checks are lost, the round-trip time comes from the answer of the first test.
    let results = checker.run(&checks, 4 * SPACING, ATTEMPT, ROUND_TRIPS)?;
    let mut took: Vec<f64> = results
        .answers
        .iter()
        .map(|one| one.took.as_secs_f64())
        .collect();
    if took.is_empty() {
        took.push(first.took.as_secs_f64());
    }
    let median = tailcut_units::median(&mut took).unwrap_or_default();
    let longest = took[took.len() - 1];
    let round_trip = RoundTrip {
        n: took.len(),
        min: took[0],
        median,
        max: longest,
    };
    // An answer that needs longer than `patience` counts as lost.
    let patience = Duration::from_secs_f64((3.0 * longest).clamp(0.1, 2.0));
    let there = largest(checker, to, patience, false, MOST)?;
    let back = match there {
        Some(there) => largest(checker, to, patience, true, there)?,
        None => None,
    };
    let mtu = Mtu {
        there,
        back,
        tried_up_to: MOST,
    };
    let marks = marks(checker, to, options.socket.dscp, patience)?;
    // Transfers use packets of 1,500 bytes by default. So the test of losses uses this size too.
    let size = back.unwrap_or(0).min(1_500);
    Ok(Path {
        seen_as: first.echo.seen,
        round_trip,
        mtu,
        marks,
        burst: burst(checker, to, size, options.rate, patience)?,
        buffer_there: first.echo.buffer,
    })
}

/// Returns the size of the largest IP packet that arrives at the other end.
/// If `is_full` is set, an answer of the same size must arrive at this end too.
fn largest(
    checker: &mut Checker<'_>,
    to: SocketAddr,
    patience: Duration,
    is_full: bool,
    most: u16,
) -> Result<Option<u16>, Error> {
    let mut sizes = Sizes::new(most);
    loop {
        let next = sizes.next();
        if next.is_empty() {
            return Ok(sizes.largest());
        }
        let mut tried: Vec<(u16, bool)> = next.into_iter().map(|size| (size, false)).collect();
        for _ in 0..TRIES {
            // A packet may be lost by chance. So the sizes above the largest one that arrived are tried again.
            let largest = tried.iter().rposition(|(_, has_arrived)| *has_arrived);
            let open = largest.map_or(0, |at| at + 1)..tried.len();
            let checks: Vec<CheckRequest> = tried[open.clone()]
                .iter()
                .map(|(size, _)| CheckRequest {
                    size: *size,
                    is_full,
                    ..CheckRequest::plain(to)
                })
                .collect();
            let results = checker.run(&checks, SPACING, patience, checks.len())?;
            for (at, one) in tried[open].iter_mut().enumerate() {
                one.1 |= results.has(at);
            }
        }
        sizes.note(&tried);
    }
}

/// Tests which DSCP and ECN fields arrive unchanged.
fn marks(
    checker: &mut Checker<'_>,
    to: SocketAddr,
    dscp: u8,
    patience: Duration,
) -> Result<[Mark; 3], Error> {
    let dscp = if dscp == 0 { DSCP } else { dscp };
    let all = [Ecn::NotCapable, Ecn::Capable, Ecn::Marked];
    let mut marks = all.map(|ecn| Mark {
        sent: TrafficClass(dscp << 2).with_ecn(ecn).0,
        there: None,
        back: None,
    });
    for mark in &mut marks {
        let class = TrafficClass(mark.sent);
        let request = CheckRequest {
            class,
            back: class,
            ..CheckRequest::plain(to)
        };
        let results = checker.run(&[request; TRIES], SPACING, patience, TRIES)?;
        if let Some(answer) = results.answers.first() {
            mark.there = Some(answer.echo.class);
            mark.back = Some(answer.class.0);
        }
    }
    Ok(marks)
}

/// Measures the share of lost packets at a constant rate.
fn burst(
    checker: &mut Checker<'_>,
    to: SocketAddr,
    size: u16,
    rate: f64,
    patience: Duration,
) -> Result<Burst, Error> {
    let size = size.max(checker.codec.least() + checker.headers());
    let checks = [CheckRequest {
        size,
        ..CheckRequest::plain(to)
    }; BURST];
    // With a rate of at least 10 kbit/s, the test does not last too long.
    let spacing = Duration::from_secs_f64(f64::from(size) * 8.0 / rate.max(1e4));
    let results = checker.run(&checks, spacing, patience, BURST)?;
    Ok(Burst {
        sent: BURST,
        lost: BURST - results.answers.len(),
        size,
        rate,
    })
}

/// Tests whether an endpoint receives from a multicast group.
fn is_in_group(checker: &mut Checker<'_>, group: IpAddr, end: SocketAddr) -> Result<bool, Error> {
    let request = CheckRequest::plain(SocketAddr::new(group, end.port()));
    for _ in 0..TRIES {
        // Other members of the group may answer too, so the wait does not end at the first answer.
        let results = checker.run(&[request], Duration::ZERO, ATTEMPT, usize::MAX)?;
        if results
            .answers
            .iter()
            .any(|one| one.from == end && one.echo.is_group)
        {
            return Ok(true);
        }
    }
    Ok(false)
}
