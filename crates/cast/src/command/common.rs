//! Parts that several commands use: network access, messages and errors.

use crate::check::Report;
use crate::driver::{Endpoint, Options};
use crate::seal;
use crate::transfer::{Error, Event, Progress};
use crate::udp::{Multicast, SocketOptions};
use clap::Args;
use serde::Serialize;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tailcut_units::quantity::{self, QuantityError};
use tailcut_units::{Bytes, Rate};

/// Flags for access to the network.
#[derive(Args, Clone, Debug)]
pub(super) struct Access {
    /// Key file, the same at all ends (`tailcut cast key` makes one): packets are encrypted
    #[arg(long, value_name = "FILE")]
    psk: Option<PathBuf>,
    /// Use no key with other machines: everyone on the path can read and change the data
    #[arg(long, conflicts_with = "psk")]
    insecure: bool,
    /// DSCP of packets that this end sends, 0 to 63
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u8).range(0..64))]
    dscp: u8,
    /// Rate limit of this end, with headers, such as 100Mbps or 2Gbps
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<Rate>,
    /// Largest IP packets that this end sends, 1280 to 9000 bytes; smaller ones are used if the path needs
    /// them
    #[arg(long, value_name = "BYTES", default_value = "1500", value_parser = mtu)]
    mtu: u16,
}

/// Returns the rate of a flag, 80 kbit/s to 8 Tbit/s.
pub(super) fn rate(text: &str) -> Result<Rate, QuantityError> {
    const SLOWEST: Rate = Rate::from_bps(80_000).expect("above zero");
    quantity::within(text, SLOWEST..=Rate::from_gbps(8_000))
}

/// Returns the bytes of a packet, 1,280 to 9,000.
fn mtu(text: &str) -> Result<u16, QuantityError> {
    let bytes = quantity::within(text, Bytes(1_280)..=Bytes(9_000));
    bytes.map(|bytes| bytes.0 as u16)
}

impl Access {
    /// Opens an endpoint. A key is required if other machines can reach the endpoint.
    pub(super) fn open(&self, local: SocketAddr) -> Result<Endpoint, Failed> {
        self.open_to_groups(local, Multicast::default())
    }

    /// Opens an endpoint as [`Self::open`] does, with options for multicast groups.
    pub(super) fn open_to_groups(
        &self,
        local: SocketAddr,
        multicast: Multicast,
    ) -> Result<Endpoint, Failed> {
        if !local.ip().is_loopback() && !self.insecure && self.psk.is_none() {
            return Err(Failed::usage(
                "access to other machines needs a key; allowed: --psk FILE (`tailcut cast key FILE` \
                 makes one), or --insecure on a network that only you can use"
                    .to_owned(),
            ));
        }
        let key = self.psk.as_deref().map(seal::load).transpose();
        let options = Options {
            key: key.map_err(|error| Failed::usage(error.to_string()))?,
            rate: self.rate.map(|rate| rate.as_bps() / 8),
            mtu: self.mtu,
            multicast,
            socket: SocketOptions {
                dscp: self.dscp,
                ..SocketOptions::default()
            },
            ..Options::default()
        };
        Endpoint::bind(local, &options).map_err(|error| Failed::system(bound(local, &error)))
    }
}

fn bound(local: SocketAddr, error: &io::Error) -> String {
    let more = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; another process uses this port; allowed: another port (--listen ADDRESS:PORT)"
        }
        io::ErrorKind::AddrNotAvailable => "; no interface of this machine has this address",
        _ => "",
    };
    format!("cannot listen at {local}: {error}{more}")
}

/// Message of a command, for users and for other programs.
#[derive(Serialize, Debug)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum CommandEvent<'a> {
    /// The command waits for transfers.
    Listening {
        /// Address at which the command waits.
        at: SocketAddr,
    },
    /// A replica serves an object.
    Serving {
        /// Name of the object.
        what: &'a str,
        /// Root of the object.
        root: String,
        /// Address at which the replica listens.
        at: SocketAddr,
    },
    /// Useful information, as text.
    Note {
        /// Text of the note.
        text: &'a str,
    },
    /// The other end takes part in the transfer.
    Joined {
        /// Address of the other end.
        peer: SocketAddr,
    },
    /// The offer waits at a receiver.
    Waiting {
        /// Address of the receiver.
        peer: SocketAddr,
        /// Reason of the wait.
        why: &'a str,
    },
    /// The other end has failed. The transfer goes on without it.
    Left {
        /// Address of the other end.
        peer: SocketAddr,
        /// Category of the reason: [`Code::name`](crate::transfer::Code::name).
        code: &'a str,
        /// Reason of the failure.
        why: &'a str,
    },
    /// Progress of a transfer.
    Progress {
        /// Address of the sender. Only a receiver has this value.
        peer: Option<SocketAddr>,
        /// Path of the destination. Only a receiver has this value, after the name has arrived.
        what: Option<&'a str>,
        /// Numbers of the progress.
        #[serde(flatten)]
        moment: Moment,
    },
    /// A transfer has ended, and all data is verified.
    Done {
        /// At a sender: path of the data. At a receiver: path of the destination.
        what: &'a str,
        /// Root hash of the data. For a file, `b3sum` prints the same hash.
        root: Option<String>,
        /// Addresses of the ends that have the data.
        peers: &'a [SocketAddr],
        /// Final progress.
        progress: Moment,
    },
    /// A transfer has failed. The command goes on.
    Failed {
        /// Address of the sender.
        peer: SocketAddr,
        /// Path of the destination, if the name has arrived.
        what: Option<&'a str>,
        /// Category of the reason: [`Code::name`](crate::transfer::Code::name).
        code: &'a str,
        /// Reason of the failure.
        why: &'a str,
    },
    /// An endpoint was checked.
    Checked {
        /// Report of the check.
        #[serde(flatten)]
        report: &'a Report,
    },
    /// Entry in the list of a dry run (`send --dry-run`).
    Entry {
        /// Path of an entry that would be sent.
        path: &'a str,
        /// Size of the file in bytes. `None`: the entry is not a file.
        bytes: Option<u64>,
    },
}

