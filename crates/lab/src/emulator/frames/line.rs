//! Line time of frames: the number of byte times that a frame occupies a link.

/// Line time of a frame in addition to its length at the TAP device, in bytes: check sequence, preamble and gap.
pub const LINE_OVERHEAD: u32 = 24;
/// Line time of the shortest frame, in bytes: 64 bytes, preamble and gap.
pub const SHORTEST_LINE_TIME: u32 = 84;
