//! Cases in which the endpoint differs from Linux, with the reason of each difference.

/// Cases that differ from Linux for the same reason.
pub struct Known {
    pub reason: &'static str,
    pub cases: &'static [&'static str],
}

/// All known differences from Linux.
pub const KNOWN_DIFFERENCES: &[Known] = &[
    Known {
        reason: "the window counts bytes; Linux counts segments, also short ones",
        cases: &["window-counts-segments"],
    },
    Known {
        reason: "without SACK blocks the recovery is NewReno's (RFC 6582), without proportional rate reduction",
        cases: &[
            "limited-transmit-without-sack",
            "partial-ack-without-sack",
            "new-reno-recovery-ack-by-ack",
        ],
    },
    Known {
        reason: "a closed connection answers a peer that missed its last ACK, for two timeouts",
        cases: &["data-after-close-of-both"],
    },
    Known {
        reason: "without SACK blocks a timeout goes back to the first segment, and there is no F-RTO",
        cases: &["spurious-timeout-without-sack"],
    },
    Known {
        reason: "a repeated SYN asks for ECN again (RFC 3168, 6.1.1.1, allows both)",
        cases: &["ecn-lost-syn-asks-again"],
    },
];
