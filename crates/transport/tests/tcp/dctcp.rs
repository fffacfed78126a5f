//! Tests of DCTCP (RFC 8257): its estimate against the recurrence, its reduction, and its receiver.
//! Without marks, DCTCP must equal NewReno.

use crate::pair;

use pair::{A, B, Fate, Pair, lose_once, plain_config, tcp};
use tailcut_transport::Ecn;
use tailcut_transport::tcp::congestion::{Ack, Congested, CongestionControl, Dctcp, Window};
use tailcut_transport::tcp::{Congestion, DelayedAck, Host, TcpConfig, TcpFlags};
use tailcut_units::{Duration, Time};

fn dctcp() -> TcpConfig {
    TcpConfig {
        congestion: Congestion::DCTCP,
        ..plain_config()
    }
}

const MSS: u64 = 1_000;

/// Connection with a window of `window` segments. The test passes single ACKs to it.
struct Acks {
    dctcp: Dctcp,
    window: Window,
    una: u64,
}

impl Acks {
    /// Sends ACKs without marks for `segments` segments. The same number of segments is in flight.
    fn window(&mut self, segments: u32) {
        self.in_flight(u64::from(segments), segments, 0);
    }

    /// Sends `acks` ACKs. The first `marked` of them have marks. `segments` segments are in flight after each ACK.
    fn in_flight(&mut self, segments: u64, acks: u32, marked: u32) {
        for segment in 0..acks {
            self.una += MSS;
            let ack = Ack {
                now: Time::ZERO,
                acked: MSS,
                marked: segment < marked,
                una: self.una,
                nxt: self.una + segments * MSS,
                mss: MSS,
                may_grow: false,
                slow_start_limit: 2 * MSS,
                srtt: Duration::from_us(100),
                rtt: None,
            };
            self.dctcp.on_ack(&mut self.window, &ack);
        }
    }
}

#[test]
fn alpha_follows_its_recurrence_once_a_window() {
    let gain = 1.0 / 16.0;
    let window = Window {
        cwnd: 10 * MSS,
        ssthresh: 10 * MSS,
    };
    let mut acks = Acks {
        dctcp: Dctcp::new(gain, 1.0),
        window,
        una: 0,
    };
    assert_eq!(acks.dctcp.alpha(), 1.0, "RFC 8257, 4.2: alpha starts at 1");
    // The first ACK passes the end of the first window, which is the start of the connection.
    acks.in_flight(10, 1, 0);
    let mut expected = 1.0 - gain;
    assert!((acks.dctcp.alpha() - expected).abs() < 1e-12);
    // A window ends with the first ACK above all data that was sent when the window began.
    // So each window of this test has eleven ACKs, although ten segments are in flight.
    for marked in [11, 11, 0, 5, 1, 0, 0, 11] {
        acks.in_flight(10, 11, marked);
        let fraction = f64::from(marked) / 11.0;
        expected = expected * (1.0 - gain) + gain * fraction;
        assert!(
            (acks.dctcp.alpha() - expected).abs() < 1e-12,
            "{marked} of 11 marked"
        );
    }
}

#[test]
fn marks_halve_the_window_at_first_and_cut_little_once_they_are_rare() {
    let mut dctcp = Dctcp::new(1.0 / 16.0, 1.0);
    let mut window = Window {
        cwnd: 100_000,
        ssthresh: u64::MAX,
    };
    let congested = Congested {
        now: Time::ZERO,
        in_flight: 100_000,
        mss: MSS,
    };
    dctcp.on_mark(&mut window, &congested);
    assert_eq!(
        window,
        Window {
            cwnd: 50_000,
            ssthresh: 50_000
        }
    );

    let mut acks = Acks {
        dctcp: Dctcp::new(1.0 / 16.0, 1.0),
        window,
        una: 0,
    };
    for _ in 0..64 {
        acks.window(10);
    }
    let alpha = acks.dctcp.alpha();
    assert!(alpha < 0.03, "{alpha}");
    acks.dctcp.on_mark(&mut acks.window, &congested);
    let expected = (50_000.0 * (1.0 - alpha / 2.0)) as u64;
    assert_eq!(acks.window.cwnd, expected);
}

#[test]
fn the_first_mark_cuts_by_the_first_estimate() {
    let after_a_mark = |first_alpha| {
        let mut dctcp = Dctcp::new(1.0 / 16.0, first_alpha);
        let mut window = Window {
            cwnd: 100 * MSS,
            ssthresh: u64::MAX,
        };
        let congested = Congested {
            now: Time::ZERO,
            in_flight: window.cwnd,
            mss: MSS,
        };
        dctcp.on_mark(&mut window, &congested);
        window.cwnd / MSS
    };
    assert_eq!([1.0, 0.5, 0.0].map(after_a_mark), [50, 75, 100]);
}

#[test]
fn a_loss_halves_the_window_whatever_alpha_is() {
    let mut acks = Acks {
        dctcp: Dctcp::new(1.0 / 16.0, 1.0),
        window: Window {
            cwnd: 100_000,
            ssthresh: u64::MAX,
        },
        una: 0,
    };
    for _ in 0..64 {
        acks.window(10);
    }
    let congested = Congested {
        now: Time::ZERO,
        in_flight: 100_000,
        mss: MSS,
    };
    acks.dctcp.on_loss(&mut acks.window, &congested);
    assert_eq!(
        acks.window,
        Window {
            cwnd: 50_000,
            ssthresh: 50_000
        }
    );
}

