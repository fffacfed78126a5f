//! Test of an endpoint and the path to it, for `tailcut cast check`. It finds out whether transfers
//! will work. The endpoint keeps no state for it (docs/wire/scdp.md, checks).

mod asking;
mod report;
mod sizes;

pub use report::{Burst, Group, Mark, Mtu, Path, Reach, Report, RoundTrip};

use crate::driver::words::Words;
use crate::seal::Key;
use crate::transfer::Error;
use crate::udp::{Cause, Multicast, Refusal, Socket, SocketOptions, TrafficClass};
use asking::{Answer, Asking, Heard, Question};
use sizes::{MOST, Sizes};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tailcut_units::Ecn;

/// Number of checks until an endpoint counts as silent, and time to wait for each answer.
const ATTEMPTS: usize = 5;
const ATTEMPT: Duration = Duration::from_millis(500);
/// Port that is probably unused. It is the first port of traceroute.
const UNUSED_PORT: u16 = 33_434;
/// Round trips that are measured.
const ROUND_TRIPS: usize = 20;
/// Time between two packets of a test of sizes or marks. It is long enough that no queue fills, so
/// a loss has another cause.
const SPACING: Duration = Duration::from_millis(5);
/// Packets of the test of losses.
const BURST: usize = 200;
/// Default DSCP of the test of marks: AF11, "high-throughput data" (RFC 4594).
const DSCP: u8 = 10;
/// Packets per size, mark or group. If none of them arrives, the size, mark or group counts as
/// blocked.
const TRIES: usize = 3;

/// Options of a check.
#[derive(Clone, Debug)]
pub struct Options {
    /// Key of this end.
    pub key: Option<Key>,
    /// Options of the socket. Its DSCP is used in the test of marks. 0 selects 10.
    pub socket: SocketOptions,
    /// Multicast group that the other end should receive from.
    pub group: Option<IpAddr>,
    /// Options for sending to the group.
    pub multicast: Multicast,
    /// Bits per second in the test of losses. Default 2.4 Mbit/s.
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

/// Checks an endpoint, from a socket at `local`. The check needs a few seconds and about 400
/// packets.
///
/// # Errors
/// The user has set `stop`, or the system has no socket or no random bytes. A missing answer is not
/// an error, but part of the report.
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
    let words = Words::new(options.key.as_ref()).map_err(Error::System)?;
    let mut asking = Asking::new(socket, words, stop);
    let (reach, first) = reach(&mut asking, to, options)?;
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
        report.path = Some(path(&mut asking, to, options, &first)?);
    }
    if let Some(address) = options.group {
        let hears = report.is_good() && hears(&mut asking, address, to)?;
        report.group = Some(Group { address, hears });
    }
    Ok(report)
}

/// Tests whether an endpoint answers. Returns its first answer, too.
fn reach(
    asking: &mut Asking<'_>,
    to: SocketAddr,
    options: &Options,
) -> Result<(Reach, Option<Answer>), Error> {
    let questions = [Question::plain(to)];
    for _ in 0..ATTEMPTS {
        let heard = asking.ask(&questions, Duration::ZERO, ATTEMPT, 1)?;
        if let Some(answer) = heard.answers.first() {
            return Ok((Reach::Answers, Some(*answer)));
        }
        if let Some(reach) = said_no(&heard) {
            return Ok((reach, None));
        }
    }
    if options.key.is_some() {
        let without = Words::new(None).map_err(Error::System)?;
        let with = std::mem::replace(&mut asking.words, without);
        for _ in 0..TRIES {
            let heard = asking.ask(&questions, Duration::ZERO, ATTEMPT, 1)?;
            if !heard.answers.is_empty() {
                return Ok((Reach::HasNoKey, None));
            }
        }
        asking.words = with;
    }
    let other = SocketAddr::new(to.ip(), UNUSED_PORT);
    let mut refuses_others = false;
    for _ in 0..TRIES {
        let heard = asking.ask(&[Question::plain(other)], Duration::ZERO, ATTEMPT, 1)?;
        let is_no = |one: &Refusal| one.to == other && one.cause == Cause::Port;
        refuses_others |= heard.refusals.iter().any(is_no);
        if refuses_others {
            break;
        }
        // The failure to reach a neighbour that is off is reported only after some seconds (ARP).
        if let Some(reach @ Reach::Unreachable { .. }) = said_no(&heard) {
            return Ok((reach, None));
        }
    }
    Ok((Reach::Silent { refuses_others }, None))
}

