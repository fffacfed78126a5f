//! Handshakes and volleys of them.

use serde::Serialize;

/// One handshake.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Handshake {
    /// When its SYN was sent, in microseconds since the first one of its volley.
    pub sent_us: f64,
    /// From its first SYN until the SYN-ACK, in microseconds. Where nobody answered in time, as long as was
    /// waited: a lower bound.
    pub us: f64,
    /// SYNs that were sent again.
    pub resent: u32,
    /// Whether there was an answer.
    pub is_answered: bool,
}

/// One handshake for each port at one time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Volley {
    /// Seconds since the first volley.
    pub at: f64,
    /// By port; `None` where the port could not be used.
    pub handshakes: Vec<Option<Handshake>>,
}

impl Volley {
    /// Times of the handshakes in microseconds, ascending.
    pub fn sorted(&self) -> Vec<f64> {
        let mut times: Vec<f64> = self.handshakes.iter().flatten().map(|one| one.us).collect();
        times.sort_unstable_by(f64::total_cmp);
        times
    }

    /// The mean time in microseconds; `None` without a handshake.
    pub fn mean(&self) -> Option<f64> {
        let times = self.sorted();
        (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
    }
}

/// The value below which a share of ascending values lies; `None` of none.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1).min(last)).copied()
}