/// Returns the segments and their times, without the ECN fields.
fn without_ecn(pair: &Pair<Host>) -> Vec<(Time, usize, u64, u32, u64, bool)> {
    let plain = |sent: &pair::Sent| {
        let header = sent.header();
        let fin = header.flags.has(TcpFlags::FIN);
        (
            sent.at,
            sent.from,
            header.offset,
            sent.segment.payload,
            header.ack,
            fin,
        )
    };
    pair.sent.iter().map(plain).collect()
}

#[test]
fn without_marks_it_is_newreno_to_the_byte() {
    for lost in [
        &[][..],
        &[4],
        &[4, 7, 30],
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        &[99],
    ] {
        let run = |config: &TcpConfig| {
            let mut pair = tcp(config).with_fault(lose_once(lost));
            pair.submit(0, 400_500);
            pair.run();
            without_ecn(&pair)
        };
        assert_eq!(run(&dctcp()), run(&plain_config()), "lost {lost:?}");
    }
}

#[test]
fn only_data_is_ecn_capable() {
    let mut pair = tcp(&dctcp()).with_fault(lose_once(&[3]));
    pair.submit(0, 20_000);
    pair.run();
    for sent in &pair.sent {
        let expected = if sent.segment.payload > 0 {
            Ecn::Capable
        } else {
            Ecn::NotCapable
        };
        assert_eq!(sent.segment.ecn, expected, "{sent:?}");
    }
}

#[test]
fn newreno_sends_nothing_ecn_capable_unless_told_to() {
    let mut pair = tcp(&plain_config());
    pair.submit(0, 20_000);
    pair.run();
    assert!(
        pair.sent
            .iter()
            .all(|sent| sent.segment.ecn == Ecn::NotCapable)
    );
    assert!(
        pair.sent
            .iter()
            .all(|sent| !sent.header().flags.has(TcpFlags::ECE))
    );
}

#[test]
fn a_peer_that_does_not_answer_in_kind_switches_ecn_off() {
    let host = |id, config: TcpConfig| Host::new(tailcut_units::HostId(id), config).expect("valid");
    let mut pair = Pair::new(host(0, dctcp()), host(1, plain_config()));
    pair.submit(0, 20_000);
    pair.run();
    assert!(
        pair.sent
            .iter()
            .all(|sent| sent.segment.ecn == Ecn::NotCapable)
    );
    assert!(pair.completed(0).is_some());
}

/// Returns a pair whose network marks the data segments with the numbers `marked`.
fn marking(config: &TcpConfig, marked: &'static [u64]) -> Pair<Host> {
    tcp(config).with_fault(move |passage| {
        if passage.is_data() && marked.contains(&(passage.header.offset / MSS)) {
            Fate::Mark
        } else {
            Fate::Deliver
        }
    })
}

#[test]
fn the_receiver_acknowledges_at_once_when_the_mark_changes() {
    let timeout = Duration::from_ms(40);
    let config = TcpConfig {
        delayed_ack: Some(DelayedAck {
            segments: 2,
            timeout,
        }),
        ..dctcp()
    };
    let mut pair = marking(&config, &[3, 4, 5, 6]);
    pair.submit(0, 10_000);
    pair.run();
    let of_b = pair
        .sent
        .iter()
        .zip(pair.trace(MSS))
        .filter(|(sent, _)| sent.from == B);
    let acks: Vec<String> = of_b.map(|(_, line)| line).skip(1).collect();
    assert_eq!(
        acks,
        [
            "B ack 2",
            "B ack 3",     // 2 was delayed: it had no mark
            "B ECE ack 4", // 3 is the first with a mark
            "B ECE ack 6", // 4 and 5 both have marks
            "B ECE ack 7", // 6 was delayed: it had a mark
            "B ack 8",     // 7 is the first without a mark
            "B FIN ack 10+1",
        ]
    );
}

#[test]
fn one_window_is_cut_once_however_many_marks_it_has() {
    let cwnd_after = |marked: &'static [u64]| {
        let mut pair = marking(&dctcp(), marked).with_one_way(Duration::from_ms(10));
        pair.submit(0, 1_000_000);
        pair.run_until(Time::ZERO + Duration::from_ms(55));
        let endpoint = pair.hosts[A].endpoint();
        let id = endpoint.ids().next().expect("a connection");
        endpoint.window(id).expect("a live connection")
    };
    let once = cwnd_after(&[0]);
    // Alpha is 15/16 + 1/16 = 1, because the first ACK of the connection is marked and ends the first window.
    // With an alpha of 1, the mark halves the window of ten segments.
    assert_eq!(once.ssthresh, 5_000);
    assert_eq!(cwnd_after(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]).ssthresh, 5_000);
}

#[test]
fn classic_ecn_halves_newreno_once_and_says_so() {
    let config = TcpConfig {
        classic_ecn: true,
        ..plain_config()
    };
    let mut pair = marking(&config, &[2]).with_one_way(Duration::from_ms(10));
    pair.submit(0, 40_000);
    pair.run();
    let trace = pair.trace(MSS);
    let echoes = trace
        .iter()
        .filter(|line| line.starts_with("B ECE"))
        .count();
    assert!(
        echoes > 1,
        "the echo lasts until the sender reports its reduced window"
    );
    let reduced = trace
        .iter()
        .filter(|line| line.starts_with("A CWR"))
        .count();
    assert_eq!(reduced, 1);
    assert_eq!(pair.stats(0).retransmissions, 0);
}
