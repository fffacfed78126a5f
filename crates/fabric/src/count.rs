//! Counts of packets.

/// A count of packets and of their bytes on the wire.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}
