//! Machine for the player of cases that runs the endpoint.

use crate::cases::parse::{Block, Controller as Kind, Input, Sent, Settings, Side};
use crate::cases::play::{Machine, State};
use std::collections::BTreeMap;
use std::time::Duration as Elapsed;
use tailcut_transport::tcp::congestion::Controller;
use tailcut_transport::tcp::{
    Congestion, ConnectionEvent, ConnectionId, Endpoint, Profile, SackBlock, Stamp, Stamps,
    TcpConfig, TcpFlags, TcpHeader, TimerSet,
};
use tailcut_transport::{Ecn, Header, PathPin, Segment};
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Time};

/// Flags that request ECN in a SYN (RFC 3168, 6.1.1).
const ECN_SETUP: TcpFlags = TcpFlags::ECE.with(TcpFlags::CWR);

/// Endpoint with one connection. The case plays the peer.
pub struct Simulated {
    now: Time,
    endpoint: Endpoint,
    id: Option<ConnectionId>,
    tuple: FiveTuple,
    /// Offset of the next byte that the peer sends.
    peer_next: u64,
    sent: Vec<Sent>,
    /// Time stamp of the first transmission of each segment, by the first byte of the segment.
    firsts: BTreeMap<u64, Stamp>,
    /// Time stamp of the last segment that was sent.
    latest: Stamp,
    capable: Option<bool>,
}

/// Returns the parameters for a case: the profile of Linux with the clock of the measured kernel.
/// For DCTCP, the parameters are the profile of the RFCs, because the expected answers come from RFC 8257.
fn config(settings: &Settings) -> TcpConfig {
    let (profile, congestion) = match settings.controller {
        Kind::Reno => (Profile::Linux, Congestion::NewReno),
        Kind::Cubic => (Profile::Linux, Congestion::Cubic),
        Kind::Dctcp => (Profile::Rfc, Congestion::DCTCP),
    };
    let defaults = TcpConfig::of(profile, TimerSet::Stock);
    TcpConfig {
        mss: settings.mss as u32,
        congestion,
        sack: settings.sack,
        classic_ecn: settings.ecn,
        tail_loss_probe: settings.probes && defaults.tail_loss_probe,
        frto: settings.frto && defaults.frto,
        timestamps: settings.timestamps,
        restart_after_idle: settings.restart_after_idle,
        tick: Duration::from_ms(4),
        ..defaults
    }
}

impl Simulated {
    pub fn new(settings: &Settings) -> Self {
        let (host, peer) = (HostId(0), HostId(1));
        Self {
            now: Time::ZERO,
            endpoint: Endpoint::new(host, config(settings)).expect("valid parameters"),
            id: None,
            tuple: FiveTuple {
                src: host,
                dst: peer,
                src_port: 80,
                dst_port: 40_000,
                ..FiveTuple::default()
            },
            peer_next: 0,
            sent: Vec::new(),
            firsts: BTreeMap::new(),
            latest: Stamp::NONE,
            capable: None,
        }
    }

    /// Polls all events and segments that are available now.
    fn drain(&mut self) {
        loop {
            while let Some(event) = self.endpoint.poll_event() {
                if let ConnectionEvent::Accepted { id, .. } = event {
                    self.id = Some(id);
                }
            }
            let Some(segment) = self.endpoint.poll_transmit(self.now) else {
                return;
            };
            if let Header::Tcp(header) = &segment.header {
                if segment.payload > 0 {
                    self.capable = Some(segment.ecn == Ecn::Capable);
                }
                self.latest = header.stamps.stamp();
                self.firsts
                    .entry(header.offset)
                    .or_insert(header.stamps.stamp());
                self.sent.push(sent(&segment, header));
            }
        }
    }

