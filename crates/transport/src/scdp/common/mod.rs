//! Parts of both modes: objects, blocks, codecs, limits, headers.

pub(super) mod block;
pub(super) mod codec;
pub(super) mod header;
pub(super) mod limits;
pub(super) mod object;
pub(super) mod receivers;
