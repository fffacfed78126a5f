//! Hash of written bytes.

use std::fmt;
use std::io;
use twox_hash::XxHash3_128;

/// Hash of all bytes that are written to it: 32 hexadecimal digits (XXH3-128). The hash detects accidental changes.
/// The hash does not detect forged data.
#[derive(Clone, Default)]
pub struct Fingerprint(XxHash3_128);

impl Fingerprint {
    /// Creates the hash of zero bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the hash of all bytes so far.
    pub fn digits(&self) -> String {
        format!("{:032x}", self.0.finish_128())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fingerprint").field(&self.digits()).finish()
    }
}

impl fmt::Write for Fingerprint {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

impl io::Write for Fingerprint {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
