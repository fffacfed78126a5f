//! Datagrams that a switch may trim, and their bytes that remain after trimming.

use crate::scdp::credit;
use crate::segment::decode;
use tailcut_transport::{Condition, Ecn};
use tailcut_units::FiveTuple;

/// Data of a datagram that a switch needs to trim it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trimmable {
    /// Number of bytes of the UDP payload that remain: the tailcut header.
    pub kept: usize,
    /// Priority class in the header. 0 is the highest.
    pub class: u8,
}

impl Trimmable {
    /// Decodes the payload of a UDP datagram: a symbol of SCDP in credit mode, or a packet of NDP or
    /// SCDP whose header allows trimming. Returns `None` if there is nothing to remove or no
    /// tailcut header.
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
