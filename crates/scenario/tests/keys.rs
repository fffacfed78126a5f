//! Every key has an effect: it changes the configuration of the runs or the output.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tailcut_scenario::schema::sections;
use tailcut_scenario::{Location, Scenario, Study};

const TOP: &str = "designs = [\"tcp\", \"dctcp\"]\n";
const SPINES: &str = "[topology]\nkind = \"leaf-spine\"\n";
const TREE: &str = "[topology]\nkind = \"fat-tree\"\n";
const OWN: &str = "[[nodes]]\nname = \"h\"\nkind = \"host\"\ncount = 2\n[[nodes]]\nname = \"s\"\n\
                   kind = \"switch\"\n[[links]]\na = \"h\"\nb = \"s\"\n[[nodes]]\nname = \"t\"\nkind = \"switch\"\n";
const OPEN: &str = "[[workload]]\n";
const FAN_IN: &str = "[[workload]]\nfan_in_senders = 4\n";
const QUERIES: &str = "[[workload]]\nkind = \"queries\"\n";
const THINKING: &str = "[[workload]]\nkind = \"queries\"\nthink = \"1ms\"\n";
const CLOSED: &str = "[[workload]]\nkind = \"closed\"\n";
const BURST: &str = "[[workload]]\nkind = \"burst\"\n";
const REQUESTS: &str = "[[workload]]\nkind = \"requests\"\n";
const STORAGE: &str = "[[workload]]\nkind = \"storage\"\nsessions_per_second = 100\n";
const CHAIN: &str = "[[workload]]\nkind = \"storage\"\nsessions_per_second = 100\n\
                     write = \"daisy-chain\"\n";
const ONE_REPLICA: &str = "[[workload]]\nkind = \"storage\"\nsessions_per_second = 100\n\
                           read = \"one-replica\"\n";
const QUORUM: &str = "[scdp]\nstragglers = \"quorum\"\n[[workload]]\nkind = \"storage\"\n\
                      sessions_per_second = 100\n";
const CPU: &str = "[servers]\ncpu = \"1ms\"\n";
const STRAGGLERS: &str = "[servers]\ncpu = \"1ms\"\nstraggler_share = 0.1\n";
const DISK: &str = "[servers]\ndisk = \"1Gbps\"\n";
const INCAST: &str = "[[workload]]\nmatrix = \"incast\"\n";
const PERMUTATION: &str = "[[workload]]\nmatrix = \"permutation\"\n";
const ANYWHERE: &str = "[[workload]]\nmatrix = \"anywhere\"\n";
const PAIRS: &str = "[[workload]]\nmatrix = \"pairs\"\npairs = [[0, 1]]\n";
const FAILURE: &str =
    "[topology]\nkind = \"leaf-spine\"\n[[failures]]\na = \"leaf0\"\nb = \"spine0\"\n";
const GROUP: &str = "[[groups]]\nhosts = [\"h0\", \"h1\"]\nsource_weight = 2\n";
const COALESCING: &str = "[nic]\nrx_frames = 8\n";
const CODEL: &str = "[queue]\ndiscipline = \"codel\"\n";
const FQ_CODEL: &str = "[queue]\ndiscipline = \"fq-codel\"\n";
const RED: &str = "[queue]\ndiscipline = \"red\"\n";
const BUFFER: &str = "[shared_buffer]\ncapacity = \"4MB\"\n";

