//! Datagrams that a switch may trim, and the number of their bytes that remain.

use crate::scdp::credit;
use crate::segment::decode;
use tailcut_transport::{Condition, Ecn};
use tailcut_units::FiveTuple;

/// Properties of a datagram that a switch may trim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trimmable {
    /// Number of bytes of the UDP payload that remain after trimming: the tailcut header.
    pub kept: usize,
    /// Priority class in the header. 0 is the highest.
    pub class: u8,
}

impl Trimmable {
    /// Decodes the payload of a UDP datagram.
    /// A switch may trim a symbol of SCDP in credit mode, and a packet of NDP or SCDP whose header allows it.
    /// Returns `None` if the payload has no tailcut header, or if no bytes can be removed.
    pub fn of(payload: &[u8]) -> Option<Self> {
        if let Some(class) = credit::class_of_symbol(payload) {
            let kept = credit::SYMBOL_BYTES;
            return Some(Self { kept, class });
        }
        let (segment, kept) = decode(FiveTuple::default(), Ecn::NotCapable, payload).ok()?;
        let may_be = segment.trimmable && segment.condition == Condition::Whole;
        (may_be && payload.len() > kept).then_some(Self {
            kept,
            class: segment.priority,
        })
    }
}
