//! Limits of packets, networks and workloads are checked before a run begins.

use tailcut_scenario::{Scenario, Study};

fn study(text: &str) -> Result<Study, String> {
    let scenario = Scenario::parse("s.toml", "", text).map_err(|error| error.to_string())?;
    Study::of(&scenario).map_err(|error| error.to_string())
}

fn refusal(text: &str) -> String {
    match study(text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error,
    }
}

#[test]
fn a_queue_without_room_for_a_full_packet_is_refused_where_its_limit_stands() {
    let packet = "allowed: at least one full packet, 1538 B with its headers (tcp.mss, framing)";
    let jumbo = "allowed: at least one full packet, 65078 B with its headers (tcp.mss, framing)";
    for (text, message) in [
        (
            "designs = [\"tcp\"]\n[queue]\nlimit = \"1000B\"\n",
            format!("s.toml:3: queue.limit: found 1000 B; {packet}"),
        ),
        (
            "designs = [\"tcp\"]\n[queue]\nlimit = \"1537B\"\ndiscipline = \"fq-codel\"\n",
            format!("s.toml:3: queue.limit: found 1537 B; {packet}"),
        ),
        (
            "designs = [\"pfabric\"]\n[tcp]\nmss = 65000\n",
            format!("pfabric.queue: found 36000 B; {jumbo}"),
        ),
        (
            "designs = [\"scdp\"]\n[tcp]\nmss = 65000\n",
            format!("scdp.queue: found 20000 B for each of 5 classes; {jumbo}"),
        ),
        (
            "designs = [\"ndp\"]\n[ndp]\nqueue = \"1KB\"\n",
            format!("s.toml:3: ndp.queue: found 1000 B; {packet}"),
        ),
        (
            "designs = [\"pias\"]\n[pias]\nlimit = \"10KB\"\nbuffer = \"by-class\"\n",
            format!("s.toml:3: pias.limit: found 1250 B for each of 8 classes; {packet}"),
        ),
        (
            "designs = [\"scdp\"]\n[scdp]\nheader_queue = \"77B\"\n",
            "s.toml:3: scdp.header_queue: found 77 B; allowed: at least one header, 78 B".to_owned(),
        ),
        (
            "designs = [\"tcp\"]\n[shared_buffer]\ncapacity = \"1KB\"\n",
            format!("s.toml:3: shared_buffer.capacity: found 1000 B; {packet}"),
        ),
        (
            "designs = [\"tcp\"]\n[shared_buffer]\ncapacity = \"1MB\"\nalpha = 0.001\n",
            format!("s.toml:4: shared_buffer.alpha: found 0.001 of 1000000 B; {packet}"),
        ),
        (
            "designs = [\"dctcp\"]\n[queue]\nlimit = \"50 packets\"\nmark_above = \"60 packets\"\n",
            "s.toml:4: queue.mark_above: found 60 packets; allowed: less than the room of the queue, \
             76900 B for packets of 1538 B, or no packet is marked"
                .to_owned(),
        ),
    ] {
        let error = refusal(text);
        assert!(error.ends_with(&message), "{error}");
    }
}

#[test]
fn a_queue_of_exactly_one_packet_is_accepted() {
    for text in [
        "designs = [\"tcp\", \"dctcp\"]\n[queue]\nlimit = \"1538B\"\nmark_above = \"1KB\"\n",
        "designs = [\"tcp\", \"dctcp\"]\n[queue]\nlimit = \"1 packet\"\n",
        "designs = [\"pfabric\", \"scdp\", \"ndp\", \"tcp\"]\n[tcp]\nmss = 65000\n[pfabric]\n\
         queue = \"65078B\"\n[scdp]\nqueue = \"325390B\"\n",
        "designs = [\"stations\"]\n[[workload]]\nkind = \"requests\"\n",
    ] {
        assert!(
            study(text).is_ok(),
            "{}",
            study(text).err().unwrap_or_default()
        );
    }
}

#[test]
fn a_network_that_is_too_large_is_refused_with_its_size_and_the_limit() {
    let own = "[[nodes]]\nname = \"h\"\nkind = \"host\"\ncount = 2000\n[[nodes]]\nname = \"s\"\n\
               kind = \"switch\"\ncount = 1000\n[[links]]\na = \"h\"\nb = \"s\"\n";
    for (text, message) in [
        (
            "[topology]\nkind = \"leaf-spine\"\nleaves = 48\nhosts = 2048\n",
            "s.toml:5: topology.hosts: found 98304 hosts in total; allowed: at most 65536",
        ),
        (
            "[topology]\nkind = \"leaf-spine\"\nleaves = 4096\nhosts = 1\nspines = 4096\n",
            "s.toml:6: topology.spines: found 16781312 links in total; allowed: at most 1000000",
        ),
        (
            "[topology]\nkind = \"fat-tree\"\nk = 64\noversubscription = 2\n",
            "s.toml:4: topology.k: found 131072 hosts in total; allowed: at most 65536",
        ),
        (
            own,
            "s.toml:11: links.a: found 2000 times 1000 links; allowed: at most 1000000 links in total",
        ),
    ] {
        let error = refusal(&format!("designs = [\"tcp\"]\n{text}"));
        assert_eq!(error, message);
    }
}

#[test]
fn queries_need_as_many_workers_as_they_ask() {
    let of = |keys: &str| {
        format!(
            "designs = [\"tcp\"]\n[topology]\nkind = \"single-switch\"\nhosts = 8\n[[workload]]\nkind = \"queries\"\n{keys}"
        )
    };
    assert!(study(&of("fan_out = 7\naggregators = 8\n")).is_ok());
    for (keys, message) in [
        (
            "fan_out = 8\n",
            "s.toml:7: workload.fan_out: found 8; allowed: 1 to 7, the hosts of the topology but the aggregator",
        ),
        (
            "fan_out = 2\naggregators = 9\n",
            "s.toml:8: workload.aggregators: found 9; allowed: 1 to 8, the hosts of the topology",
        ),
        (
            "fan_out = 2\nthink_times = \"exponential\"\n",
            "s.toml:8: workload.think_times: found \"exponential\"; allowed: only with think above 0s",
        ),
        (
            "fan_out = 2\ntable_unit = 1000\n",
            "s.toml:8: workload.table_unit: found websearch; allowed: only with sizes = \"table:FILE\"",
        ),
    ] {
        assert_eq!(refusal(&of(keys)), message);
    }
}
