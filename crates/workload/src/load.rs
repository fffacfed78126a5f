//! What a load of 0.5 means: which capacity it is a fraction of, and in which bytes.

use crate::error::Error;
use crate::sizes::SizeDistribution;
use alloc::format;
use alloc::string::ToString;
use tailcut_units::Rate;

/// What one packet costs on the wire beside its payload.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Framing {
    /// Most payload bytes a packet (the MSS), above zero.
    pub payload: u32,
    /// Header bytes a packet, all layers, with the frame check sequence.
    pub header: u32,
    /// Preamble and inter-frame gap, in bytes of line time a packet.
    pub preamble_and_gap: u32,
    /// Bytes of the smallest frame, header included and preamble and gap not: a smaller one is padded. 0:
    /// none is. 64 on Ethernet.
    pub min_frame: u32,
}

impl Framing {
    /// Ethernet with TCP over IPv4 and no options: 1460 + 58 + 20 = 1538 bytes of line time for a
    /// full packet (IEEE 802.3: 14 header, 4 check sequence, 8 preamble, 12 gap; 20 IPv4, 20 TCP).
    pub const ETHERNET_TCP: Self = Self {
        payload: 1460,
        header: 58,
        preamble_and_gap: 20,
        min_frame: 0,
    };

    /// Bytes of line time that a packet with `payload` takes.
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

    /// The mean bytes of line time that a flow takes: `E[S]` + `E[ceil(S / payload)]` (header +
    /// preamble and gap). Handshake, ACKs, retransmissions and the padding of small frames come on top.
    pub fn mean_wire_bytes(&self, sizes: &SizeDistribution) -> f64 {
        let overhead = f64::from(self.header) + f64::from(self.preamble_and_gap);
        sizes.mean() + sizes.mean_packets(self.payload) * overhead
    }
}

/// The capacity that a load is a fraction of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reference {
    /// The links of all sending hosts together.
    HostLinks {
        /// The rate of one host's link.
        rate: Rate,
        /// How many hosts send.
        senders: u32,
    },
    /// A cut of the network that part of the traffic crosses: the uplinks of the racks, the
    /// bisection, one receiver's link.
    Bottleneck {
        /// The sum of the rates of the cut's links, in the direction that counts.
        rate: Rate,
        /// The expected share of all bytes that crosses the cut in that direction, above 0 to 1.
        crossing: f64,
    },
}

/// In which bytes the load is counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Counted {
    /// Payload only, as most papers do: the links are then busier than the load says.
    Payload,
    /// Bytes of line time, with headers, preamble and gap.
    Wire(Framing),
}

/// An offered load and what it refers to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// The fraction of the capacity; above 1 is an overload, which is allowed.
    pub fraction: f64,
    /// The capacity.
    pub of: Reference,
    /// The bytes.
    pub counted: Counted,
}

impl Load {
    /// The flows a second, of all senders together, that offer this load with flows of these sizes:
    ///
    /// lambda = fraction C / (8 crossing `E[bytes a flow]`)
    ///
    /// where C is `rate senders` with crossing 1 for [`Reference::HostLinks`] and `rate` for
    /// [`Reference::Bottleneck`], and E is the mean of the distribution that is sampled, that is,
    /// of the interpolated one. Fan-in adds to it: see [`crate::FanIn::load_factor`].
    ///
    /// # Errors
    /// [`Error::OutOfRange`] when the fraction is not a finite number above zero, when nothing
    /// crosses the bottleneck or when there are no senders.
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
            Reference::HostLinks { senders: 0, .. } => {
                return wrong("senders", "0".to_string(), "at least one");
            }
            Reference::HostLinks { rate, senders } => {
                rate.as_bps() as f64 * f64::from(senders) / 8.0
            }
            Reference::Bottleneck { rate, crossing } if crossing > 0.0 && crossing <= 1.0 => {
                rate.as_bps() as f64 / (8.0 * crossing)
            }
            Reference::Bottleneck { crossing, .. } => {
                return wrong(
                    "share of bytes that cross the bottleneck",
                    format!("{crossing}"),
                    "above 0, at most 1",
                );
            }
        };
        let bytes_per_flow = match self.counted {
            Counted::Payload => sizes.mean(),
            Counted::Wire(framing) => framing.mean_wire_bytes(sizes),
        };
        Ok(self.fraction * bytes_per_second / bytes_per_flow)
    }
}
