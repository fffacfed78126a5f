//! The kernel's TCP, driven by the player of cases.

use crate::cases::parse::{Block, Controller, Input, Sent, Settings, Side};
use crate::cases::play::{Machine, State};
use crate::device::{Device, OWN, PEER};
use crate::packet::{self, Arrival};
use etherparse::{IpEcn, TcpHeader, TcpOptionElement};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, sockopt,
};
use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// Maximum time to wait for an answer to an input.
/// The kernel answers before it accepts the next packet, so the wait is only this long if an answer is missing.
const PATIENCE: Duration = Duration::from_millis(10);
/// First sequence number of the peer.
const PEER_START: u32 = 5_000_000;
/// Size of the program's send buffer in bytes: data that is written but not yet transmitted.
const SEND_BUFFER: usize = 8 << 20;
const WINDOW: u16 = u16::MAX;
const WINDOW_SCALE: u8 = 7;
/// Bytes that the timestamp option occupies in each segment.
const TIMESTAMP_BYTES: u64 = 12;

/// Connection between the kernel and a peer that the case plays.
pub struct Kernel<'a> {
    device: &'a Device,
    settings: Settings,
    ports: (u16, u16),
    listener: Option<OwnedFd>,
    stream: Option<OwnedFd>,
    /// First sequence number of the kernel; `None` before its SYN.
    start: Option<u32>,
    /// Offset of the peer's next byte.
    peer_next: u64,
    /// Start time of the current step.
    step: Instant,
    /// Longest delay of an input after its planned time.
    lateness: Duration,
    /// Whether an answer was missing.
    /// After a missing answer, the lateness of inputs is not recorded, because the wait for the answer caused it.
    is_missing: bool,
    birth: Instant,
    sent: Vec<Sent>,
    capable: Option<bool>,
    /// Timestamp of the latest packet of the kernel.
    /// `firsts` contains the timestamp of the first transmission from each offset.
    latest: u32,
    firsts: BTreeMap<u64, u32>,
}

impl<'a> Kernel<'a> {
    pub fn new(device: &'a Device, settings: &Settings) -> Result<Self, String> {
        if settings.controller == Controller::Dctcp {
            return Err("this kernel has no DCTCP".to_owned());
        }
        static NEXT_PORT: AtomicU16 = AtomicU16::new(20_000);
        let port = NEXT_PORT.fetch_add(1, Ordering::Relaxed);
        for (name, value) in [
            (
                "tcp_slow_start_after_idle",
                u8::from(settings.restart_after_idle),
            ),
            ("tcp_early_retrans", if settings.probes { 3 } else { 0 }),
            ("tcp_frto", if settings.frto { 2 } else { 0 }),
            ("tcp_sack", 1),
            ("tcp_dsack", 1),
            ("tcp_recovery", 1),
            ("tcp_timestamps", 1),
            ("tcp_ecn", u8::from(settings.ecn)),
            // A new connection must not use metrics of earlier connections.
            ("tcp_no_metrics_save", 1),
            // Each segment leaves immediately. No segment waits for further segments.
            ("tcp_tso_win_divisor", 100),
        ] {
            let path = format!("/proc/sys/net/ipv4/{name}");
            std::fs::write(&path, value.to_string()).map_err(|error| format!("{path}: {error}"))?;
        }
        let now = Instant::now();
        Ok(Self {
            device,
            settings: *settings,
            ports: (port, port + 20_000),
            listener: None,
            stream: None,
            start: None,
            peer_next: 0,
            step: now,
            lateness: Duration::ZERO,
            is_missing: false,
            birth: now,
            sent: Vec::new(),
            capable: None,
            latest: 0,
            firsts: BTreeMap::new(),
        })
    }

    /// Returns the longest delay of an input after its planned time. A late input can change the answers.
    pub const fn lateness(&self) -> Duration {
        self.lateness
    }

    fn note_lateness(&mut self, due: Instant) {
        if !self.is_missing {
            self.lateness = self.lateness.max(due.elapsed());
        }
    }

