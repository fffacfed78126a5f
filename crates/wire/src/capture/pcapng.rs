//! pcapng files (draft-ietf-opsawg-pcapng). Each file has one section with interfaces and enhanced packet blocks.

use super::frame::Frame;
use alloc::vec::Vec;
use tailcut_units::Time;

/// Type of a section header block.
const SECTION: u32 = 0x0a0d_0d0a;
/// Type of an interface description block.
const INTERFACE: u32 = 1;
/// Type of an enhanced packet block.
const ENHANCED_PACKET: u32 = 6;
/// Magic number that shows the byte order of a file. All files are little-endian.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Link type of Ethernet.
const ETHERNET: u16 = 1;

/// Number of the option that ends a list of options.
const END: u16 = 0;
const COMMENT: u16 = 1;
const APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_SPEED: u16 = 8;
const INTERFACE_RESOLUTION: u16 = 9;
const PACKET_FLAGS: u16 = 2;
const PACKET_DROPS: u16 = 4;
/// Unit of time stamps: 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Interface of a file: a port of a switch, or a host's link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interface(u32);

/// Direction of a frame at its interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// The interface received the frame.
    In = 1,
    /// The interface sent the frame.
    Out = 2,
}

/// Optional data about a frame.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Note<'a> {
    /// Comment, such as the reason of a drop. An empty text means no comment.
    pub comment: &'a str,
    /// Direction of the frame at its interface, if known.
    pub direction: Option<Direction>,
    /// Number of frames that the interface dropped between the previous frame and this one.
    pub drops: u64,
}

/// Builder of a capture file. [`take`](Self::take) returns the next piece of the file.
/// The caller writes the pieces in order and need not keep the pieces.
#[derive(Clone, Debug)]
pub struct PcapNg {
    out: Vec<u8>,
    interfaces: u32,
}

impl PcapNg {
    /// Creates a file. `application` is the name of the program that writes it.
    pub fn new(application: &str) -> Self {
        let mut file = Self {
            out: Vec::new(),
            interfaces: 0,
        };
        file.block(SECTION, |out| {
            out.extend(BYTE_ORDER.to_le_bytes());
            // The section has version 1.0 and an unknown length.
            out.extend(1u16.to_le_bytes());
            out.extend(0u16.to_le_bytes());
            out.extend(u64::MAX.to_le_bytes());
            option(out, APPLICATION, application.as_bytes());
            option(out, END, &[]);
        });
        file
    }

    /// Adds an interface with the rate `speed` in bit/s. Frames of the interface are cut to `snap` bytes.
    pub fn interface(&mut self, name: &str, snap: u32, speed: Option<u64>) -> Interface {
        self.block(INTERFACE, |out| {
            out.extend(ETHERNET.to_le_bytes());
            out.extend([0, 0]);
            out.extend(snap.to_le_bytes());
            option(out, INTERFACE_NAME, name.as_bytes());
            if let Some(speed) = speed {
                option(out, INTERFACE_SPEED, &speed.to_le_bytes());
            }
            option(out, INTERFACE_RESOLUTION, &[NANOSECONDS]);
            option(out, END, &[]);
        });
        self.interfaces += 1;
        Interface(self.interfaces - 1)
    }

    /// Adds a frame. The time `at` is rounded down to a nanosecond.
    pub fn packet(&mut self, interface: Interface, at: Time, frame: &Frame, note: &Note<'_>) {
        let stamp = at.as_ns();
        self.block(ENHANCED_PACKET, |out| {
            out.extend(interface.0.to_le_bytes());
            out.extend(((stamp >> 32) as u32).to_le_bytes());
            out.extend((stamp as u32).to_le_bytes());
            out.extend((frame.bytes.len() as u32).to_le_bytes());
            out.extend(frame.length.to_le_bytes());
            out.extend(&frame.bytes);
            pad(out, frame.bytes.len());
            // A block without options does not need the option that ends a list of options.
            let is_silent = *note == Note::default();
            if !note.comment.is_empty() {
                option(out, COMMENT, note.comment.as_bytes());
            }
            if let Some(direction) = note.direction {
                option(out, PACKET_FLAGS, &(direction as u32).to_le_bytes());
            }
            if note.drops > 0 {
                option(out, PACKET_DROPS, &note.drops.to_le_bytes());
            }
            if !is_silent {
                option(out, END, &[]);
            }
        });
    }

    /// Returns the number of bytes that [`take`](Self::take) would return.
    pub const fn len(&self) -> usize {
        self.out.len()
    }

    /// Returns whether [`take`](Self::take) would return no bytes.
    pub const fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Returns the bytes that were added since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.out)
    }

    /// Adds a block: type, length, contents, and the length again.
    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
        let mut held = Vec::new();
        body(&mut held);
        let length = (held.len() as u32 + 12).to_le_bytes();
        self.out.extend(kind.to_le_bytes());
        self.out.extend(length);
        self.out.append(&mut held);
        self.out.extend(length);
    }
}

/// Adds an option: number, length, and value with padding. A value is cut to at most 65,535 bytes.
fn option(out: &mut Vec<u8>, number: u16, value: &[u8]) {
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    out.extend(number.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(value.iter().take(length.into()));
    pad(out, length.into());
}

/// Adds zeros, so that a value of `length` bytes ends at a multiple of four.
fn pad(out: &mut Vec<u8>, length: usize) {
    out.extend(core::iter::repeat_n(0u8, length.wrapping_neg() % 4));
}
