//! Records of flows that are unfinished at the end of the run.

#[allow(dead_code, reason = "each test uses a part of the support")]
#[path = "truth/support.rs"]
mod support;

use support::{config, queue_of, simulate, single_switch, web_search};
use tailcut_units::Duration;

#[test]
fn a_flow_that_is_cut_off_has_what_it_cost_until_then() {
    for design in [
        "dctcp", "repflow", "hull", "qos", "pias", "pfabric", "ndp", "scdp",
    ] {
        let load = web_search(0.8, Duration::from_us(3_000));
        let mut config = config(design, "single", single_switch(6, queue_of(50)), load);
        config.drain = Duration::from_us(1);
        let cut = simulate(&config);
        let open = || cut.flows.iter().filter(|flow| flow.fct.is_none());
        assert!(open().count() >= 3, "{design}: {} cut off", open().count());
        let large = open().filter(|flow| flow.bytes.0 > 1_000_000);
        assert!(large.clone().count() > 0, "{design}");
        assert!(
            large.clone().all(|flow| flow.payload_sent.0 > 0),
            "{design}"
        );
        let none_too_much = open().all(|flow| flow.payload_sent.0 < 2 * flow.bytes.0 + 100_000);
        assert!(none_too_much, "{design}");
        // Senders have sent at least the payload that has arrived. Each delivered packet has 78 B of headers.
        let sent = cut
            .flows
            .iter()
            .map(|flow| flow.payload_sent.0)
            .sum::<u64>();
        let delivered = cut.totals.delivered;
        assert!(sent + 78 * delivered.packets >= delivered.bytes, "{design}");

        config.drain = Duration::from_secs_f64(5.0);
        let whole = simulate(&config);
        for (cut, whole) in cut.flows.iter().zip(&whole.flows) {
            assert_eq!(cut.flow, whole.flow);
            assert!(
                cut.payload_sent <= whole.payload_sent,
                "{design}: cut-off flow {cut:?}, complete flow {whole:?}"
            );
            assert!(
                cut.retransmissions <= whole.retransmissions,
                "{design}: {cut:?}"
            );
            assert!(cut.timeouts <= whole.timeouts, "{design}: {cut:?}");
            assert_eq!(
                cut.copies, whole.copies,
                "{design}: cut-off flow {cut:?}, complete flow {whole:?}"
            );
        }
    }
}
