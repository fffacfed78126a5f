//! Conservation of packets and bytes. Everything that was sent is delivered, dropped, trimmed, in a queue or on a link.

use std::fmt;
use tailcut_units::{Duration, Rate};

/// Counters of a port, a queue or a whole network. All counters are in packets, or all are in bytes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Text for errors: the name of the port, queue or network, and the unit (packets or bytes).
    pub what: String,
    /// Packets or bytes that entered.
    pub sent: u64,
    /// Packets or bytes that left.
    pub delivered: u64,
    /// Packets or bytes that were dropped, by reason.
    pub dropped: Vec<(String, u64)>,
    /// Bytes of payload that trimming removed.
    /// The value is zero if the counters are in packets, because a trimmed packet is still forwarded.
    pub trimmed: u64,
    /// Packets or bytes in queues.
    pub queued: u64,
    /// Packets or bytes on links.
    pub in_flight: u64,
}

/// Error of counters that do not balance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CounterMismatch {
    /// Counters that do not balance.
    pub counters: Counters,
    /// Sum of all other counters, minus `sent`. A negative value means that packets or bytes are missing.
    pub surplus: i128,
}

impl Counters {
    /// Checks that sent = delivered + dropped + trimmed + queued + in flight.
    ///
    /// # Errors
    /// [`CounterMismatch`], whose text contains the equation.
    pub fn check(&self) -> Result<(), CounterMismatch> {
        let dropped: u128 = self
            .dropped
            .iter()
            .map(|&(_, count)| u128::from(count))
            .sum();
        let found = dropped
            + [self.delivered, self.trimmed, self.queued, self.in_flight]
                .map(u128::from)
                .iter()
                .sum::<u128>();
        let surplus = found as i128 - i128::from(self.sent);
        if surplus == 0 {
            Ok(())
        } else {
            Err(CounterMismatch {
                counters: self.clone(),
                surplus,
            })
        }
    }
}

impl fmt::Display for CounterMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counters = &self.counters;
        write!(f, "{}: sent {} but found ", counters.what, counters.sent)?;
        write!(f, "{} delivered", counters.delivered)?;
        for (reason, count) in &counters.dropped {
            write!(f, " + {count} dropped ({reason})")?;
        }
        write!(
            f,
            " + {} trimmed + {} queued + {} in flight: {:+}",
            counters.trimmed, counters.queued, counters.in_flight, self.surplus
        )
    }
}

impl std::error::Error for CounterMismatch {}

/// Returns whether a port that sends `bytes` of line time within `span` does not exceed its rate.
pub fn within_line_rate(bytes: u64, rate: Rate, span: Duration) -> bool {
    let bits = u128::from(bytes) * 8 * 1_000_000_000_000;
    bits <= u128::from(rate.as_bps()) * u128::from(span.as_ps())
}
