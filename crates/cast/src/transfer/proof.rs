//! Proof of slabs against the root of the data. A replica sends the hashes of all slabs.
//! Together, the hashes give the root, so no replica can forge them.
//! Each slab is compared with its hash. The comparison finds the replica that sent a wrong slab.

use super::channel::Channel;
use super::holder::Holder;
use super::message::{Hashes, MOST_HASHES, Message};
use crate::files::hash::{self, Root, SlabHash};
use crate::files::manifest::{Header, MOST_SLABS};
use crate::files::{Hash, LARGEST_SLAB, Label, SlabHashes};
use std::net::SocketAddr;

/// Result of the check of a message with hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The message was not requested.
    Ignored,
    /// More hashes are needed, or all hashes have arrived and match the root.
    Fine,
    /// The hashes do not match the root.
    Wrong,
}

/// Hashes of all slabs, which are requested from one replica after another until they match the root.
#[derive(Debug)]
pub(super) struct Proof {
    root: Hash,
    /// Replica that got the last request. `None`: no request is open.
    asked: Option<SocketAddr>,
    hashes: SlabHashes,
    /// Whether the hashes are complete and match the root.
    is_known: bool,
    /// Whether the root is the root of a tree, so that it also proves the manifest.
    is_tree: bool,
}

impl Proof {
    pub(super) fn new(root: Hash) -> Self {
        Self {
            root,
            asked: None,
            hashes: SlabHashes::default(),
            is_known: false,
            is_tree: false,
        }
    }

    /// Returns whether slabs can be compared with their hashes.
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Requests hashes from a replica, unless a request is open or all hashes are known.
    pub(super) fn ask(&mut self, channel: &mut Channel<'_>, holders: &[Holder]) {
        if self.is_known || self.asked.is_some() {
            return;
        }
        // The replica that got the last request has left. Its hashes may be wrong.
        self.hashes = SlabHashes::default();
        self.asked = holders.first().map(|holder| {
            channel.send(holder.route, holder.offer.from, &Message::Prove(0));
            holder.address()
        });
    }

    /// Forgets the open request to a replica that has left.
    pub(super) fn forget(&mut self, peer: SocketAddr) {
        self.asked = self.asked.filter(|asked| *asked != peer);
    }

    /// Adds hashes that a replica has sent. Requests the next hashes if some are missing.
    pub(super) fn add(&mut self, channel: &mut Channel<'_>, from: &Holder, page: Hashes) -> Step {
        let have = self.hashes.parts.len() as u32;
        if self.is_known || self.asked != Some(from.address()) || page.first != have {
            return Step::Ignored;
        }
        let found = have.saturating_add(page.parts.len() as u32);
        let is_stuck = page.parts.is_empty() && found < page.count;
        if page.count > MOST_SLABS || found > page.count || is_stuck {
            return Step::Wrong;
        }
        self.hashes.manifest = page.manifest;
        self.hashes.alone = page.alone;
        self.hashes.parts.extend(page.parts);
        if found < page.count {
            channel.send(from.route, from.offer.from, &Message::Prove(found));
            return Step::Fine;
        }
        let contents = root_of(&self.hashes);
        self.is_tree = hash::tree_root(&self.hashes.manifest, &contents) == self.root;
        self.is_known = self.is_tree || contents == self.root;
        match self.is_known {
            true => Step::Fine,
            false => Step::Wrong,
        }
    }

    /// Returns whether a slab belongs to the data with this root. `manifest` is the size of the manifest in bytes.
    pub(super) fn proves(&self, label: &Label, bytes: &[u8], manifest: u64) -> bool {
        let first = manifest.div_ceil(u64::from(LARGEST_SLAB));
        let Some(index) = u64::from(label.slab).checked_sub(first) else {
            // The first slab has the header, and the header has the hash of the whole manifest.
            // Only the root of a tree depends on the manifest.
            let is_header = self.is_tree && label.slab == 0;
            let manifest = self.hashes.manifest;
            return !is_header || Header::decode(bytes).is_ok_and(|header| header.hash == manifest);
        };
        match &self.hashes.parts[..] {
            // If there is only one slab of contents, the root depends only on its hash as the whole data.
            [_] => index == 0 && hash::slab(0, bytes).alone == Some(self.hashes.alone),
            parts => {
                let index = usize::try_from(index).ok();
                index.and_then(|index| parts.get(index)) == Some(&label.hash)
            }
        }
    }
}

fn root_of(hashes: &SlabHashes) -> Hash {
    let mut root = Root::default();
    for (index, part) in hashes.parts.iter().enumerate() {
        root.push(&SlabHash {
            part: *part,
            alone: (index == 0).then_some(hashes.alone),
        });
    }
    root.finish()
}

/// Returns the message with the hashes of the slabs of contents, beginning with slab `first`.
pub(super) fn page(hashes: &SlabHashes, first: u32) -> Message {
    let rest = hashes.parts.get(first as usize..).unwrap_or_default();
    Message::Hashes(Hashes {
        first,
        count: hashes.parts.len() as u32,
        manifest: hashes.manifest,
        alone: hashes.alone,
        parts: rest[..rest.len().min(MOST_HASHES)].to_vec(),
    })
}