/// All keys, each with a scenario that uses it and a value that differs from the value in the scenario.
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
    ("clock", "", "wall"),
    ("slowdown", "clock = \"wall\"\n", "3"),
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
    ("topology.core_rate", TREE, "40Gbps"),
    ("topology.core_delay", TREE, "7us"),
    ("topology.fabric_delay", SPINES, "3us"),
    ("nodes.count", OWN, "3"),
    ("links.b", OWN, "t"),
    ("links.rate", OWN, "1Gbps"),
    ("links.delay", OWN, "3us"),
    ("failures.a", FAILURE, "leaf1"),
    ("failures.b", FAILURE, "spine1"),
    ("failures.link", FAILURE, "0"),
    ("failures.rate", FAILURE, "1Gbps"),
    ("failures.loss", FAILURE, "0.01"),
    ("failures.from", FAILURE, "1ms"),
    ("failures.until", FAILURE, "2s"),
    ("failures.reconvergence", FAILURE, "1ms"),
    ("queue.discipline", "", "codel"),
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
    ("tcp.sack", "", "false"),
    ("tcp.profile", "", "rfc"),
    ("tcp.timers", "", "stock"),
    ("tcp.min_rto_above_srtt", "", "false"),
    ("tcp.tick", "", "4ms"),
    ("tcp.quick_acks", "", "8"),
    ("tcp.loss_recovery", "", "rfc6675"),
    ("tcp.tail_loss_probe", "", "false"),
    ("tcp.rate_reduction", "", "false"),
    ("tcp.undo", "", "false"),
    ("tcp.frto", "", "false"),
    ("tcp.timestamps", "", "false"),
    ("tcp.reduces_window", "", "false"),
    ("tcp.lost_syn_keeps_window", "", "false"),
    ("tcp.linear_syn_timeouts", "", "5"),
    ("tcp.slow_start_limit", "", "3"),
    ("tcp.window_use", "", "full"),
    ("tcp.restart_after_idle", "", "false"),
    ("tcp.control_ect", "", "false"),
    ("tcp.lso", "", "64KB"),
    ("tcp.max_cwnd", "", "1MB"),
    ("tcp.initial_ssthresh", "", "64KB"),
    ("tcp.hystart", "", "4ms"),
    ("tcp.whole_segments", "", "false"),
    ("tcp.duplicate_ack_threshold", "", "5"),
    ("tcp.max_syn_retries", "", "5"),
    ("tcp.max_data_retries", "", "5"),
    ("tcp.dctcp_gain", "", "0.5"),
    ("tcp.dctcp_first_alpha", "", "none"),
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
    ("pias.relief_after", "", "3"),
    ("pias.host_order", "", "false"),
    ("qos.small_below", "", "1MB"),
    ("hull.phantom_drain", "", "0.9"),
    ("hull.phantom_mark_above", "", "15KB"),
    ("hull.phantom_compare", "", "after"),
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
    ("host.queue", "", "100"),
    ("host.jitter", "", "1us"),
    ("host.drift", "", "100"),
    ("measure.from", "", "20%"),
    ("measure.until", "", "10ms"),
    ("measure.continue_load", "", "true"),
    ("nic.rx_frames", "", "8"),
    ("nic.rx_timeout", COALESCING, "20us"),
    ("nic.gro", COALESCING, "true"),
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
    ("scdp.shared_window", STORAGE, "6"),
    ("scdp.stragglers", STORAGE, "drop"),
    ("scdp.straggler_after", STORAGE, "5ms"),
    ("scdp.quorum", QUORUM, "1"),
    ("scdp.block_symbols", "", "50"),
    ("scdp.overhead", "", "1"),
    ("scdp.decode_rate", "", "3Gbps"),
    ("scdp.decode_cores", "", "4"),
    ("scdp.group_header", "", "325"),
    ("scdp.decode_failure", "", "0.1,0,0"),
    ("scdp.thresholds", "", "20KB"),
    ("scdp.host_order", "", "false"),
    ("scdp.max_timeouts", "", "3"),
    ("scdp.timeout", "", "5ms"),
    ("scdp.queue", "", "16 packets"),
    ("scdp.header_queue", "", "100KB"),
    ("scdp.headers_per_data", "", "5"),
    ("scdp.victim", "", "coin"),
    ("scdp_plain.initial_window", "", "5"),
    ("scdp_plain.max_window", "", "50"),
    ("scdp_plain.loss_by_chance", "", "0.02"),
    ("scdp_plain.min_timeout", "", "1ms"),
    ("scdp_plain.timeout", "", "5ms"),
    ("scdp_plain.ecn", "", "false"),
    ("letflow.gap", "", "1ms"),
    ("ecmp.hash", "", "crc32"),
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
    ("expeditus_deck.southbound_bytes", "", "2"),
    ("expeditus_deck.encapsulation", "", "24"),
    ("expeditus_deck.entry_timeout", "", "1ms"),
    ("omniscient.sight", "", "queue"),
    ("omniscient.dre_interval", "", "1ms"),
    ("omniscient.dre_keep", "", "0.5"),
    ("omniscient.entry_timeout", "", "1ms"),
    ("codel.target", CODEL, "20us"),
    ("codel.interval", CODEL, "2ms"),
    ("codel.ecn", CODEL, "false"),
    ("fq_codel.target", FQ_CODEL, "20us"),
    ("fq_codel.interval", FQ_CODEL, "2ms"),
    ("fq_codel.ecn", FQ_CODEL, "false"),
    ("fq_codel.flows", FQ_CODEL, "64"),
    ("fq_codel.quantum", FQ_CODEL, "3KB"),
    ("red.kmin", RED, "10KB"),
    ("red.kmax", RED, "100KB"),
    ("red.pmax", RED, "0.1"),
    ("servers.cpu", "", "1ms"),
    ("servers.cpu_times", CPU, "exponential"),
    ("servers.straggler_share", CPU, "0.05"),
    ("servers.straggler_factor", STRAGGLERS, "3"),
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
    ("rans.split", "", "ranges"),
    ("rans.swap_lead", "", "1MB"),
    ("rans.hedge_percentile", "", "99"),
    ("rans.hedge_window", "", "10"),
    ("rans.hedge_first", "", "2ms"),
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
    ("workload.think_times", THINKING, "exponential"),
    ("workload.aggregators", QUERIES, "2"),
    ("workload.fan_out", QUERIES, "3"),
    ("workload.question", QUERIES, "1KB"),
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
    ("groups.hosts", GROUP, "h[4..6]"),
    ("groups.source_weight", GROUP, "3"),
    ("groups.destination_weight", GROUP, "3"),
];

