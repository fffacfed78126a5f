//! A switch's packet memory, shared by its ports under a dynamic threshold (Choudhury and Hahne,
//! IEEE/ACM ToN 1998): a port may queue at most `alpha` times what is free.

use tailcut_units::Bytes;

/// The memory of one switch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SharedBuffer {
    /// Bytes in all (4 MB in the RepNet testbed's switches).
    pub capacity: Bytes,
    /// Share of the free memory that one port may hold; 1 is common for shallow-buffered switches.
    pub alpha: f64,
}

/// The memory of one switch in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    config: SharedBuffer,
    used: u64,
}

impl Pool {
    pub const fn new(config: SharedBuffer) -> Self {
        Self { config, used: 0 }
    }

    /// Whether a port that holds `port_backlog` bytes may take `size` more.
    pub fn admits(&self, port_backlog: u64, size: u32) -> bool {
        let free = self.config.capacity.0.saturating_sub(self.used);
        let after = port_backlog + u64::from(size);
        u64::from(size) <= free && after as f64 <= self.config.alpha * free as f64
    }

    /// A port's backlog went from `before` to `after` bytes.
    pub const fn change(&mut self, before: u64, after: u64) {
        self.used = self.used + after - before;
    }
}
