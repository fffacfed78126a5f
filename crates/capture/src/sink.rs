//! Capture file with a limited size.

use std::collections::HashSet;
use std::io::{self, Write};
use tailcut_units::{FlowId, Time};
use tailcut_wire::capture::{Frame, FrameError, Interface, Note, PcapNg};

/// Limits of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Largest size of the file in bytes.
    pub bytes: u64,
    /// Largest number of captured flows. The flows that reach the capture first are captured. `None` means all flows.
    pub flows: Option<u64>,
}

/// Numbers of packets that a capture contains, and of packets that it left out.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Captured {
    /// Number of packets in the file.
    pub packets: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Number of packets that are missing because the file was full.
    pub too_late: u64,
    /// Time of the first packet that is missing because the file was full. `None`: the file was never full.
    pub full_at: Option<Time>,
    /// Number of packets that are missing because the limit of flows was reached.
    pub of_other_flows: u64,
    /// Number of packets that are missing because no frame can represent them.
    pub without_frame: u64,
    /// Reason why the first packet of `without_frame` has no frame.
    pub why: Option<FrameError>,
}

impl Captured {
    /// Returns one sentence for each reason why packets are missing.
    /// If a limit is the reason, the sentence names the flag of `tailcut run` that sets the limit.
    pub fn omissions(&self) -> Vec<String> {
        let mut omissions = Vec::new();
        if let Some(at) = self.full_at {
            omissions.push(format!(
                "full at {:.3} ms of simulated time; {} later packets are omitted \
                 (--capture-bytes)",
                at.as_secs_f64() * 1e3,
                self.too_late
            ));
        }
        if self.of_other_flows > 0 {
            omissions.push(format!(
                "{} packets of other flows are omitted (--capture-flows)",
                self.of_other_flows
            ));
        }
        if let Some(why) = self.why {
            omissions.push(format!(
                "{} packets that do not fit in a frame are omitted; the first: {why}",
                self.without_frame
            ));
        }
        omissions
    }
}

/// Writer of the capture file. The caller must pass the frames in order of time.
pub(crate) struct Sink<W> {
    out: W,
    file: PcapNg,
    limits: Limits,
    flows: HashSet<FlowId>,
    captured: Captured,
    failed: Option<io::Error>,
}

impl<W: Write> Sink<W> {
    pub fn new(out: W, limits: Limits) -> Self {
        Self {
            out,
            file: PcapNg::new("tailcut"),
            limits,
            flows: HashSet::new(),
            captured: Captured::default(),
            failed: None,
        }
    }

    /// Writes the interfaces that the caller has added, even if they exceed the limit of bytes.
    pub fn begin(&mut self) {
        let new = self.file.take();
        self.write(&new);
    }

    /// Adds an interface. The file contains it before the next frame.
    pub fn interface(&mut self, name: &str, snap: u32, rate_bps: u64) -> Interface {
        self.file.interface(name, snap, Some(rate_bps))
    }

    /// Returns whether the file accepts a packet of `flow` at time `at`. If not, the packet is counted as left out.
    pub fn takes(&mut self, at: Time, flow: FlowId) -> bool {
        if self.captured.full_at.is_some() {
            self.too_late(at);
            return false;
        }
        let Some(most) = self.limits.flows else {
            return true;
        };
        if !self.flows.contains(&flow) {
            if self.flows.len() as u64 >= most {
                self.captured.of_other_flows += 1;
                return false;
            }
            self.flows.insert(flow);
        }
        true
    }

    pub fn put(&mut self, at: Time, interface: Interface, frame: &Frame, note: &Note<'_>) {
        self.file.packet(interface, at, frame, note);
        let new = self.file.take();
        // The packet is written completely or not at all, so that the file never ends within a frame.
        if self.captured.bytes + new.len() as u64 > self.limits.bytes {
            self.too_late(at);
        } else {
            self.captured.packets += 1;
            self.write(&new);
        }
    }

    pub fn has_no_frame(&mut self, why: FrameError) {
        self.captured.without_frame += 1;
        self.captured.why.get_or_insert(why);
    }

    fn too_late(&mut self, at: Time) {
        self.captured.too_late += 1;
        self.captured.full_at.get_or_insert(at);
    }

    /// Writes `new` to the output. After an error, the sink writes nothing more, and `finish` reports the error.
    fn write(&mut self, new: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(new).err();
            self.captured.bytes += new.len() as u64;
        }
    }

    /// Ends the file and returns the output.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(self) -> io::Result<(W, Captured)> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok((self.out, self.captured)),
        }
    }
}