/// Keys that only some designs read, each with one design that reads it.
/// A section stands for all its keys, except for keys of earlier entries.
const READERS: &[(&str, &str)] = &[
    ("tcp.classic_ecn", "tcp"),
    ("repnet", "repflow"),
    ("pfabric", "pfabric"),
    ("pias", "pias"),
    ("qos", "qos"),
    ("hull", "hull"),
    ("ndp", "ndp-plus"),
    ("scdp", "scdp"),
    ("scdp_plain", "scdp-plain"),
    ("letflow", "tcp@letflow"),
    ("conga", "tcp@conga"),
    ("expeditus", "tcp@expeditus"),
    ("expeditus_deck", "tcp@expeditus-deck"),
    ("omniscient", "tcp@omniscient"),
    ("servers.request_size", "tcp"),
    ("servers.link", "stations"),
    ("servers.client_link", "stations"),
    ("servers.delay", "stations"),
    ("servers.purge_delay", "stations"),
    ("servers", "stations"),
    ("rans.copies", "duplicate"),
    ("rans.quorum", "stations"),
    ("rans.hedge_percentile", "hedge"),
    ("rans.hedge_window", "hedge"),
    ("rans.hedge_first", "hedge"),
    ("rans.hedge_after", "hedge"),
    ("rans.budget", "hedge-budget"),
    ("rans.budget_burst", "hedge-budget"),
    ("rans", "rans"),
];

/// Keys without which the scenario is invalid, and which separate tests cover.
const REQUIRED: [&str; 7] = [
    "nodes.name",
    "nodes.kind",
    "links.a",
    "workload.file",
    // Keys that need a file or a registered application.
    "workload.table_unit",
    "workload.size_factor",
    "workload.application",
];

/// Returns the runs, the output settings and the measured part as text.
/// Most of the manifest's copy of the scenario is left out, because this copy contains every key.
fn in_words(scenario: &Scenario) -> Result<String, String> {
    let study = Study::of(scenario).map_err(|error| error.to_string())?;
    Ok(format!(
        "{} {} {:?} {} {} {:?}",
        study.name, study.about, study.format, study.seed, study.config["measure"], study.runs
    ))
}

/// Returns a design that reads the key, if not all designs do.
fn reader(path: &str) -> Option<&'static str> {
    let section = path.split_once('.').map_or("", |(section, _)| section);
    let of_key = READERS.iter().find(|(name, _)| *name == path);
    let of_section = || READERS.iter().find(|(name, _)| *name == section);
    of_key.or_else(of_section).map(|(_, design)| *design)
}

/// Returns a scenario with the given designs and with the sections that the key requires.
fn scenario(designs: &str, path: &str, text: &str) -> Scenario {
    let section = path.split_once('.').map_or("", |(section, _)| section);
    let needs = match section {
        "servers" | "rans" if !text.contains("[[workload]]") => REQUESTS,
        _ => "",
    };
    Scenario::parse("s.toml", "", &format!("{designs}{text}{needs}")).expect(path)
}

#[test]
fn every_key_changes_something() {
    for (path, text, value) in CHANGES {
        // Workloads of requests need designs that can carry requests.
        let top = match (*text, reader(path)) {
            (REQUESTS, _) => "designs = [\"stations\", \"rans\"]\n".to_owned(),
            (_, Some(design)) => format!("designs = [\"{design}\"]\n"),
            _ => TOP.to_owned(),
        };
        let before = scenario(&top, path, text);
        let mut after = before.clone();
        after
            .set(path, value, &Location::flag("--set"))
            .expect(path);
        let (before, after) = (in_words(&before), in_words(&after));
        // A new value of `links.b` moves the only link of the hosts to another switch, so the scenario is rejected.
        // The error shows that the key is read.
        if *path == "links.b" {
            assert_ne!(before, after, "{path}");
            continue;
        }
        let (before, after) = (before.expect(path), after.expect(path));
        assert_ne!(before, after, "{path} = {value} changes nothing");
    }
}

