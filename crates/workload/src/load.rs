//! Offered load: a fraction of a capacity. [`Load`] contains the capacity, and the unit in which bytes are counted.

use crate::error::Error;
use crate::sizes::SizeDistribution;
use alloc::format;
use alloc::string::ToString;
use tailcut_units::Rate;

/// Framing: bytes of line time that a packet needs in addition to its payload.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Framing {
    /// Largest payload of a packet in bytes (the MSS), above zero.
    pub payload: u32,
    /// Header bytes of a packet over all layers, including the frame check sequence.
    pub header: u32,
    /// Preamble and inter-frame gap of a packet, in bytes of line time.
    pub preamble_and_gap: u32,
    /// Size of the smallest frame in bytes, with header but without preamble and gap.
    /// Frames below the smallest size are padded. 64 on Ethernet, or 0 for no padding.
    pub min_frame: u32,
}

impl Framing {
    /// Ethernet with TCP over IPv4 without options. A full packet takes 1460 + 58 + 20 = 1538 bytes of line time.
    /// IEEE 802.3 adds 14 bytes for the header, 4 for the check sequence, 8 for the preamble and 12 for the gap.
    /// IPv4 and TCP add 20 bytes each.
    pub const ETHERNET_TCP: Self = Self {
        payload: 1460,
        header: 58,
        preamble_and_gap: 20,
        min_frame: 0,
    };

    /// Returns the bytes of line time of a packet with `payload` bytes.
    #[inline]
    pub const fn wire_bytes(&self, payload: u32) -> u32 {
        let frame = self.header + payload;
        let padded = if frame < self.min_frame {
            self.min_frame
        } else {
            frame
        };
        padded + self.preamble_and_gap
    }

    /// Returns the bytes of line time of a full packet in addition to its payload.
    pub const fn full_overhead(&self) -> u32 {
        self.wire_bytes(self.payload) - self.payload
    }

    /// Returns the mean bytes of line time of a flow: `E[S]` + `E[ceil(S / payload)]` (header + preamble and gap).
    /// The mean does not include the handshake, ACKs, retransmissions and the padding of small frames.
    pub fn mean_wire_bytes(&self, sizes: &SizeDistribution) -> f64 {
        let overhead = f64::from(self.header) + f64::from(self.preamble_and_gap);
        sizes.mean() + sizes.mean_packets(self.payload) * overhead
    }
}

/// Capacity to which a load refers. A load of 0.5 is half of this capacity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ReferenceCapacity {
    /// Sum of the link rates of all sending hosts.
    HostLinks {
        /// Rate of one host's link.
        rate: Rate,
        /// Number of sending hosts.
        senders: u32,
    },
    /// Rate of a cut of the network. A part of the traffic crosses the cut.
    /// Examples of a cut are the uplinks of the racks, the bisection, and the link of one receiver.
    Bottleneck {
        /// Sum of the rates of the cut's links in one direction.
        rate: Rate,
        /// Expected share of all bytes that cross the cut in this direction, above 0 and at most 1.
        crossing: f64,
    },
}

/// Bytes that are counted as load.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LoadUnit {
    /// Payload only, as in most papers.
    /// The utilisation of the links is higher than the load, because links also carry headers.
    Payload,
    /// Bytes of line time, with headers, preamble and gap.
    Wire(Framing),
}

/// Offered load with its reference capacity and its unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// Offered bytes per second as a fraction of the capacity. Values above 1 are an overload and are allowed.
    pub fraction: f64,
    /// Capacity to which the load refers.
    pub of: ReferenceCapacity,
    /// Bytes that are counted as load: payload, or all bytes of line time.
    pub unit: LoadUnit,
}

impl Load {
    /// Returns the number of flows per second, over all senders, that offers this load with flows of the given sizes:
    ///
    /// lambda = fraction * C / (8 * crossing * `E[bytes of a flow]`)
    ///
    /// For [`ReferenceCapacity::HostLinks`], C is `rate * senders`, and crossing is 1.
    /// For [`ReferenceCapacity::Bottleneck`], C is `rate`.
    /// E is the mean of the interpolated distribution from which sizes are drawn.
    /// The result does not include the additional flows of a fan-in (see [`crate::FanIn::load_factor`]).
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the fraction is not a finite number above zero.
    /// [`Error::OutOfRange`] also if nothing crosses the bottleneck, or if there are no senders.
    pub fn flows_per_second(&self, sizes: &SizeDistribution) -> Result<f64, Error> {
        let wrong = |parameter, found, allowed| {
            Err(Error::OutOfRange {
                parameter,
                found,
                allowed,
            })
        };
        if !(self.fraction > 0.0 && self.fraction.is_finite()) {
            return wrong("load", format!("{}", self.fraction), "a number above 0");
        }
        let bytes_per_second = match self.of {
            ReferenceCapacity::HostLinks { senders: 0, .. } => {
                return wrong("senders", "0".to_string(), "at least one");
            }
            ReferenceCapacity::HostLinks { rate, senders } => {
                rate.as_bps() as f64 * f64::from(senders) / 8.0
            }
            ReferenceCapacity::Bottleneck { rate, crossing }
                if crossing > 0.0 && crossing <= 1.0 =>
            {
                rate.as_bps() as f64 / (8.0 * crossing)
            }
            ReferenceCapacity::Bottleneck { crossing, .. } => {
                return wrong(
                    "share of bytes that cross the bottleneck",
                    format!("{crossing}"),
                    "above 0, at most 1",
                );
            }
        };
        let bytes_per_flow = match self.unit {
            LoadUnit::Payload => sizes.mean(),
            LoadUnit::Wire(framing) => framing.mean_wire_bytes(sizes),
        };
        Ok(self.fraction * bytes_per_second / bytes_per_flow)
    }
}
