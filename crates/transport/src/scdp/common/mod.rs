//! Parts of SCDP that paper mode and credit mode share: objects, blocks, codecs, limits and headers.

pub(super) mod block;
pub(super) mod codec;
pub(super) mod header;
pub(super) mod limits;
pub(super) mod object;
pub(super) mod receivers;
