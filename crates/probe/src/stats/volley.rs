//! Data of handshakes and volleys.

use serde::Serialize;

/// Result of a handshake.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Handshake {
    /// Time when the SYN was sent, in microseconds since the first SYN of the volley.
    pub sent_us: f64,
    /// Time from the first SYN to the SYN-ACK, in microseconds.
    /// Without an answer, this is the time until the handshake was given up. This time is a lower bound.
    pub us: f64,
    /// Number of times that the SYN was repeated.
    pub resent: u32,
    /// Whether a SYN-ACK arrived.
    pub is_answered: bool,
}

/// One handshake for each port, all at nearly the same time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Volley {
    /// Start of the volley, in seconds since the first volley.
    pub at: f64,
    /// Handshakes by port number. `None` if the port could not be used.
    pub handshakes: Vec<Option<Handshake>>,
}

impl Volley {
    /// Returns the times of the handshakes in microseconds, in ascending order.
    pub fn sorted(&self) -> Vec<f64> {
        let mut times: Vec<f64> = self.handshakes.iter().flatten().map(|one| one.us).collect();
        times.sort_unstable_by(f64::total_cmp);
        times
    }

    /// Returns the mean time in microseconds, or `None` without a handshake.
    pub fn mean(&self) -> Option<f64> {
        let times = self.sorted();
        (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
    }
}

/// Returns the value below which the given share of the values lies, or `None` if there are no values.
/// `sorted` must be ascending.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1).min(last)).copied()
}
