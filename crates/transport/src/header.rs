//! The header of a segment, by protocol.

use crate::ndp::NdpHeader;
use crate::pfabric::PFabricHeader;
use crate::scdp::{CreditHeader, ScdpHeader};
use crate::tcp::{TcpFlags, TcpHeader};

/// The header of one protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// TCP.
    Tcp(TcpHeader),
    /// NDP.
    Ndp(NdpHeader),
    /// SCDP.
    Scdp(ScdpHeader),
    /// SCDP: a pull where the receiver gives credits.
    Credit(CreditHeader),
    /// pFabric.
    PFabric(PFabricHeader),
    /// Of a transport of a user's own: words that mean what it says.
    Own([u64; 4]),
}

impl Header {
    /// Returns whether it ends its connection at once.
    #[inline]
    pub const fn is_reset(&self) -> bool {
        match self {
            Self::Tcp(header) => header.flags.has(TcpFlags::RST),
            _ => false,
        }
    }
}
