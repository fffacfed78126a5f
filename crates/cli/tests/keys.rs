//! No key is only for show: each one changes what is run, or what is written.

use std::collections::BTreeSet;
use tailcut_cli::scenario::schema::SECTIONS;
use tailcut_cli::scenario::{Place, Scenario};
use tailcut_cli::study::Study;

const TOP: &str = "designs = [\"tcp\", \"dctcp\"]\n";
const SPINES: &str = "[topology]\nkind = \"leaf-spine\"\n";
const TREE: &str = "[topology]\nkind = \"fat-tree\"\n";
const OWN: &str = "[[nodes]]\nname = \"h\"\nkind = \"host\"\ncount = 2\n[[nodes]]\nname = \"s\"\n\
                   kind = \"switch\"\n[[links]]\na = \"h\"\nb = \"s\"\n[[nodes]]\nname = \"t\"\nkind = \"switch\"\n";
const OPEN: &str = "[[workload]]\n";
const FAN_IN: &str = "[[workload]]\nfan_in_senders = 4\n";
const CLOSED: &str = "[[workload]]\nkind = \"closed\"\n";
const BURST: &str = "[[workload]]\nkind = \"burst\"\n";
const REQUESTS: &str = "[[workload]]\nkind = \"requests\"\n";
const STORAGE: &str = "[[workload]]\nkind = \"storage\"\nsessions_per_second = 100\n";
const CHAIN: &str = "[[workload]]\nkind = \"storage\"\nsessions_per_second = 100\n\
                     write = \"daisy-chain\"\n";
const ONE_REPLICA: &str = "[[workload]]\nkind = \"storage\"\nsessions_per_second = 100\n\
                           read = \"one-replica\"\n";
const QUORUM: &str = "[scdp]\nstragglers = \"quorum\"\n";
const DISK: &str = "[servers]\ndisk = \"1Gbps\"\n";
const INCAST: &str = "[[workload]]\nmatrix = \"incast\"\n";
const PERMUTATION: &str = "[[workload]]\nmatrix = \"permutation\"\n";
const ANYWHERE: &str = "[[workload]]\nmatrix = \"anywhere\"\n";
const PAIRS: &str = "[[workload]]\nmatrix = \"pairs\"\npairs = [[0, 1]]\n";
const FAILURE: &str =
    "[topology]\nkind = \"leaf-spine\"\n[[failures]]\na = \"leaf0\"\nb = \"spine0\"\n";
const COALESCING: &str = "[nic]\nrx_frames = 8\n";
const BUFFER: &str = "[shared_buffer]\ncapacity = \"4MB\"\n";

