//! Tests of DCTCP's steady state: the formulas are compared with a step-by-step simulation of the window's sawtooth.

use tailcut_oracle::dctcp::Steady;

/// Simulates one period of a window that grows by one packet per round-trip time.
/// The window starts at (W* + 1)(1 - alpha / 2) and ends at W* + 1.
/// Returns the packets sent, the packets sent above W*, and the period in round-trip times.
fn sawtooth(critical: f64, alpha: f64) -> (f64, f64, f64) {
    const STEP: f64 = 1e-4;
    let mut window = (critical + 1.0) * (1.0 - alpha / 2.0);
    let (mut sent, mut marked, mut period) = (0.0, 0.0, 0.0);
    while window < critical + 1.0 {
        let packets = window * STEP;
        sent += packets;
        if window > critical {
            marked += packets;
        }
        window += STEP;
        period += STEP;
    }
    (sent, marked, period)
}

#[test]
fn alpha_is_the_share_of_packets_that_its_own_sawtooth_marks() {
    for (bdp_packets, threshold, flows) in
        [(83.0, 65.0, 2.0), (8.0, 20.0, 2.0), (100.0, 65.0, 20.0)]
    {
        let steady = Steady {
            bdp_packets,
            threshold,
            flows,
        };
        // The loop averages alpha like the sender. The average converges to the fixed point.
        let mut alpha = 1.0;
        for _ in 0..400 {
            let (sent, marked, _) = sawtooth(steady.critical_window(), alpha);
            alpha += (marked / sent - alpha) / 16.0;
        }
        let solved = steady.alpha();
        assert!((alpha - solved).abs() < 1e-3, "{alpha} against {solved}");
        let (_, _, period) = sawtooth(steady.critical_window(), solved);
        assert!((period - steady.window_amplitude()).abs() < 1e-3);
    }
}

#[test]
fn alpha_approaches_the_square_root_for_large_windows() {
    let error = |window: f64| {
        let steady = Steady {
            bdp_packets: window,
            threshold: 0.0,
            flows: 1.0,
        };
        (steady.alpha() / steady.alpha_for_large_windows() - 1.0).abs()
    };
    assert!(error(50.0) < 0.02);
    assert!(error(10_000.0) < 0.002);
    assert!(error(10_000.0) < error(1_000.0));
}

#[test]
fn with_one_packet_windows_every_packet_is_marked() {
    let steady = Steady {
        bdp_packets: 1.0,
        threshold: 2.0,
        flows: 40.0,
    };
    assert_eq!(steady.alpha(), 1.0);
}

#[test]
fn a_high_enough_threshold_keeps_the_queue_from_emptying_for_any_number_of_flows() {
    let smallest = |threshold| {
        (1..300)
            .map(|flows| {
                let steady = Steady {
                    bdp_packets: 700.0,
                    threshold,
                    flows: f64::from(flows),
                };
                steady.smallest_queue()
            })
            .fold(f64::INFINITY, f64::min)
    };
    // Section 3.4 of the paper derives K > C RTT / 7 from two approximations: alpha = sqrt(2 / W*), and W* + 1 ~ W*.
    // The two approximations are inaccurate in the worst case, with windows of five to eight packets.
    // The exact solution requires K > 0.192 C RTT.
    assert!(smallest(0.195 * 700.0) > 0.0);
    assert!(smallest(0.185 * 700.0) < 0.0);
}

#[test]
fn the_queues_sawtooth_spans_its_amplitude() {
    let steady = Steady {
        bdp_packets: 83.0,
        threshold: 65.0,
        flows: 2.0,
    };
    assert_eq!(steady.largest_queue(), 67.0);
    let swing = steady.largest_queue() - steady.smallest_queue();
    assert!((swing - steady.queue_amplitude()).abs() < 1e-9);
}
