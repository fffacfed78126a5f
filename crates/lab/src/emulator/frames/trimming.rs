//! Trimming rules of the lab's switches: which datagrams they may trim, and the DSCPs for trimming.

use super::ingress::line_time;
use anyhow::{Result, bail};
use tailcut_wire::foreign::Trimmable;

/// Payload that remains in a trimmed datagram, in bytes. SCDP has its own rule.
pub const TRIMMED_PAYLOAD: usize = 64;

/// DSCPs (RFC 2474) for trimming.
/// The Ultra Ethernet specification defines the names of the DSCPs, and leaves the values to operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrimCodes {
    /// DSCP of datagrams that switches may trim, for datagrams of any program (DSCP_TRIMMABLE).
    pub trimmable: u8,
    /// DSCP that switches set on a trimmed datagram (DSCP_TRIMMED); `None`: the DSCP does not change.
    pub trimmed: Option<u8>,
    /// Additional DSCP whose packets have the highest class (DSCP_CONTROL).
    pub control: Option<u8>,
    /// Whether switches read the headers of SCDP.
    /// If true, switches may trim SCDP symbols with any DSCP, and the SCDP header determines the priority class.
    pub knows_scdp: bool,
}

impl Default for TrimCodes {
    fn default() -> Self {
        Self {
            // DSCP for local use (RFC 2474, pool 2).
            trimmable: 11,
            trimmed: None,
            control: None,
            knows_scdp: false,
        }
    }
}

impl TrimCodes {
    /// Checks that every DSCP has at most six bits, and that all DSCPs differ.
    ///
    /// # Errors
    /// The first wrong DSCP, and the allowed values.
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
                bail!(
                    "{flag}: found {code}, which {other} also has; allowed: any other value, 0 to 63"
                );
            }
        }
        Ok(())
    }

    /// Returns the size and class that a frame has after trimming, or `None` if switches may not trim the frame.
    /// `size` is the length of the frame in bytes, and `payload` is its UDP payload.
    pub fn cut(&self, size: usize, payload: &[u8], dscp: u8) -> Option<TrimmedSize> {
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
        Some(TrimmedSize {
            trimmed_size,
            class,
        })
    }
}

/// Size and class of a datagram after trimming.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrimmedSize {
    /// Line time of the trimmed datagram in bytes.
    pub trimmed_size: u16,
    /// Priority class according to the datagram's header; `None` means that the DSCP determines the class.
    pub class: Option<u8>,
}