    /// Runs the timers up to `until`, or up to the first segment that leaves.
    fn run(&mut self, until: Time) {
        while let Some(at) = self.endpoint.next_timeout().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.endpoint.on_timeout(self.now);
            self.drain();
            if !self.sent.is_empty() {
                return;
            }
        }
        self.now = until;
    }

    fn receive(&mut self, header: TcpHeader, payload: u32, ecn: Ecn) {
        let header = Header::Tcp(header);
        let segment = Segment {
            ecn,
            ..Segment::new(self.tuple.reversed(), FlowId(1), payload, header)
        };
        self.endpoint.on_segment(self.now, &segment);
        self.drain();
    }

    fn receive_flags(&mut self, flags: TcpFlags) {
        let header = TcpHeader {
            flags,
            offset: self.peer_next,
            ..TcpHeader::default()
        };
        self.receive(header, 0, Ecn::NotCapable);
    }

    fn connect(&mut self) {
        let opened = self
            .endpoint
            .connect(self.now, self.tuple, FlowId(1), PathPin::NONE);
        self.id = Some(opened.expect("no other connection"));
        self.drain();
    }

    fn shake_hands(&mut self, opener: Side, rtt: Elapsed, ecn: bool) {
        match opener {
            Side::Peer if ecn => self.receive_flags(TcpFlags::SYN.with(ECN_SETUP)),
            Side::Peer => self.receive_flags(TcpFlags::SYN),
            Side::Own => self.connect(),
        }
        self.now += duration(rtt);
        let answer = TcpFlags::SYN.with(TcpFlags::ACK);
        self.receive_flags(match opener {
            Side::Peer => TcpFlags::ACK,
            Side::Own if ecn => answer.with(TcpFlags::ECE),
            Side::Own => answer,
        });
        self.sent.clear();
    }

    fn on_peer(&mut self, input: &Input) -> Result<(), String> {
        let mut header = TcpHeader {
            flags: TcpFlags::ACK,
            offset: self.peer_next,
            ..TcpHeader::default()
        };
        let mut set = |flag: TcpFlags, wanted: bool| {
            if wanted {
                header.flags = header.flags.with(flag);
            }
        };
        match input {
            Input::Ack {
                ack,
                sack,
                ece,
                fin,
                echo,
            } => {
                let echo = match echo {
                    Some(offset) => *self.firsts.get(offset).ok_or("no segment starts there")?,
                    None => self.latest,
                };
                header.stamps = Stamps::new(Stamp::at(self.now), echo);
                set(TcpFlags::ECE, *ece);
                set(TcpFlags::FIN, *fin);
                header.ack = *ack;
                for (place, (start, end)) in header.sack.iter_mut().zip(sack) {
                    // The numbers of a block below the ACK (DSACK) wrap around.
                    *place = SackBlock {
                        start: start.wrapping_sub(*ack) as u32,
                        end: end.wrapping_sub(*ack) as u32,
                    };
                }
                self.peer_next += u64::from(*fin);
                self.receive(header, 0, Ecn::NotCapable);
            }
            Input::Data {
                bytes: (start, end),
                ack,
                marked,
                capable,
                cwr,
                fin,
            } => {
                set(TcpFlags::CWR, *cwr);
                set(TcpFlags::FIN, *fin);
                (header.offset, header.ack) = (*start, *ack);
                self.peer_next = self.peer_next.max(end + u64::from(*fin));
                let ecn = match (marked, capable) {
                    (true, _) => Ecn::Marked,
                    (_, true) => Ecn::Capable,
                    _ => Ecn::NotCapable,
                };
                self.receive(header, (end - start) as u32, ecn);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Machine for Simulated {
    fn apply(&mut self, input: &Input) -> Result<(), String> {
        match input {
            Input::Handshake { opener, rtt, ecn } => self.shake_hands(*opener, *rtt, *ecn),
            Input::Connect => self.connect(),
            Input::Syn => self.receive_flags(TcpFlags::SYN),
            Input::SynAck => self.receive_flags(TcpFlags::SYN.with(TcpFlags::ACK)),
            Input::Reset => self.receive_flags(TcpFlags::RST),
            Input::Ack { .. } | Input::Data { .. } => return self.on_peer(input),
            Input::Write(_) | Input::Close | Input::Abort => {
                let id = self.id.ok_or("there is no connection")?;
                match input {
                    Input::Write(bytes) => self.endpoint.write(self.now, id, *bytes),
                    Input::Close => self.endpoint.finish(self.now, id),
                    _ => drop(self.endpoint.reset(self.now, id)),
                }
                self.drain();
            }
        }
        Ok(())
    }

    fn answers(&mut self, _are_all: &dyn Fn(&[Sent]) -> bool) -> Vec<Sent> {
        std::mem::take(&mut self.sent)
    }

    fn pass(&mut self, delay: Elapsed) -> Option<Elapsed> {
        let start = self.now;
        self.run(start + duration(delay));
        let passed = Elapsed::from_nanos(self.now.since(start).as_ps() / 1_000);
        (!self.sent.is_empty()).then_some(passed)
    }

    fn state(&mut self) -> State {
        let window = self.id.and_then(|id| self.endpoint.window(id));
        let times = self.id.and_then(|id| self.endpoint.rtt(id));
        let controller = self.id.and_then(|id| self.endpoint.controller(id));
        State {
            window: window.map(|window| window.cwnd),
            threshold: window.map(|window| window.ssthresh),
            timeout: times.map(|(_, rto)| Elapsed::from_nanos(rto.as_ps() / 1_000)),
            alpha: match controller {
                Some(Controller::Dctcp(dctcp)) => Some(dctcp.alpha()),
                _ => None,
            },
            capable: self.capable,
        }
    }
}

fn duration(time: Elapsed) -> Duration {
    Duration::from_ns(time.as_nanos() as u64)
}

/// Returns a segment in the form that the notation uses.
fn sent(segment: &Segment, header: &TcpHeader) -> Sent {
    let flags = header.flags;
    let fin = flags.has(TcpFlags::FIN);
    if flags.has(TcpFlags::RST) {
        Sent::Reset
    } else if flags.has(TcpFlags::SYN.with(TcpFlags::ACK)) {
        Sent::SynAck {
            ecn: flags.has(TcpFlags::ECE),
        }
    } else if flags.has(TcpFlags::SYN) {
        Sent::Syn {
            ecn: flags.has(ECN_SETUP),
        }
    } else if segment.payload > 0 {
        Sent::Data {
            bytes: (header.offset, header.offset + u64::from(segment.payload)),
            cwr: flags.has(TcpFlags::CWR),
            fin,
        }
    } else if fin {
        Sent::Fin(header.offset)
    } else {
        let blocks = header.sack.iter().filter(|block| block.start != block.end);
        Sent::Ack {
            ack: header.ack,
            sack: blocks.map(|block| absolute(block, header.ack)).collect(),
            ece: flags.has(TcpFlags::ECE),
        }
    }
}

/// Returns the offsets of a SACK block, which may be below the ACK.
fn absolute(block: &SackBlock, ack: u64) -> Block {
    let offset = |relative: u32| ack.wrapping_add_signed(i64::from(relative as i32));
    (offset(block.start), offset(block.end))
}