/// Progress of a transfer at one moment.
#[derive(Serialize, Clone, Copy, PartialEq, Debug)]
pub struct Moment {
    /// Size of all data in bytes, if it is known.
    pub total: Option<u64>,
    /// Verified bytes, including bytes that were kept from an earlier transfer.
    pub verified: u64,
    /// Verified bytes that were kept from an earlier transfer.
    pub kept: u64,
    /// Seconds since the other end joined.
    pub seconds: f64,
    /// Bytes per second, without bytes that were kept from an earlier transfer.
    pub rate: f64,
    /// Share of repair symbols in the sent bytes, 0 to 1. Only a sender has this value.
    pub repair: Option<f64>,
    /// Share of packets that were lost on the path to the receivers, 0 to 1. Only a sender has this value.
    pub loss: Option<f64>,
    /// Number of receivers that have not finished. Only a sender has this value.
    pub receivers: usize,
    /// Address of the slowest of several receivers.
    pub slowest: Option<SocketAddr>,
}

impl Moment {
    fn of(progress: &Progress, seconds: f64) -> Self {
        Self {
            total: progress.total,
            verified: progress.received.verified,
            kept: progress.received.kept,
            seconds,
            // The first progress may come immediately. The lower bound prevents a division by 0.
            rate: progress.moved() as f64 / seconds.max(1e-3),
            repair: (progress.sent > 0).then(|| progress.repair as f64 / progress.sent as f64),
            loss: (progress.settled > 0).then(|| progress.lost as f64 / progress.settled as f64),
            receivers: progress.receivers,
            slowest: progress.slowest,
        }
    }

    /// Returns the progress of several transfers together, at a receiver.
    pub(super) fn sum(all: impl Iterator<Item = Self>) -> Self {
        let none = Self::of(&Progress::default(), 0.0);
        let none = Self {
            total: Some(0),
            ..none
        };
        all.fold(none, |sum, one| Self {
            total: sum.total.zip(one.total).map(|(sum, one)| sum + one),
            verified: sum.verified + one.verified,
            kept: sum.kept + one.kept,
            seconds: sum.seconds.max(one.seconds),
            rate: sum.rate + one.rate,
            receivers: 1,
            ..sum
        })
    }
}

/// Reports the events of a transfer. It measures the time since the first remote end has joined.
pub(super) struct Watch {
    since: Instant,
    has_begun: bool,
    /// Address of the sender. `None` if this end does not receive from a single sender.
    sender: Option<SocketAddr>,
}

impl Watch {
    pub(super) fn begin() -> Self {
        Self {
            since: Instant::now(),
            has_begun: false,
            sender: None,
        }
    }

    /// Begins to report a transfer from one sender.
    pub(super) fn of(sender: SocketAddr) -> Self {
        Self {
            sender: Some(sender),
            ..Self::begin()
        }
    }

    /// Returns the progress at this moment.
    pub(super) fn moment(&self, progress: &Progress) -> Moment {
        Moment::of(progress, self.since.elapsed().as_secs_f64())
    }

    /// Reports an event. `what` is the path of the destination, if it is known.
    pub(super) fn notify(
        &mut self,
        event: &Event,
        what: Option<&str>,
        notify: &mut dyn FnMut(CommandEvent<'_>),
    ) {
        let mut note = |text: String| notify(CommandEvent::Note { text: &text });
        match event {
            Event::Progress(progress) => notify(CommandEvent::Progress {
                peer: self.sender,
                what,
                moment: self.moment(progress),
            }),
            Event::Joined(peer) => {
                if !self.has_begun {
                    // The time begins when the first remote end joins.
                    // So the rate does not include the wait for this end.
                    self.has_begun = true;
                    self.since = Instant::now();
                }
                notify(CommandEvent::Joined { peer: *peer });
            }
            Event::Waiting(peer, why) => notify(CommandEvent::Waiting { peer: *peer, why }),
            Event::Left { peer, code, why } => notify(CommandEvent::Left {
                peer: *peer,
                code: code.name(),
                why,
            }),
            Event::Restarted(peer) => note(format!(
                "{peer}: its process has restarted; the transfer goes on"
            )),
            Event::Moved(old, new) => note(format!(
                "{old}: has the address {new} now; the transfer goes on"
            )),
            Event::Deaf(peer) => note(format!(
                "{peer}: does not hear the group, and gets a separate copy (missing `recv --group` there, or \
                 --ttl here?)"
            )),
        }
    }
}

/// Returns whether a path means standard input or output.
pub(super) fn is_pipe(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Error of a command.
#[derive(Debug)]
pub struct Failed {
    /// Exit code of the process.
    pub code: u8,
    /// Text of the error. Each line is a complete message.
    pub words: String,
}

impl Failed {
    /// Creates an error of the user's arguments.
    pub(super) fn usage(words: String) -> Self {
        Self { code: 2, words }
    }

    /// Creates an error of the operating system.
    pub(super) fn system(words: String) -> Self {
        Self { code: 2, words }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self {
            code: error.exit_code(),
            words: error.to_string(),
        }
    }
}

impl From<crate::files::Error> for Failed {
    fn from(error: crate::files::Error) -> Self {
        Self::from(Error::Files(error))
    }
}