    /// Reads the packets that the kernel sends, until a packet belongs to the connection or the time is `until`.
    /// Returns whether a packet belonged to the connection.
    fn read(&mut self, until: Instant) -> bool {
        let mut buffer = [0; 1 << 16];
        while let Some(length) = self.device.receive(&mut buffer, until) {
            let arrival = packet::read(buffer.get(..length).unwrap_or_default());
            if let Some(arrival) = arrival {
                let header = &arrival.header;
                if (header.source_port, header.destination_port) == self.ports {
                    self.note(&arrival);
                    return true;
                }
            }
        }
        false
    }

    fn note(&mut self, arrival: &Arrival) {
        let header = &arrival.header;
        if header.syn {
            self.start = Some(header.sequence_number.wrapping_add(1));
        }
        let start = self.start.unwrap_or_default();
        let offset = u64::from(header.sequence_number.wrapping_sub(start));
        let received = |number: u32| u64::from(number.wrapping_sub(PEER_START + 1));
        let mut sack = Vec::new();
        for option in header.options_iterator().map_while(Result::ok) {
            match option {
                TcpOptionElement::Timestamp(value, _) => {
                    self.latest = value;
                    if arrival.payload > 0 {
                        self.firsts.entry(offset).or_insert(value);
                    }
                }
                TcpOptionElement::SelectiveAcknowledgement(first, others) => {
                    let blocks = std::iter::once(first).chain(others.into_iter().flatten());
                    // Without timestamps, the kernel has space for a fourth SACK block.
                    let blocks = blocks.map(|(start, end)| (received(start), received(end)));
                    sack.extend(blocks.take(3));
                }
                _ => {}
            }
        }
        if arrival.payload > 0 {
            self.capable = Some(arrival.capable);
        }
        self.sent.push(if header.rst {
            Sent::Reset
        } else if header.syn && header.ack {
            Sent::SynAck { ecn: header.ece }
        } else if header.syn {
            Sent::Syn {
                ecn: header.ece && header.cwr,
            }
        } else if arrival.payload > 0 {
            Sent::Data {
                bytes: (offset, offset + u64::from(arrival.payload)),
                cwr: header.cwr,
                fin: header.fin,
            }
        } else if header.fin {
            Sent::Fin(offset)
        } else {
            Sent::Ack {
                ack: received(header.acknowledgment_number),
                sack,
                ece: header.ece,
            }
        });
    }

    // Functions of the peer.

    /// Returns the header of the peer's segment at `offset`.
    fn header(&self, offset: u64) -> TcpHeader {
        let number = (PEER_START + 1).wrapping_add(offset as u32);
        TcpHeader::new(self.ports.1, self.ports.0, number, WINDOW)
    }

    fn send(
        &self,
        header: TcpHeader,
        mut options: Vec<TcpOptionElement>,
        echo: u32,
        payload: &[u8],
        ecn: IpEcn,
    ) -> Result<(), String> {
        if self.settings.timestamps {
            let now = self.birth.elapsed().as_millis() as u32;
            options.push(TcpOptionElement::Timestamp(1_000 + now, echo));
        }
        let packet = packet::write(header, &options, payload, ecn)?;
        self.device.send(&packet)
    }

    /// Sends the SYN if the peer opens the connection. Sends the SYN-ACK if the kernel opens the connection.
    fn send_syn(&self, opener: Side, ecn: bool) -> Result<(), String> {
        let mut header = self.header(0);
        header.sequence_number = PEER_START;
        header.syn = true;
        match opener {
            Side::Peer => (header.ece, header.cwr) = (ecn, ecn),
            Side::Own => {
                let start = self.start.ok_or("the kernel sent no SYN")?;
                (header.ack, header.acknowledgment_number) = (true, start);
                header.ece = ecn;
            }
        }
        let taken = if self.settings.timestamps {
            TIMESTAMP_BYTES
        } else {
            0
        };
        let mut options = vec![
            TcpOptionElement::MaximumSegmentSize((self.settings.mss + taken) as u16),
            TcpOptionElement::WindowScale(WINDOW_SCALE),
        ];
        if self.settings.sack {
            options.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
        }
        self.send(header, options, self.latest, &[], IpEcn::ZERO)
    }

