//! HighSpeed TCP (RFC 3649). Above a window of 38 segments, the window grows by more than one segment per round trip.
//! A loss reduces the window by less than half. So a flow can fill long, fast paths at realistic loss rates.
//!
//! Deviations:
//! - The code computes the functions a(w) and b(w) of section 5.
//!   RFC 3649, appendix B, and Linux use a table of integers.
//! - A timeout halves the window (RFC 5681). Linux also uses b(w) after a timeout.
//! - The optional changes to slow start (section 9, RFC 3742) are not implemented.

use super::control::{Ack, Congested, CongestionControl, Window};
use super::newreno::NewReno;

/// Low_Window, in segments. Up to this window HighSpeed TCP behaves like standard TCP (RFC 3649, section 5).
const LOW_WINDOW: f64 = 38.0;
/// High_Window, in segments: the window at a loss rate of 1e-7 (RFC 3649, section 5).
const HIGH_WINDOW: f64 = 83_000.0;
/// High_Decrease: the fraction by which a loss reduces the window at High_Window (RFC 3649, section 5).
const HIGH_DECREASE: f64 = 0.1;

/// Returns b(w): the fraction by which a loss reduces a window of `w` segments.
fn decrease(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 0.5;
    }
    let place = libm::log(w / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    let decrease = (HIGH_DECREASE - 0.5) * place + 0.5;
    decrease.max(HIGH_DECREASE)
}

/// Returns a(w): the number of segments by which a window of `w` segments grows per round trip.
fn increase(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    // Loss rate of the response function (RFC 3649, section 5): p(w) = 0.078 / w^1.2.
    let loss_rate = 0.078 / libm::pow(w, 1.2);
    let b = decrease(w);
    // Just above Low_Window the formula gives less than 1 (0.96 at 38.1), but growth must not be below standard TCP.
    (w * w * loss_rate * 2.0 * b / (2.0 - b)).max(1.0)
}

/// Congestion control of HighSpeed TCP.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct HighSpeed {
    /// State of standard TCP, for slow start and timeouts.
    standard: NewReno,
    /// Bytes by which the window will grow, less than one segment.
    growth: f64,
}

impl HighSpeed {
    /// Returns the state of a new connection.
    pub const fn new() -> Self {
        Self {
            standard: NewReno::new(),
            growth: 0.0,
        }
    }
}

impl CongestionControl for HighSpeed {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.may_grow || window.in_slow_start() {
            return self.standard.on_ack(window, ack);
        }
        // One window is acknowledged per round trip. So each acknowledged byte adds its part of the a(w) segments.
        let cwnd = window.cwnd as f64;
        let segments = increase(cwnd / ack.mss as f64);
        self.growth += segments * ack.mss as f64 * ack.acked as f64 / cwnd;
        let whole = (self.growth / ack.mss as f64) as u64 * ack.mss;
        window.cwnd += whole;
        self.growth -= whole as f64;
    }

    fn on_loss(&mut self, window: &mut Window, congested: &Congested) {
        let in_flight = congested.in_flight as f64;
        let left = in_flight * (1.0 - decrease(in_flight / congested.mss as f64));
        // The minimum is two segments, as for standard TCP (RFC 5681, equation 4).
        window.ssthresh = (left as u64).max(2 * congested.mss);
        window.cwnd = window.ssthresh;
        // Growth from before the loss does not count.
        self.growth = 0.0;
    }

    fn on_timeout(&mut self, window: &mut Window, congested: &Congested) {
        self.standard.on_timeout(window, congested);
        self.growth = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_units::{Duration, Time};

    const MSS: u64 = 1_460;

    #[test]
    fn increase_and_decrease_are_those_of_the_appendix() {
        // RFC 3649, appendix B: w, a(w), b(w). The table has the window at which a(w) reaches each integer.
        for (w, a, b) in [
            (38.0, 1.0, 0.50),
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (347.0, 4.0, 0.38),
            (495.0, 5.0, 0.37),
            (663.0, 6.0, 0.35),
            (851.0, 7.0, 0.34),
            (1_058.0, 8.0, 0.33),
            (1_284.0, 9.0, 0.32),
            (1_529.0, 10.0, 0.31),
        ] {
            assert!(
                (increase(w) - a).abs() < 0.01 * a,
                "a({w}) = {}",
                increase(w)
            );
            assert!((decrease(w) - b).abs() < 0.006, "b({w}) = {}", decrease(w));
        }
        // At High_Window, a loss reduces the window by a tenth (section 5).
        assert!((decrease(HIGH_WINDOW) - 0.1).abs() < 1e-9);
        assert!((decrease(1e9) - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_round_trip_of_acks_grows_the_window_by_a_of_w() {
        let mut control = HighSpeed::new();
        let start = 1_000 * MSS;
        let mut window = Window {
            cwnd: start,
            ssthresh: MSS,
        };
        for _ in 0..1_000 {
            let ack = Ack {
                now: Time::ZERO,
                acked: MSS,
                marked: false,
                una: 0,
                nxt: 0,
                mss: MSS,
                may_grow: true,
                slow_start_limit: 2 * MSS,
                srtt: Duration::ZERO,
                rtt: None,
            };
            control.on_ack(&mut window, &ack);
        }
        let grown = (window.cwnd - start) / MSS;
        // At a window of 1,000 segments, a(w) is 7.7.
        assert!((7..=8).contains(&grown), "{grown}");
    }

    #[test]
    fn a_loss_takes_b_of_w_and_a_timeout_half() {
        let mut window = Window {
            cwnd: 1_000 * MSS,
            ssthresh: MSS,
        };
        let congested = Congested {
            now: Time::ZERO,
            in_flight: 1_000 * MSS,
            mss: MSS,
        };
        HighSpeed::new().on_loss(&mut window, &congested);
        // At a window of 1,000 segments, b(w) is 0.33.
        assert!((665..=675).contains(&(window.cwnd / MSS)), "{window:?}");
        assert_eq!(window.cwnd, window.ssthresh);
        HighSpeed::new().on_timeout(&mut window, &congested);
        assert_eq!(window.ssthresh, 500 * MSS);
    }
}
