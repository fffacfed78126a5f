//! Sizes of packets on links.

#[allow(dead_code, reason = "each test uses a part of the support")]
#[path = "truth/support.rs"]
mod support;

use support::{Run, config, queue_of, simulate, single_switch, trace, web_search};
use tailcut_units::Duration;

#[test]
fn small_frames_are_padded_where_a_scenario_says_so() {
    let shape = || single_switch(2, queue_of(100));
    let any = web_search(0.1, Duration::from_us(1));
    let topology = Run::of(&config("tcp", "single", shape(), any)).topology;
    // The last packet has one byte of payload.
    let flow = || trace("start_ns,src,dst,bytes\n0,0,1,14601\n", &topology);
    for (min_frame, smallest) in [(0, 78), (64, 84)] {
        let mut config = config("tcp", "single", shape(), flow());
        config.settings.framing.min_frame = min_frame;
        let record = simulate(&config);
        let acks = record.ports.iter().find(|port| port.name == "h1>s0");
        let acks = acks.expect("a port");
        assert_eq!(acks.bytes.0, smallest * acks.packets);
        let flow = record.flows[0];
        assert!(flow.fct >= Some(flow.ideal_fct), "{flow:?}");
        let data = record.ports.iter().find(|port| port.name == "h0>s0");
        let data = data.expect("a port");
        // Ten full packets, one packet with one byte, and packets without payload.
        let last = if min_frame == 0 { 79 } else { 84 };
        assert_eq!(
            data.bytes.0,
            10 * 1_538 + last + (data.packets - 11) * smallest
        );
    }
}
