//! What a receiver knows of one end that has what it wants.

use super::line::Heard;
use super::message::Offer;
use std::net::SocketAddr;

/// A sender or a replica, and the slabs that it was asked for.
#[derive(Debug)]
pub(super) struct Holder {
    pub(super) address: SocketAddr,
    pub(super) offer: Offer,
    /// Slabs that it was asked for, the oldest first.
    pub(super) asked: Vec<u32>,
    /// Those of which it has not been told yet.
    pub(super) untold: Vec<u32>,
    pub(super) heard: Heard,
}

impl Holder {
    pub(super) fn new(address: SocketAddr, offer: Offer) -> Self {
        Self {
            address,
            offer,
            asked: Vec::new(),
            untold: Vec::new(),
            heard: Heard::now(),
        }
    }

    /// Whether it has the same slabs as an offer says.
    pub(super) fn agrees(&self, offer: &Offer) -> bool {
        let layout = |offer: &Offer| (offer.total, offer.manifest, offer.slab_log2);
        layout(&self.offer) == layout(offer)
    }
}