    fn send_ack(&mut self, input: &Input) -> Result<(), String> {
        let start = self.start.unwrap_or(1);
        let number = |offset: u64| start.wrapping_add(offset as u32);
        let Input::Ack {
            ack,
            sack,
            ece,
            fin,
            echo,
        } = input
        else {
            return Ok(());
        };
        let mut header = self.header(self.peer_next);
        (header.ack, header.acknowledgment_number) = (true, number(*ack));
        (header.ece, header.fin) = (*ece, *fin);
        let block = |(start, end): &Block| (number(*start), number(*end));
        let mut options = Vec::new();
        if let Some((first, others)) = sack.split_first() {
            let mut places = [None; 3];
            for (place, other) in places.iter_mut().zip(others) {
                *place = Some(block(other));
            }
            options.push(TcpOptionElement::SelectiveAcknowledgement(
                block(first),
                places,
            ));
        }
        let echo = match echo {
            Some(offset) => *self.firsts.get(offset).ok_or("no segment starts there")?,
            None => self.latest,
        };
        self.peer_next += u64::from(*fin);
        self.send(header, options, echo, &[], IpEcn::ZERO)
    }

    fn send_data(&mut self, input: &Input) -> Result<(), String> {
        let Input::Data {
            bytes: (first, end),
            ack,
            marked,
            capable,
            cwr,
            fin,
        } = input
        else {
            return Ok(());
        };
        let mut header = self.header(*first);
        let acknowledged = self.start.unwrap_or(1).wrapping_add(*ack as u32);
        (header.ack, header.acknowledgment_number) = (true, acknowledged);
        (header.cwr, header.fin) = (*cwr, *fin);
        let ecn = match (marked, capable) {
            (true, _) => IpEcn::THREE,
            (_, true) => IpEcn::TWO,
            _ => IpEcn::ZERO,
        };
        self.peer_next = self.peer_next.max(end + u64::from(*fin));
        let payload = vec![b'x'; (end - first) as usize];
        self.send(header, Vec::new(), self.latest, &payload, ecn)
    }

    // Functions of the program on the kernel's side.

    fn socket(&self) -> rustix::io::Result<OwnedFd> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket =
            rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        sockopt::set_socket_send_buffer_size_force(&socket, SEND_BUFFER)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        let name = match self.settings.controller {
            Controller::Cubic => "cubic",
            _ => "reno",
        };
        sockopt::set_tcp_congestion(&socket, name)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(OWN, self.ports.0))?;
        Ok(socket)
    }

    fn listen(&mut self) -> Result<(), String> {
        if self.listener.is_none() {
            let socket = self.socket();
            let listening = socket.and_then(|socket| {
                rustix::net::listen(&socket, 5)?;
                Ok(socket)
            });
            self.listener = Some(listening.map_err(|error| format!("cannot listen ({error})"))?);
        }
        Ok(())
    }

    fn connect(&mut self) -> Result<(), String> {
        let socket = self
            .socket()
            .map_err(|error| format!("no socket ({error})"))?;
        match rustix::net::connect(&socket, &SocketAddrV4::new(PEER, self.ports.1)) {
            Ok(()) | Err(Errno::INPROGRESS) => self.stream = Some(socket),
            Err(error) => return Err(format!("cannot connect ({error})")),
        }
        Ok(())
    }

    /// Runs the program once: it accepts a connection with a complete handshake, and reads all available data.
    fn run_program(&mut self) {
        if let (None, Some(listener)) = (&self.stream, &self.listener)
            && let Ok(stream) = rustix::net::accept(listener)
        {
            self.stream = Some(stream);
        }
        let mut buffer = [0; 1 << 16];
        if let Some(stream) = &self.stream {
            let flags = RecvFlags::DONTWAIT;
            while rustix::net::recv(stream, &mut buffer, flags).is_ok_and(|(_, length)| length > 0)
            {
            }
        }
    }

    fn write(&self, bytes: u64) -> Result<(), String> {
        let stream = self.stream.as_ref().ok_or("there is no connection")?;
        let sent = rustix::net::send(stream, &vec![b'x'; bytes as usize], SendFlags::DONTWAIT);
        match sent {
            Ok(length) if length as u64 == bytes => Ok(()),
            Ok(length) => Err(format!("the kernel accepted {length} of {bytes} bytes")),
            Err(error) => Err(format!("cannot write ({error})")),
        }
    }

    fn shake_hands(&mut self, opener: Side, rtt: Duration, ecn: bool) -> Result<(), String> {
        match opener {
            Side::Peer => {
                self.listen()?;
                self.send_syn(opener, ecn)?;
            }
            Side::Own => self.connect()?,
        }
        let due = Instant::now() + rtt;
        while self.read(due) {}
        self.note_lateness(due);
        if self.start.is_none() {
            return Err("the kernel sent neither SYN nor SYN-ACK".to_owned());
        }
        match opener {
            Side::Peer => self.send_ack(&Input::Ack {
                ack: 0,
                sack: Vec::new(),
                ece: false,
                fin: false,
                echo: None,
            })?,
            Side::Own => self.send_syn(opener, ecn)?,
        }
        self.run_program();
        while self.read(Instant::now()) {}
        self.sent.clear();
        Ok(())
    }
}