/// Every key, with a scenario that uses it and a value that it does not have there.
const CHANGES: &[(&str, &str, &str)] = &[
    ("name", "", "other"),
    ("about", "", "something"),
    ("designs", "", "repflow"),
    ("loads", "", "0.1"),
    ("seed", "", "9"),
    ("seeds", "", "3"),
    ("duration", "", "3s"),
    ("flows", "", "7"),
    ("drain", "", "3s"),
    ("sample_every", "", "1ms"),
    ("measure_waits", "", "true"),
    ("measure_bursts", "", "true"),
    ("measure_goodput", "", "true"),
    ("tables", "", "csv"),
    ("engine", "", "heap"),
    ("port_events", "", "two"),
    ("topology.kind", "", "fat-tree"),
    ("topology.name", "", "other"),
    ("topology.hosts", SPINES, "5"),
    ("topology.leaves", SPINES, "5"),
    ("topology.spines", SPINES, "5"),
    ("topology.host_links", SPINES, "2"),
    ("topology.k", TREE, "4"),
    ("topology.tiers", TREE, "2"),
    ("topology.oversubscription", SPINES, "3"),
    ("topology.core_oversubscription", TREE, "2"),
    ("topology.cores_per_aggregation", TREE, "3"),
    ("topology.rate", "", "1Gbps"),
    ("topology.delay", "", "3us"),
    ("topology.fabric_rate", SPINES, "1Gbps"),
    ("topology.fabric_delay", SPINES, "3us"),
    ("nodes.count", OWN, "3"),
    ("links.b", OWN, "t"),
    ("links.rate", OWN, "1Gbps"),
    ("links.delay", OWN, "3us"),
    ("failures.a", FAILURE, "leaf1"),
    ("failures.b", FAILURE, "spine1"),
    ("failures.rate", FAILURE, "1Gbps"),
    ("failures.from", FAILURE, "1ms"),
    ("failures.until", FAILURE, "2s"),
    ("failures.reconvergence", FAILURE, "1ms"),
    ("queue.limit", "", "7 packets"),
    ("queue.mark_above", "", "7 packets"),
    ("shared_buffer.capacity", BUFFER, "1MB"),
    ("shared_buffer.alpha", BUFFER, "2"),
    ("framing.header", "", "66"),
    ("framing.preamble_and_gap", "", "24"),
    ("framing.min_frame", "", "64"),
    ("tcp.mss", "", "1000"),
    ("tcp.initial_window", "", "12KB"),
    ("tcp.min_rto", "", "100ms"),
    ("tcp.initial_rto", "", "3s"),
    ("tcp.max_rto", "", "30s"),
    ("tcp.clock_granularity", "", "2ms"),
    ("tcp.delayed_ack", "", "off"),
    ("tcp.delayed_ack_timeout", "", "3ms"),
    ("tcp.limited_transmit", "", "false"),
    ("tcp.sack", "", "true"),
    ("tcp.lso", "", "64KB"),
    ("tcp.max_cwnd", "", "1MB"),
    ("tcp.initial_ssthresh", "", "64KB"),
    ("tcp.duplicate_ack_threshold", "", "5"),
    ("tcp.max_syn_retries", "", "5"),
    ("tcp.max_data_retries", "", "5"),
    ("tcp.dctcp_gain", "", "0.5"),
    ("tcp.classic_ecn", "", "true"),
    ("repnet.limit", "", "50KB"),
    ("repnet.archive_limit", "", "50KB"),
    ("repnet.waiting_list_timeout", "", "2s"),
    ("pfabric.queue", "", "70KB"),
    ("pfabric.initial_window", "", "70"),
    ("pfabric.max_window", "", "7"),
    ("pfabric.rto", "", "250us"),
    ("pfabric.probe_after", "", "3"),
    ("pias.thresholds", "", "10KB,100KB,1MB,10MB"),
    ("pias.limit", "", "70 packets"),
    ("pias.buffer", "", "by-class"),
    ("pias.resends_count", "", "true"),
    ("pias.host_order", "", "false"),
    ("qos.small_below", "", "1MB"),
    ("hull.phantom_drain", "", "0.9"),
    ("hull.phantom_mark_above", "", "15KB"),
    ("hull.phantom_placement", "", "parallel"),
    ("hull.pacer", "", "false"),
    ("hull.pacer_interval", "", "32us"),
    ("hull.pacer_measurement_gain", "", "0.25"),
    ("hull.pacer_backlog_gain", "", "256"),
    ("hull.pacer_association", "", "1"),
    ("hull.pacer_expiry", "", "20ms"),
    ("hull.pacer_min_rate", "", "1Mbps"),
    ("hull.pacer_max_rate", "", "500Mbps"),
    ("hull.pacer_bucket", "", "3KB"),
    ("nic.rx_frames", "", "8"),
    ("nic.rx_timeout", COALESCING, "20us"),
    ("ndp.initial_window", "", "12"),
    ("ndp.queue", "", "100KB"),
    ("ndp.header_queue", "", "16"),
    ("ndp.headers_per_data", "", "5"),
    ("ndp.min_rto", "", "1ms"),
    ("ndp.initial_rto", "", "30ms"),
    ("ndp.thresholds", "", "20KB"),
    ("ndp.resends_count", "", "false"),
    ("ndp.host_order", "", "false"),
    ("ndp.buffer", "", "by-class"),
    ("scdp.initial_window", "", "12"),
    ("scdp.shared_window", "", "6"),
    ("scdp.stragglers", "", "drop"),
    ("scdp.straggler_after", "", "5ms"),
    ("scdp.quorum", QUORUM, "1"),
    ("scdp.block_symbols", "", "50"),
    ("scdp.overhead", "", "1"),
    ("scdp.decode_rate", "", "3Gbps"),
    ("scdp.decode_failure", "", "0.1,0,0"),
    ("scdp.thresholds", "", "20KB"),
    ("scdp.host_order", "", "false"),
    ("scdp.max_timeouts", "", "3"),
    ("scdp.timeout", "", "5ms"),
    ("scdp.queue", "", "16 packets"),
    ("scdp.header_queue", "", "100KB"),
    ("scdp.headers_per_data", "", "5"),
    ("scdp.victim", "", "coin"),
    ("letflow.gap", "", "1ms"),
    ("conga.gap", "", "1ms"),
    ("conga.dre_interval", "", "1ms"),
    ("conga.dre_keep", "", "0.5"),
    ("conga.levels", "", "16"),
    ("conga.metric_timeout", "", "1ms"),
    ("conga.between_pods", "", "random"),
    ("expeditus.dre_interval", "", "1ms"),
    ("expeditus.dre_keep", "", "0.5"),
    ("expeditus.levels", "", "16"),
    ("expeditus.entry_timeout", "", "1ms"),
    ("expeditus_deck.level_bytes", "", "100"),
    ("expeditus_deck.combination", "", "sum"),
    ("expeditus_deck.heard_timeout", "", "2ms"),
    ("expeditus_deck.encapsulation", "", "24"),
    ("expeditus_deck.entry_timeout", "", "1ms"),
    ("omniscient.sight", "", "queue"),
    ("omniscient.dre_interval", "", "1ms"),
    ("omniscient.dre_keep", "", "0.5"),
    ("omniscient.entry_timeout", "", "1ms"),
    ("servers.cpu", "", "1ms"),
    ("servers.cpu_times", "", "exponential"),
    ("servers.straggler_share", "", "0.05"),
    ("servers.straggler_factor", "", "3"),
    ("servers.disk", "", "1Gbps"),
    ("servers.seek", DISK, "1ms"),
    ("servers.link", "", "3Gbps"),
    ("servers.client_link", "", "1Gbps"),
    ("servers.request_size", "", "1KB"),
    ("servers.chunk", "", "64KB"),
    ("servers.discipline", "", "processor-sharing"),
    ("servers.preemption", "", "never"),
    ("servers.delay", "", "1us"),
    ("servers.purge_delay", "", "1ms"),
    ("rans.copies", "", "3"),
    ("rans.quorum", "", "2"),
    ("rans.purge", "", "queued"),
    ("rans.swap_lead", "", "1MB"),
    ("rans.hedge_percentile", "", "99"),
    ("rans.hedge_window", "", "10"),
    ("rans.hedge_after", "", "1ms"),
    ("rans.budget", "", "5"),
    ("rans.budget_burst", "", "3"),
    ("workload.kind", OPEN, "burst"),
    ("workload.class", OPEN, "probe"),
    ("workload.sizes", OPEN, "fixed:1KB"),
    ("workload.matrix", OPEN, "anywhere"),
    ("workload.within_racks", PERMUTATION, "false"),
    ("workload.share", PERMUTATION, "0.5"),
    ("workload.leave_out", ANYWHERE, "0.5"),
    ("workload.senders", INCAST, "3"),
    ("workload.receiver", INCAST, "3"),
    ("workload.pairs", PAIRS, "2-3"),
    ("workload.load", OPEN, "0.25"),
    ("workload.load_of", OPEN, "racks"),
    ("workload.count_headers", OPEN, "true"),
    ("workload.flows_per_second", OPEN, "1000"),
    ("workload.arrivals", OPEN, "fixed"),
    ("workload.from", OPEN, "1ms"),
    ("workload.until", OPEN, "2ms"),
    ("workload.flows", OPEN, "7"),
    ("workload.fan_in_senders", FAN_IN, "5"),
    ("workload.fan_in_below", FAN_IN, "50KB"),
    ("workload.outstanding", CLOSED, "2"),
    ("workload.think", CLOSED, "1ms"),
    ("workload.path", OPEN, "1"),
    ("workload.at", BURST, "1ms"),
    ("workload.jitter", BURST, "1ms"),
    ("workload.clients", REQUESTS, "3"),
    ("workload.sessions_per_second", STORAGE, "9"),
    ("workload.replicas", STORAGE, "2"),
    ("workload.read_share", STORAGE, "0.5"),
    ("workload.write", STORAGE, "multi-unicast"),
    ("workload.chunk", CHAIN, "1KB"),
    ("workload.read", STORAGE, "one-replica"),
    ("workload.blocks", ONE_REPLICA, "3"),
    ("workload.servers", REQUESTS, "3"),
    ("workload.requests_per_second", REQUESTS, "9"),
];

