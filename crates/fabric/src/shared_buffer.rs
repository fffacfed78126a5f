//! Packet memory of a switch.
//! The ports of the switch share the memory with a dynamic threshold (Choudhury and Hahne, IEEE/ACM ToN 1998).
//! A port may queue at most `alpha` times the free memory.

use tailcut_units::Bytes;

/// Parameters of a switch's packet memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SharedBuffer {
    /// Size of the memory in bytes. The switches of the RepNet testbed have 4 MB.
    pub capacity: Bytes,
    /// Largest backlog of one port, as a multiple of the free memory. 1 is common for switches with shallow buffers.
    pub alpha: f64,
}

/// State of a switch's packet memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    config: SharedBuffer,
    used: u64,
}

impl Pool {
    pub const fn new(config: SharedBuffer) -> Self {
        Self { config, used: 0 }
    }

    /// Returns whether a port with a backlog of `port_backlog` bytes may accept `size` more bytes.
    pub fn admits(&self, port_backlog: u64, size: u32) -> bool {
        let free = self.config.capacity.0.saturating_sub(self.used);
        let after = port_backlog + u64::from(size);
        u64::from(size) <= free && after as f64 <= self.config.alpha * free as f64
    }

    /// Records that the backlog of a port has changed from `before` to `after` bytes.
    pub const fn change(&mut self, before: u64, after: u64) {
        // The addition must come first. If the subtraction came first, the number could underflow.
        self.used = self.used + after - before;
    }
}