/// Returns the error of a study that rejects a key.
fn refusal(scenario: &Scenario, path: &str) -> String {
    match Study::of(scenario) {
        Ok(_) => panic!("{path} is not refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_key_that_no_design_reads_is_refused_with_the_designs_that_would() {
    let mut refused = 0;
    for section in sections() {
        for key in section.keys {
            let path = section.path(key.name);
            let Some((_, text, value)) = CHANGES.iter().find(|(name, ..)| *name == path) else {
                continue;
            };
            let Some(reader) = reader(&path).filter(|reader| *reader != "stations") else {
                continue;
            };
            // The second design supports the same workload but does not read the key.
            let other = match (section.name, reader) {
                ("servers" | "rans", "tcp") => "stations",
                ("servers" | "rans", _) => "tcp",
                ("qos" | "tcp", _) => "dctcp",
                _ => "tcp",
            };
            let mut of_others = scenario(&format!("designs = [\"{other}\"]\n"), &path, text);
            of_others
                .set(&path, value, &Location::flag("--set"))
                .expect(&path);
            let message = refusal(&of_others, &path);
            let names_it = message.starts_with(&format!(
                "--set: {path}: found only designs without this key:"
            )) || message.contains("only with ");
            assert!(names_it, "{message}");
            if !text.contains('[') && section.name != "scdp" {
                assert!(
                    message.contains(reader),
                    "{path}: {message} does not name {reader}"
                );
            }
            refused += 1;
        }
    }
    assert!(refused > 70, "{refused} keys were tried");
}

#[test]
fn keys_of_servers_need_requests_and_keys_of_links_a_network() {
    for (text, path, value, message) in [
        (
            TOP,
            "servers.disk",
            "1Mbps",
            "servers.disk: found a key without effect (the workload has no requests); \
             allowed: only with workload.kind = \"requests\"",
        ),
        (
            TOP,
            "rans.copies",
            "3",
            "rans.copies: found a key without effect",
        ),
        (
            "designs = [\"stations\"]\n[[workload]]\nkind = \"requests\"\n",
            "topology.rate",
            "1Gbps",
            "topology.rate: found only designs without this key: stations; allowed: only with tcp, cubic",
        ),
        (
            "designs = [\"tcp\"]\n[[workload]]\nkind = \"burst\"\n",
            "flows",
            "7",
            "flows: found a key without effect",
        ),
        (
            "designs = [\"ndp\"]\n",
            "tcp.min_rto",
            "1ms",
            "tcp.min_rto: found only designs without this key: ndp; allowed: only with tcp, cubic, highspeed, dctcp",
        ),
        (
            "designs = [\"hull\"]\n[hull]\npacer = false\n",
            "hull.pacer_interval",
            "1ms",
            "(there are no pacers); allowed: only with hull.pacer = true",
        ),
    ] {
        let mut scenario = Scenario::parse("s.toml", "", text).expect(path);
        scenario
            .set(path, value, &Location::flag("--set"))
            .expect(path);
        let refused = refusal(&scenario, path);
        assert!(refused.contains(message), "{refused}");
    }
}

#[test]
fn what_compare_starts_from_may_say_more_than_its_designs_read() {
    let mut scenario = Scenario::parse("s.toml", "", "[tcp]\nmin_rto = \"1ms\"\n").expect("sound");
    let place = Location::flag("DESIGN");
    scenario.set("designs", "ndp", &place).expect("a design");
    assert!(Study::of(&scenario).is_err());
    let mut start = Scenario::parse("s.toml", "", "[tcp]\nmin_rto = \"1ms\"\n").expect("sound");
    start.mark_as_starting_values();
    start.set("designs", "ndp", &place).expect("a design");
    assert!(Study::of(&start).is_ok());
    // A key that the user sets must have an effect.
    start
        .set("tcp.min_rto", "2ms", &Location::flag("--set"))
        .expect("a span");
    assert!(Study::of(&start).is_err());
}

#[test]
fn no_key_is_left_out() {
    let tried: BTreeSet<&str> = CHANGES
        .iter()
        .map(|(path, ..)| *path)
        .chain(REQUIRED)
        .collect();
    for section in sections() {
        for key in section.keys {
            let path = section.path(key.name);
            assert!(tried.contains(path.as_str()), "{path}: missing in CHANGES");
        }
    }
}

#[test]
fn every_scenario_of_the_repository_is_a_study() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut refused = Vec::new();
    for folder in ["", "bench", "reproduce"] {
        let files = fs::read_dir(root.join(folder)).expect("a folder");
        for file in files.map(|file| file.expect("a file").path()) {
            if file.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let text = fs::read_to_string(&file).expect("text");
            let scenario = Scenario::parse(&file.display().to_string(), "", &text);
            let study = scenario.and_then(|scenario| Study::of(&scenario));
            refused.extend(study.err().map(|error| error.to_string()));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