/// Keys without which there is nothing to be read: other tests hold them.
const REQUIRED: [&str; 4] = ["nodes.name", "nodes.kind", "links.a", "workload.file"];

/// What is run and written, in words; the manifest's copy of the scenario is left out.
fn in_words(scenario: &Scenario) -> Result<String, String> {
    let study = Study::of(scenario).map_err(|error| error.to_string())?;
    Ok(format!(
        "{} {} {:?} {} {:?}",
        study.name, study.about, study.format, study.seed, study.runs
    ))
}

#[test]
fn every_key_changes_something() {
    for (path, text, value) in CHANGES {
        // Requests have designs of their own.
        let top = match *text {
            REQUESTS => "designs = [\"stations\", \"rans\"]\n",
            _ => TOP,
        };
        let before = Scenario::parse("s.toml", "", &format!("{top}{text}")).expect(path);
        let mut after = before.clone();
        after.set(path, value, &Place::flag("--set")).expect(path);
        let (before, after) = (in_words(&before), in_words(&after));
        // Moving the one link leaves a switch without hosts' links: that it is refused shows that it is read.
        if *path == "links.b" {
            assert_ne!(before, after, "{path}");
            continue;
        }
        let (before, after) = (before.expect(path), after.expect(path));
        assert_ne!(before, after, "{path} = {value} changes nothing");
    }
}

#[test]
fn no_key_is_left_out() {
    let tried: BTreeSet<&str> = CHANGES
        .iter()
        .map(|(path, ..)| *path)
        .chain(REQUIRED)
        .collect();
    for section in SECTIONS {
        for key in section.keys {
            let path = section.path(key.name);
            assert!(
                tried.contains(path.as_str()),
                "{path}: say in CHANGES what it changes"
            );
        }
    }
}