impl Machine for Kernel<'_> {
    fn apply(&mut self, input: &Input) -> Result<(), String> {
        self.note_lateness(self.step);
        self.step = Instant::now();
        match input {
            Input::Handshake { opener, rtt, ecn } => {
                self.shake_hands(*opener, *rtt, *ecn)?;
                self.step = Instant::now();
            }
            Input::Connect => self.connect()?,
            Input::Syn => {
                self.listen()?;
                self.send_syn(Side::Peer, false)?;
            }
            Input::SynAck => self.send_syn(Side::Own, false)?,
            Input::Reset => {
                let mut header = self.header(self.peer_next);
                header.rst = true;
                self.send(header, Vec::new(), self.latest, &[], IpEcn::ZERO)?;
            }
            Input::Ack { .. } => self.send_ack(input)?,
            Input::Data { .. } => self.send_data(input)?,
            Input::Write(bytes) => self.write(*bytes)?,
            Input::Close => {
                let stream = self.stream.as_ref().ok_or("there is no connection")?;
                let ended = rustix::net::shutdown(stream, Shutdown::Write);
                ended.map_err(|error| format!("cannot close ({error})"))?;
            }
            Input::Abort => abort(self.stream.take()),
        }
        self.run_program();
        Ok(())
    }

    fn answers(&mut self, are_all: &dyn Fn(&[Sent]) -> bool) -> Vec<Sent> {
        let until = Instant::now() + PATIENCE;
        while self.read(Instant::now()) {}
        while !are_all(&self.sent) {
            if !self.read(until) {
                self.is_missing = true;
                break;
            }
        }
        std::mem::take(&mut self.sent)
    }

    fn pass(&mut self, delay: Duration) -> Option<Duration> {
        let due = self.step + delay;
        let is_sent = self.read(due);
        let now = if is_sent { Instant::now() } else { due };
        let passed = now.saturating_duration_since(self.step);
        self.step = now;
        is_sent.then_some(passed)
    }

    fn state(&mut self) -> State {
        let Some(info) = self.stream.as_ref().and_then(tcp_info) else {
            return State::default();
        };
        let segments = |count: u32| u64::from(count) * self.settings.mss;
        let is_set = info.tcpi_snd_ssthresh < i32::MAX as u32;
        State {
            window: Some(segments(info.tcpi_snd_cwnd)),
            threshold: Some(if is_set {
                segments(info.tcpi_snd_ssthresh)
            } else {
                u64::MAX
            }),
            timeout: Some(Duration::from_micros(info.tcpi_rto.into())),
            alpha: None,
            capable: self.capable,
        }
    }
}

impl Drop for Kernel<'_> {
    fn drop(&mut self) {
        abort(self.stream.take());
    }
}

/// Closes a connection with a RST, so that the kernel keeps no state of it.
fn abort(stream: Option<OwnedFd>) {
    if let Some(stream) = stream {
        // The error is ignored: without the option, the connection ends normally, only later.
        let _ = sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
    }
}

fn tcp_info(stream: &OwnedFd) -> Option<libc::tcp_info> {
    // SAFETY: the structure consists of numbers, for which zero is valid.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: `info` is writable for `length` bytes, and the kernel does not write more.
    // `info` and `length` live through the call, and the kernel keeps no pointer to them.
    let answer = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    (answer == 0).then_some(info)
}
