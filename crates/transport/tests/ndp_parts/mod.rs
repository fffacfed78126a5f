//! Helpers for tests with NDP packets in flight between two hosts.
#![allow(dead_code, reason = "each test file uses its part of the harness")]

use crate::pair::{Fate, Passage};
use tailcut_transport::ndp::{NdpHeader, NdpKind};
use tailcut_transport::{Header, Segment};

/// Returns the NDP header of a segment.
pub fn header(segment: &Segment) -> NdpHeader {
    let Header::Ndp(header) = segment.header else {
        panic!("not NDP: {segment:?}")
    };
    header
}

/// Returns whether a passing segment is the packet with this kind and number.
pub fn is(passage: &Passage, kind: NdpKind, index: u64) -> bool {
    let header = header(passage.segment);
    header.kind == kind && header.index == index
}

/// Returns a fault that applies `fate` to the first transmission of each of `packets`.
pub fn once(packets: &[u64], fate: Fate) -> impl FnMut(&Passage) -> Fate + 'static {
    let mut left = packets.to_vec();
    move |passage| {
        let at = left.iter().position(|&i| is(passage, NdpKind::Data, i));
        match at {
            Some(at) => {
                left.remove(at);
                fate
            }
            None => Fate::Deliver,
        }
    }
}
