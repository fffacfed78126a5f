//! Steady state of DCTCP: N long flows with the same round-trip time through one marking queue.
//!
//! Source: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.3.
//! Windows are in packets, and all flows are synchronised.
//! The paper approximates alpha by sqrt(2 / W*). [`Steady::alpha`] solves the exact equation for alpha.

/// Steady state of long flows through one queue that marks above a threshold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Steady {
    /// Bandwidth-delay product without queueing, C x RTT, in packets.
    pub bdp_packets: f64,
    /// Marking threshold K, in packets.
    pub threshold: f64,
    /// Number of flows, N.
    pub flows: f64,
}

impl Steady {
    /// Returns W* = (C RTT + K) / N, in packets. The queue reaches the threshold when each flow has this window.
    pub fn critical_window(&self) -> f64 {
        (self.bdp_packets + self.threshold) / self.flows
    }

    /// Returns alpha, the share of marked packets, in the steady state.
    /// Alpha is the solution between 0 and 1 of this equation:
    ///
    /// alpha^2 (1 - alpha / 4) = (2 W* + 1) / (W* + 1)^2.
    ///
    /// A very small W* gives no solution. In that case every packet is marked, and alpha is 1.
    pub fn alpha(&self) -> f64 {
        let w = self.critical_window();
        let target = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
        let excess = |alpha: f64| alpha * alpha * (1.0 - alpha / 4.0) - target;
        if excess(1.0) <= 0.0 {
            return 1.0;
        }
        let (mut low, mut high) = (0.0, 1.0);
        // 60 steps of bisection reach the precision of floating-point numbers.
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if excess(middle) < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::midpoint(low, high)
    }

    /// Returns the paper's approximation of alpha, sqrt(2 / W*).
    pub fn alpha_for_large_windows(&self) -> f64 {
        (2.0 / self.critical_window()).sqrt()
    }

    /// Returns the amplitude of one flow's window, D = (W* + 1) alpha / 2, in packets.
    /// The sawtooth of the window has a period of D round-trip times.
    pub fn window_amplitude(&self) -> f64 {
        (self.critical_window() + 1.0) * self.alpha() / 2.0
    }

    /// Returns the amplitude of the queue, A = N D, in packets.
    pub fn queue_amplitude(&self) -> f64 {
        self.flows * self.window_amplitude()
    }

    /// Returns the maximum of the queue's sawtooth, K + N, in packets.
    pub fn largest_queue(&self) -> f64 {
        self.threshold + self.flows
    }

    /// Returns the minimum of the queue's sawtooth, K + N - A, in packets.
    /// If the minimum is negative, the link is sometimes idle.
    pub fn smallest_queue(&self) -> f64 {
        self.largest_queue() - self.queue_amplitude()
    }
}
