//! Which datagrams the lab's switches may trim, and the code points that stand for that.

use super::ingress::line_time;
use anyhow::{Result, bail};
use tailcut_wire::foreign::Trimmable;

/// Bytes of payload that stay of a datagram whose header is none of ours.
pub const TRIMMED_PAYLOAD: usize = 64;

/// The code points (RFC 2474) that have to do with trimming. The specification of Ultra Ethernet names them
/// and leaves their values to operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrimCodes {
    /// Datagrams of any program that switches may trim (DSCP_TRIMMABLE).
    pub trimmable: u8,
    /// What switches give a datagram that they have trimmed (DSCP_TRIMMED); `None`: it keeps its own.
    pub trimmed: Option<u8>,
    /// Packets of the highest class (DSCP_CONTROL), beside those whose own code point says so.
    pub control: Option<u8>,
    /// Whether switches know the headers of SCDP: its symbols may be trimmed whatever their code points, and
    /// have the priority class that their headers say.
    pub knows_scdp: bool,
}

impl Default for TrimCodes {
    fn default() -> Self {
        Self {
            // One of those for local use (RFC 2474, pool 2).
            trimmable: 11,
            trimmed: None,
            control: None,
            knows_scdp: false,
        }
    }
}

impl TrimCodes {
    /// Checks that every code point has six bits, and that none stands for two things.
    ///
    /// # Errors
    /// The first that is wrong, with what is allowed.
    pub fn validate(&self) -> Result<()> {
        let codes = [
            ("--dscp-trimmable", Some(self.trimmable)),
            ("--dscp-trimmed", self.trimmed),
            ("--dscp-control", self.control),
        ];
        for (place, (flag, code)) in codes.iter().enumerate() {
            let Some(code) = code else { continue };
            if *code > 63 {
                bail!("{flag}: found {code}; allowed: 0 to 63");
            }
            let twice = codes
                .iter()
                .take(place)
                .find(|(_, other)| *other == Some(*code));
            if let Some((other, _)) = twice {
                bail!("{flag}: found {code}, as {other} has it; allowed: any other, 0 to 63");
            }
        }
        Ok(())
    }

    /// What a switch leaves of a frame of `size` bytes with this payload of UDP, in line time and with the
    /// class that the payload says; `None`: it may not be trimmed.
    pub fn cut(&self, size: usize, payload: &[u8], dscp: u8) -> Option<Cut> {
        let ours = match self.knows_scdp || dscp == self.trimmable {
            true => Trimmable::of(payload),
            false => None,
        };
        let (kept, class) = match ours {
            Some(ours) => (ours.kept, self.knows_scdp.then_some(ours.class)),
            None if dscp == self.trimmable && payload.len() > TRIMMED_PAYLOAD => {
                (TRIMMED_PAYLOAD, None)
            }
            None => return None,
        };
        let left = line_time(size - payload.len() + kept);
        let trimmed_size = u16::try_from(left).ok()?;
        Some(Cut {
            trimmed_size,
            class,
        })
    }
}

/// What is left of a datagram that is trimmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// Bytes of line time.
    pub trimmed_size: u16,
    /// The priority class of the datagram, where its header says it.
    pub class: Option<u8>,
}
