//! One endpoint with a peer that the test plays segment by segment. Data is counted in segments of 1,000 B.

use tailcut_transport::tcp::congestion::Window;
use tailcut_transport::tcp::{ConnectionId, Endpoint, SackBlock, TcpConfig, TcpFlags, TcpHeader};
use tailcut_transport::{Ecn, Header, PathPin, Segment};
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Time};

pub const MSS: u64 = 1_000;

/// Segment as a tuple: ECN field, flags, first segment of the data, and payload.
pub type Sending = (Ecn, TcpFlags, u64, u32);

/// Endpoint with one connection, and a clock.
pub struct Script {
    pub end: Endpoint,
    pub id: ConnectionId,
    pub now: Time,
    /// Addresses and ports of the segments that the endpoint sends.
    tuple: FiveTuple,
}

impl Script {
    /// Opens a connection from the endpoint, with a round trip of 100 ms. The peer agrees to ECN.
    pub fn open(config: &TcpConfig) -> Self {
        let mut script = Self::connect(config);
        assert!(script.sent()[0].1.has(TcpFlags::SYN));
        script.wait(100);
        script.accept();
        script
    }

    /// Starts to open a connection. The SYN is not answered yet.
    pub fn connect(config: &TcpConfig) -> Self {
        let mut end = Endpoint::new(HostId(0), config.clone()).expect("a valid configuration");
        let tuple = FiveTuple {
            src: HostId(0),
            dst: HostId(1),
            src_port: 40_000,
            dst_port: 80,
            ..FiveTuple::default()
        };
        let opened = end.connect(Time::ZERO, tuple, FlowId(0), PathPin::NONE);
        Self {
            end,
            id: opened.expect("a free tuple"),
            now: Time::ZERO,
            tuple,
        }
    }

    /// The peer answers the SYN, and the endpoint sends its ACK.
    pub fn accept(&mut self) {
        let flags = TcpFlags::SYN.with(TcpFlags::ACK).with(TcpFlags::ECE);
        self.put(
            0,
            Ecn::NotCapable,
            TcpHeader {
                flags,
                ..TcpHeader::default()
            },
        );
        assert_eq!(self.sent().len(), 1);
    }

    /// Lets time pass, and runs all timers that are due.
    pub fn wait(&mut self, ms: u64) {
        let until = self.now + Duration::from_ms(ms);
        while let Some(at) = self.end.next_timeout().filter(|at| *at <= until) {
            self.now = at;
            self.end.on_timeout(at);
        }
        self.now = until;
    }

    /// Waits for the next timer. Returns the time for which it waited.
    pub fn timer(&mut self) -> Duration {
        let at = self.end.next_timeout().expect("a timer");
        let waited = at.since(self.now);
        self.now = at;
        self.end.on_timeout(at);
        waited
    }

    pub fn write(&mut self, segments: u64) {
        self.end.write(self.now, self.id, segments * MSS);
    }

    /// Returns all segments that may leave now.
    pub fn sent(&mut self) -> Vec<Sending> {
        let sent = core::iter::from_fn(|| self.end.poll_transmit(self.now));
        let fields = sent.map(|segment| {
            let Header::Tcp(header) = segment.header else {
                panic!("a segment of TCP");
            };
            (
                segment.ecn,
                header.flags,
                header.offset / MSS,
                segment.payload,
            )
        });
        fields.collect()
    }

    /// Returns, for each data segment that may leave now, its number.
    pub fn data(&mut self) -> Vec<u64> {
        let data = self.sent().into_iter().filter(|sent| sent.3 > 0);
        data.map(|(_, _, first, _)| first).collect()
    }

    fn put(&mut self, payload: u32, ecn: Ecn, header: TcpHeader) {
        let tuple = self.tuple.reversed();
        let mut segment = Segment::new(tuple, FlowId(0), payload, Header::Tcp(header));
        segment.ecn = ecn;
        self.end.on_segment(self.now, &segment);
    }

    /// The peer acknowledges `segments`.
    /// The ACK contains the SACK block `sack`, in absolute segments, and ECN-Echo if `marked`.
    pub fn ack_with(&mut self, segments: u64, sack: Option<(u64, u64)>, marked: bool) {
        let mut flags = TcpFlags::ACK;
        if marked {
            flags = flags.with(TcpFlags::ECE);
        }
        let mut header = TcpHeader {
            flags,
            ack: segments * MSS,
            ..TcpHeader::default()
        };
        if let Some((start, end)) = sack {
            let relative = |at: u64| ((at - segments) * MSS) as u32;
            header.sack[0] = SackBlock {
                start: relative(start),
                end: relative(end),
            };
        }
        self.put(0, Ecn::NotCapable, header);
    }

    pub fn ack(&mut self, segments: u64) {
        self.ack_with(segments, None, false);
    }

    /// The peer sends one segment of data. Returns whether the endpoint acknowledges it immediately.
    pub fn receive(&mut self, nth: u64, ecn: Ecn) -> bool {
        let header = TcpHeader {
            flags: TcpFlags::ACK,
            offset: nth * MSS,
            ack: self.end.acknowledged(self.id).expect("a connection"),
            ..TcpHeader::default()
        };
        self.put(MSS as u32, ecn, header);
        !self.sent().is_empty()
    }

    pub fn window(&self) -> Window {
        self.end.window(self.id).expect("a connection")
    }

    /// Returns the window in segments.
    pub fn cwnd(&self) -> u64 {
        self.window().cwnd / MSS
    }
}
