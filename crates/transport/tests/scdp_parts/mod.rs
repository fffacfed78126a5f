//! Helpers for tests: symbols and headers of SCDP.
#![allow(dead_code, reason = "each test file uses its part of the harness")]

use tailcut_transport::scdp::{ScdpConfig, ScdpHeader};
use tailcut_transport::{Header, Segment};
use tailcut_units::Duration;

/// Payload bytes of a full symbol.
pub const T: u64 = 1_460;
/// Number of symbols in the first window.
pub const WINDOW: u32 = 8;
/// Duration of a full symbol at 10 Gb/s.
pub const INTERVAL: Duration = Duration::from_ps(1_230_400);

/// Returns a configuration with a small first window.
pub fn config() -> ScdpConfig {
    ScdpConfig {
        initial_window: WINDOW,
        ..ScdpConfig::default()
    }
}

/// Returns the SCDP header of a segment.
pub fn header(segment: &Segment) -> ScdpHeader {
    let Header::Scdp(header) = segment.header else {
        panic!("not SCDP: {segment:?}")
    };
    header
}
