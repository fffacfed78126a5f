//! Header of a segment, by protocol.

use crate::ndp::NdpHeader;
use crate::pfabric::PFabricHeader;
use crate::scdp::{CreditHeader, ScdpHeader};
use crate::tcp::{TcpFlags, TcpHeader};

/// Header of one protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// TCP.
    Tcp(TcpHeader),
    /// NDP.
    Ndp(NdpHeader),
    /// SCDP.
    Scdp(ScdpHeader),
    /// SCDP: a pull from a receiver that grants credits.
    Credit(CreditHeader),
    /// pFabric.
    PFabric(PFabricHeader),
    /// Header of a custom transport: four 64-bit numbers whose meaning the transport defines.
    Own([u64; 4]),
}

impl Header {
    /// Returns whether the segment ends its connection immediately.
    #[inline]
    pub const fn is_reset(&self) -> bool {
        match self {
            Self::Tcp(header) => header.flags.has(TcpFlags::RST),
            _ => false,
        }
    }
}
