//! What a frame takes of a line beyond its own bytes.

/// Bytes of line time that a frame from a TAP lacks: its check sequence, preamble and gap.
pub const LINE_OVERHEAD: u32 = 24;
/// The shortest frame's line time: 64 bytes, preamble and gap.
pub const SHORTEST_LINE_TIME: u32 = 84;