/// Returns the result that an ICMP error reports.
fn said_no(heard: &Heard) -> Option<Reach> {
    heard.refusals.iter().find_map(|refusal| {
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
    asking: &mut Asking<'_>,
    to: SocketAddr,
    options: &Options,
    first: &Answer,
) -> Result<Path, Error> {
    let questions = [Question::plain(to); ROUND_TRIPS];
    let heard = asking.ask(&questions, 4 * SPACING, ATTEMPT, ROUND_TRIPS)?;
    let mut took: Vec<f64> = heard
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
    // Later answers count as lost.
    let patience = Duration::from_secs_f64((3.0 * longest).clamp(0.1, 2.0));
    let there = largest(asking, to, patience, false, MOST)?;
    let back = match there {
        Some(there) => largest(asking, to, patience, true, there)?,
        None => None,
    };
    let mtu = Mtu {
        there,
        back,
        tried_up_to: MOST,
    };
    let marks = marks(asking, to, options.socket.dscp, patience)?;
    let size = back.unwrap_or(0).min(1_500);
    Ok(Path {
        seen_as: first.echo.seen,
        round_trip,
        mtu,
        marks,
        burst: burst(asking, to, size, options.rate, patience)?,
        buffer_there: first.echo.buffer,
    })
}

/// Returns the largest IP packet that arrives: in one direction or, if `is_full`, in both
/// directions.
fn largest(
    asking: &mut Asking<'_>,
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
            // A size above the largest one that arrived gets another try, because its packet may
            // have been lost by chance.
            let largest = tried.iter().rposition(|(_, has_arrived)| *has_arrived);
            let open = largest.map_or(0, |at| at + 1)..tried.len();
            let questions: Vec<Question> = tried[open.clone()]
                .iter()
                .map(|(size, _)| Question {
                    size: *size,
                    is_full,
                    ..Question::plain(to)
                })
                .collect();
            let heard = asking.ask(&questions, SPACING, patience, questions.len())?;
            for (at, one) in tried[open].iter_mut().enumerate() {
                one.1 |= heard.has(at);
            }
        }
        sizes.note(&tried);
    }
}

/// Tests which DSCP and ECN marks arrive.
fn marks(
    asking: &mut Asking<'_>,
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
        let question = Question {
            class,
            back: class,
            ..Question::plain(to)
        };
        let heard = asking.ask(&[question; TRIES], SPACING, patience, TRIES)?;
        if let Some(answer) = heard.answers.first() {
            mark.there = Some(answer.echo.class);
            mark.back = Some(answer.class.0);
        }
    }
    Ok(marks)
}

/// Tests how many packets are lost.
fn burst(
    asking: &mut Asking<'_>,
    to: SocketAddr,
    size: u16,
    rate: f64,
    patience: Duration,
) -> Result<Burst, Error> {
    let size = size.max(asking.words.least() + asking.headers());
    let questions = [Question {
        size,
        ..Question::plain(to)
    }; BURST];
    let spacing = Duration::from_secs_f64(f64::from(size) * 8.0 / rate.max(1e4));
    let heard = asking.ask(&questions, spacing, patience, BURST)?;
    Ok(Burst {
        sent: BURST,
        lost: BURST - heard.answers.len(),
        size,
        rate,
    })
}

/// Tests whether an endpoint receives from a multicast group.
fn hears(asking: &mut Asking<'_>, group: IpAddr, end: SocketAddr) -> Result<bool, Error> {
    let question = Question::plain(SocketAddr::new(group, end.port()));
    for _ in 0..TRIES {
        // Other members may answer too, so the wait does not end at the first answer.
        let heard = asking.ask(&[question], Duration::ZERO, ATTEMPT, usize::MAX)?;
        if heard
            .answers
            .iter()
            .any(|one| one.from == end && one.echo.is_group)
        {
            return Ok(true);
        }
    }
    Ok(false)
}
