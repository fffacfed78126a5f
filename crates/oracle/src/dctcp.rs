//! DCTCP's steady state: N long flows of one round-trip time through one marking queue.
//!
//! Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.3: windows in packets, all
//! flows in step. The paper rounds the fixed point to sqrt(2 / W*); [`Steady::alpha`] solves it.

/// Long flows through one queue that marks above a threshold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Steady {
    /// The bandwidth-delay product without queueing, C x RTT, in packets.
    pub pipe: f64,
    /// The marking threshold K, in packets.
    pub threshold: f64,
    /// The number of flows, N.
    pub flows: f64,
}

impl Steady {
    /// W* = (C RTT + K) / N, the window at which the queue reaches the threshold, in packets.
    pub fn critical_window(&self) -> f64 {
        (self.pipe + self.threshold) / self.flows
    }

    /// alpha at its fixed point, the share of marked packets: the solution within 0 to 1 of alpha^2
    /// (1 - alpha / 4) = (2 W* + 1) / (W* + 1)^2, by bisection. For W* so small that there is none,
    /// 1: every packet is marked.
    pub fn alpha(&self) -> f64 {
        let w = self.critical_window();
        let target = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
        let excess = |alpha: f64| alpha * alpha * (1.0 - alpha / 4.0) - target;
        if excess(1.0) <= 0.0 {
            return 1.0;
        }
        let (mut low, mut high) = (0.0, 1.0);
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

    /// The paper's approximation, sqrt(2 / W*).
    pub fn alpha_for_large_windows(&self) -> f64 {
        (2.0 / self.critical_window()).sqrt()
    }

    /// The amplitude of one flow's window, D = (W* + 1) alpha / 2, in packets; also the period of
    /// the sawtooth in round-trip times.
    pub fn window_amplitude(&self) -> f64 {
        (self.critical_window() + 1.0) * self.alpha() / 2.0
    }

    /// The amplitude of the queue, A = N D, in packets.
    pub fn queue_amplitude(&self) -> f64 {
        self.flows * self.window_amplitude()
    }

    /// The top of the queue's sawtooth, K + N, in packets.
    pub fn largest_queue(&self) -> f64 {
        self.threshold + self.flows
    }

    /// The bottom of the queue's sawtooth, K + N - A, in packets; below zero the link runs idle.
    pub fn smallest_queue(&self) -> f64 {
        self.largest_queue() - self.queue_amplitude()
    }
}
