//! That nothing is lost from the books: what was sent is somewhere.

use std::fmt;
use tailcut_units::{Duration, Rate};

/// The books of a port, a queue or a whole network, all in packets or all in bytes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Books {
    /// What the books are of, for the error.
    pub what: String,
    /// What went in.
    pub sent: u64,
    /// What came out.
    pub delivered: u64,
    /// What was dropped, by reason.
    pub dropped: Vec<(String, u64)>,
    /// Payload that trimming cut off (in packets: none, since the header goes on).
    pub trimmed: u64,
    /// What waits in queues.
    pub queued: u64,
    /// What is on links.
    pub in_flight: u64,
}

/// Books that do not balance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Imbalance {
    /// The books.
    pub books: Books,
    /// What is found beyond what was sent; negative when something is missing.
    pub surplus: i128,
}

impl Books {
    /// Checks that sent = delivered + dropped + trimmed + queued + in flight.
    ///
    /// # Errors
    /// [`Imbalance`], which prints the equation.
    pub fn check(&self) -> Result<(), Imbalance> {
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
            Err(Imbalance {
                books: self.clone(),
                surplus,
            })
        }
    }
}

impl fmt::Display for Imbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let books = &self.books;
        write!(f, "{}: sent {} but found ", books.what, books.sent)?;
        write!(f, "{} delivered", books.delivered)?;
        for (reason, count) in &books.dropped {
            write!(f, " + {count} dropped ({reason})")?;
        }
        write!(
            f,
            " + {} trimmed + {} queued + {} in flight: {:+}",
            books.trimmed, books.queued, books.in_flight, self.surplus
        )
    }
}

impl std::error::Error for Imbalance {}

/// Whether a port that finished sending `bytes` of line time within `span` kept to its rate.
pub fn within_line_rate(bytes: u64, rate: Rate, span: Duration) -> bool {
    let bits = u128::from(bytes) * 8 * 1_000_000_000_000;
    bits <= u128::from(rate.as_bps()) * u128::from(span.as_ps())
}
