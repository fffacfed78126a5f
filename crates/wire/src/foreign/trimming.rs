//! Which datagrams a switch that knows our headers may trim, and what it leaves of them.

use crate::scdp::credit;
use crate::segment::decode;
use tailcut_transport::{Condition, Ecn};
use tailcut_units::FiveTuple;

/// What a switch needs to know of a datagram before it trims it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trimmable {
    /// Bytes of the UDP payload that stay: our header.
    pub kept: usize,
    /// The priority class that the header says, 0 is the highest.
    pub class: u8,
}

impl Trimmable {
    /// Reads the payload of a UDP datagram: a symbol of SCDP in credit mode, or a packet of NDP or SCDP
    /// whose header allows it. `None`: there is nothing to cut off, or it is no header of ours.
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
