//! What the commands have in common: how they reach the network, what they tell, how they fail.

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

/// Who may take part.
#[derive(Args, Clone, Debug)]
pub(super) struct Access {
    /// The file of a key that all ends have (`tailcut cast key` makes one): packets are encrypted
    #[arg(long, value_name = "FILE")]
    psk: Option<PathBuf>,
    /// Go without a key to other machines: everybody on the way can read and change what is sent
    #[arg(long, conflicts_with = "psk")]
    insecure: bool,
    /// The DSCP of what this end sends, 0 to 63
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u8).range(0..64))]
    dscp: u8,
    /// The most that this end sends in a second, with headers, such as 100Mbps or 2Gbps
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<Rate>,
    /// The largest IP packets that this end sends, 1280 to 9000 bytes; where the path takes less, it goes on with
    /// smaller ones
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
    /// Opens an endpoint. One that others than this machine reach takes a key.
    pub(super) fn open(&self, local: SocketAddr) -> Result<Endpoint, Failed> {
        self.open_to_groups(local, Multicast::default())
    }

    /// The same, with options for what is sent to multicast groups.
    pub(super) fn open_to_groups(
        &self,
        local: SocketAddr,
        multicast: Multicast,
    ) -> Result<Endpoint, Failed> {
        if !local.ip().is_loopback() && !self.insecure && self.psk.is_none() {
            return Err(Failed::usage(
                "other machines are reached with a key only: allowed: --psk FILE (`tailcut cast key \
                 FILE` makes one), or --insecure where nobody else has access to the network"
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
            "; another process listens there: allowed: another port (--listen ADDRESS:PORT)"
        }
        io::ErrorKind::AddrNotAvailable => "; no interface of this machine has this address",
        _ => "",
    };
    format!("cannot listen at {local}: {error}{more}")
}

/// What happens, for people and programs.
#[derive(Serialize, Debug)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Told<'a> {
    /// An end waits for others here.
    Listening {
        /// Its address.
        at: SocketAddr,
    },
    /// A replica serves something.
    Serving {
        /// What.
        what: &'a str,
        /// Its root.
        root: String,
        /// The replica's address.
        at: SocketAddr,
    },
    /// Something that is good to know, in words.
    Note {
        /// The words.
        text: &'a str,
    },
    /// The other end takes part.
    Joined {
        /// The other end.
        peer: SocketAddr,
    },
    /// The other end has failed, while the transfer goes on without it.
    Left {
        /// The other end.
        peer: SocketAddr,
        /// Why.
        why: &'a str,
    },
    /// How far a transfer is.
    Progress(Moment),
    /// A transfer is over and everything verified.
    Done {
        /// What, or where it is now.
        what: &'a str,
        /// The root: what `b3sum` prints for a file.
        root: Option<String>,
        /// Who has it.
        peers: &'a [SocketAddr],
        /// How far.
        progress: Moment,
    },
    /// A transfer has failed, and the command goes on.
    Failed {
        /// Why.
        why: &'a str,
    },
    /// What was found out about an end and the path to it.
    Checked {
        /// All of it.
        #[serde(flatten)]
        report: &'a Report,
    },
    /// A line of a list.
    Entry {
        /// What it is.
        path: &'a str,
        /// Its bytes, if it is a file.
        bytes: Option<u64>,
    },
}

/// How far a transfer is.
#[derive(Serialize, Clone, Copy, PartialEq, Debug)]
pub struct Moment {
    /// Bytes in all, if that is known.
    pub total: Option<u64>,
    /// Bytes that are verified.
    pub verified: u64,
    /// Those that were there before.
    pub kept: u64,
    /// Seconds since the other end took part.
    pub seconds: f64,
    /// Bytes a second, without those that were there before.
    pub rate: f64,
    /// The share of repair symbols in what was sent; of a sender.
    pub repair: Option<f64>,
    /// The share of packets that were lost on their way to receivers; of a sender.
    pub loss: Option<f64>,
    /// Receivers that still receive; of a sender.
    pub receivers: usize,
    /// The slowest of several receivers.
    pub slowest: Option<SocketAddr>,
}

impl Moment {
    fn of(progress: &Progress, seconds: f64) -> Self {
        Self {
            total: progress.total,
            verified: progress.standing.verified,
            kept: progress.standing.kept,
            seconds,
            rate: progress.moved() as f64 / seconds.max(1e-3),
            repair: (progress.sent > 0).then(|| progress.repair as f64 / progress.sent as f64),
            loss: (progress.settled > 0).then(|| progress.lost as f64 / progress.settled as f64),
            receivers: progress.receivers,
            slowest: progress.slowest,
        }
    }
}

/// Tells what happens in a transfer, with the time since the first other end took part.
pub(super) struct Watch {
    since: Instant,
    has_begun: bool,
}

impl Watch {
    pub(super) fn begin() -> Self {
        Self {
            since: Instant::now(),
            has_begun: false,
        }
    }

    /// How far it is now.
    pub(super) fn moment(&self, progress: &Progress) -> Moment {
        Moment::of(progress, self.since.elapsed().as_secs_f64())
    }

    pub(super) fn tell(&mut self, event: &Event, tell: &mut dyn FnMut(Told<'_>)) {
        match event {
            Event::Progress(progress) => tell(Told::Progress(self.moment(progress))),
            Event::Joined(peer) => {
                if !self.has_begun {
                    *self = Self {
                        has_begun: true,
                        ..Self::begin()
                    };
                }
                tell(Told::Joined { peer: *peer });
            }
            Event::Left(peer, why) => tell(Told::Left { peer: *peer, why }),
            Event::Deaf(peer) => {
                let text = format!(
                    "{peer}: does not hear the group, and is sent a copy of its own (`recv --group` there, \
                     --ttl here?)"
                );
                tell(Told::Note { text: &text });
            }
        }
    }
}

/// Whether a path stands for standard input or output.
pub(super) fn is_pipe(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Why a command ends without success.
#[derive(Debug)]
pub struct Failed {
    /// The process's exit code.
    pub code: u8,
    /// In words; each line stands for itself.
    pub words: String,
}

impl Failed {
    /// Something that the user can mend.
    pub(super) fn usage(words: String) -> Self {
        Self { code: 2, words }
    }

    /// Something that the system refuses.
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
