//! Tests of CUBIC's window against the closed forms of RFC 9438.

use tailcut_transport::tcp::congestion::{Ack, Congested, CongestionControl, Cubic, Window};
use tailcut_units::{Duration, Time};

const MSS: u64 = 1_460;
const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// Connection whose window is always the limit. It receives one ACK per segment, spread evenly over each round trip.
struct Flow {
    cubic: Cubic,
    window: Window,
    now: Time,
    round_trip: Duration,
    una: u64,
}

impl Flow {
    /// Creates a flow whose first loss occurs at a window of `segments`.
    fn after_loss(segments: u64, round_trip: Duration) -> Self {
        let cwnd = segments * MSS;
        let mut flow = Self {
            cubic: Cubic::new(),
            window: Window {
                cwnd,
                ssthresh: cwnd,
            },
            now: Time::ZERO,
            round_trip,
            una: 0,
        };
        flow.lose();
        flow
    }

    fn lose(&mut self) {
        let congested = Congested {
            now: self.now,
            in_flight: self.window.cwnd,
            mss: MSS,
        };
        self.cubic.on_loss(&mut self.window, &congested);
    }

    fn segments(&self) -> f64 {
        self.window.cwnd as f64 / MSS as f64
    }

    fn round(&mut self) {
        let acks = self.window.cwnd / MSS;
        for _ in 0..acks {
            self.now += self.round_trip / acks;
            self.una += MSS;
            let ack = Ack {
                now: self.now,
                acked: MSS,
                marked: false,
                una: self.una,
                nxt: self.una + self.window.cwnd,
                mss: MSS,
                may_grow: true,
                slow_start_limit: 2 * MSS,
                srtt: self.round_trip,
                rtt: None,
            };
            self.cubic.on_ack(&mut self.window, &ack);
        }
    }

    /// Runs until `seconds` after `start`.
    fn run_until(&mut self, start: Time, seconds: f64) {
        while self.now.since(start).as_secs_f64() < seconds {
            self.round();
        }
    }
}

/// Returns the window of equation 1.
fn w_cubic(seconds: f64, k: f64, w_max: f64) -> f64 {
    C * (seconds - k).powi(3) + w_max
}

#[test]
fn a_loss_leaves_seven_tenths() {
    let flow = Flow::after_loss(1_000, Duration::from_ms(100));
    assert_eq!(flow.window.cwnd, (1_000.0 * MSS as f64 * BETA) as u64);
    assert_eq!(flow.window.ssthresh, flow.window.cwnd);
}

#[test]
fn with_a_long_round_trip_the_window_follows_the_cubic() {
    let round_trip = Duration::from_ms(100);
    let mut flow = Flow::after_loss(1_000, round_trip);
    let k = ((1_000.0 - 700.0) / C).cbrt();
    // The target of the window is one round trip ahead, and the window reaches the target within a round trip.
    // So the window is between W(t - RTT) and W(t + RTT).
    for tenths in (10..150).step_by(5) {
        let seconds = f64::from(tenths) / 10.0;
        flow.run_until(Time::ZERO, seconds);
        let at = flow.now.as_secs_f64();
        let low = w_cubic(at - 0.1, k, 1_000.0) - 0.5;
        let high = w_cubic(at + 0.1, k, 1_000.0) + 0.5;
        let segments = flow.segments();
        assert!(
            low <= segments && segments <= high,
            "{low} <= {segments} <= {high} at {at} s"
        );
    }
}

#[test]
fn with_a_short_round_trip_it_grows_as_reno_would() {
    // In 4.3, W_est grows by 3 (1 - beta) / (1 + beta) per round trip up to the window before the loss.
    // Above the window before the loss, W_est grows by one per round trip.
    let round_trip = Duration::from_us(100);
    let mut flow = Flow::after_loss(40, round_trip);
    let slope = 3.0 * (1.0 - BETA) / (1.0 + BETA);
    let start = flow.segments();
    for round in 1..=20 {
        flow.round();
        let expected = start + slope * f64::from(round);
        assert!(
            (flow.segments() - expected).abs() < 0.5,
            "{} != {expected}",
            flow.segments()
        );
    }
    while flow.segments() < 45.0 {
        flow.round();
    }
    let before = flow.segments();
    for _ in 0..20 {
        flow.round();
    }
    assert!(
        (flow.segments() - before - 20.0).abs() < 0.5,
        "{}",
        flow.segments() - before
    );
}

#[test]
fn a_loss_below_the_last_plateau_lowers_the_next_one() {
    // Fast convergence (4.7): W_max = cwnd (1 + beta) / 2.
    let mut flow = Flow::after_loss(1_000, Duration::from_ms(100));
    flow.run_until(Time::ZERO, 2.0);
    let at_loss = flow.segments();
    assert!(at_loss < 1_000.0);
    flow.lose();
    let start = flow.now;
    let w_max = at_loss * (1.0 + BETA) / 2.0;
    let k = ((w_max - at_loss * BETA) / C).cbrt();
    flow.run_until(start, k);
    assert!(
        (flow.segments() - w_max).abs() < 2.0,
        "{} != {w_max}",
        flow.segments()
    );
}

#[test]
fn slow_start_that_ends_without_loss_goes_on_from_where_it_is() {
    let mut flow = Flow {
        cubic: Cubic::new(),
        window: Window {
            cwnd: 100 * MSS,
            ssthresh: 100 * MSS,
        },
        now: Time::ZERO,
        round_trip: Duration::from_ms(100),
        una: 0,
    };
    // K = 0 and W_max = 100: W(t) = 100 + 0.4 t^3, but at least Reno's growth of one per round trip.
    flow.run_until(Time::ZERO, 1.0);
    assert!((flow.segments() - 110.0).abs() < 1.0, "{}", flow.segments());
}
