//! Tests of the probe over Linux routers in network namespaces.
//! The kernel's routes are an independent check of the probe's results.
//!
//! The topology is h - r0 - a0.. - (b0..) - r1 - t.
//! Each router of a stage is connected to all routers of the next stage.
//! Routes have equal cost, and a hash of the five-tuple chooses among them (policy 3 of the kernel).
//! Policy 1 is not usable, because packets over veth keep the hash of their sending socket.
//! Connections with the same ports have different hashes of their sockets.
//!
//! `TAILCUT_PROBE_RUNS=38 cargo test --release -p tailcut --test lab kernel_routers` makes 304 runs instead of 8.

use crate::harness::{TAILCUT, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

/// Server program that accepts connections on port 7000 and holds them until they end.
const SERVER: &str = "import socket\n\
                      s = socket.create_server(('', 7000), family=socket.AF_INET6, dualstack_ipv6=True, \
                      backlog=4096)\n\
                      print('ready')\n\
                      while True:\n  try: s.accept()[0].close()\n  except OSError: pass";

/// Routers in network namespaces. The namespaces are removed when this value is dropped.
struct Routers {
    prefix: String,
    /// Names of the nodes of each stage, up to the target t.
    stages: Vec<Vec<String>>,
    /// Addresses of the ends of links, by the name of the node at the end and the name of its peer.
    addresses: BTreeMap<(String, String), String>,
    is_v6: bool,
    server: Option<Child>,
}

fn run(program: &str, arguments: &[&str], input: &str) -> String {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("missing: iproute2");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

impl Routers {
    fn new(number: usize, widths: &[usize], is_v6: bool) -> Self {
        let mut stages = vec![vec!["h".to_owned()], vec!["r0".to_owned()]];
        for (stage, width) in widths.iter().enumerate() {
            let letter = char::from(b'a' + stage as u8);
            stages.push(
                (0..*width)
                    .map(|number| format!("{letter}{number}"))
                    .collect(),
            );
        }
        stages.extend([vec!["r1".to_owned()], vec!["t".to_owned()]]);
        let mut routers = Self {
            prefix: format!("tp{}-{number}-", std::process::id()),
            stages,
            addresses: BTreeMap::new(),
            is_v6,
            server: None,
        };
        routers.build();
        routers
    }

    fn name(&self, node: &str) -> String {
        format!("{}{node}", self.prefix)
    }

    fn exec(&self, node: &str, program: &[&str], input: &str) -> String {
        let name = self.name(node);
        run("ip", &[&["netns", "exec", &name], program].concat(), input)
    }

    fn build(&mut self) {
        let nodes: Vec<String> = self.stages.concat();
        for node in &nodes {
            run("ip", &["netns", "add", &self.name(node)], "");
            // All routers run in one kernel.
            // With policy 1, a router would use the hash that a packet keeps from its sending socket.
            let keys = "net.ipv6.conf.all.forwarding=1\nnet.ipv6.fib_multipath_hash_policy=3\n\
                        net.ipv6.fib_multipath_hash_fields=55\nnet.ipv6.icmp.ratelimit=0\n\
                        net.ipv4.ip_forward=1\nnet.ipv4.fib_multipath_hash_policy=3\n\
                        net.ipv4.fib_multipath_hash_fields=55\n\
                        net.ipv4.icmp_ratelimit=0\nnet.ipv4.icmp_msgs_per_sec=1000000\n\
                        net.ipv4.icmp_msgs_burst=1000000\nnet.ipv4.icmp_errors_use_inbound_ifaddr=1\n\
                        net.ipv4.conf.all.rp_filter=0\nnet.ipv4.conf.default.rp_filter=0\n";
            self.exec(node, &["sysctl", "-q", "-p", "-"], keys);
        }
        let mut lines: BTreeMap<String, String> = BTreeMap::new();
        let mut number = 0_u32;
        for pair in self.stages.clone().windows(2) {
            for near in &pair[0] {
                for far in &pair[1] {
                    let [high, low] = (number * 4).to_be_bytes()[2..] else {
                        unreachable!()
                    };
                    let ends = [1, 2].map(|end| match self.is_v6 {
                        false => format!("10.64.{high}.{}", low + end),
                        true => format!("fd00:64::{:x}", number * 4 + u32::from(end)),
                    });
                    let (prefix, more) = if self.is_v6 {
                        (126, " nodad")
                    } else {
                        (30, "")
                    };
                    let devices = [far, near].map(|peer| format!("to-{peer}"));
                    let (in_near, in_far) = (self.name(near), self.name(far));
                    let link = [
                        "link",
                        "add",
                        &devices[0],
                        "netns",
                        &in_near,
                        "type",
                        "veth",
                        "peer",
                        "name",
                        &devices[1],
                        "netns",
                        &in_far,
                    ];
                    run("ip", &link, "");
                    for (end, node) in [near, far].into_iter().enumerate() {
                        let (address, device) = (&ends[end], &devices[end]);
                        lines.entry(node.clone()).or_default().push_str(&format!(
                            "address add {address}/{prefix} dev {device}{more}\n\
                             link set {device} up\n"
                        ));
                    }
                    self.addresses
                        .insert((near.clone(), far.clone()), ends[0].clone());
                    self.addresses
                        .insert((far.clone(), near.clone()), ends[1].clone());
                    number += 1;
                }
            }
        }
        for (node, lines) in &lines {
            self.exec(node, &["ip", "-batch", "-"], lines);
        }
        for (stage, nodes) in self.stages.iter().enumerate() {
            for node in nodes {
                let mut lines = String::new();
                let after = self
                    .stages
                    .get(stage + 1)
                    .filter(|_| stage + 2 < self.stages.len());
                if let Some(after) = after {
                    let hops = after
                        .iter()
                        .map(|far| format!(" nexthop via {}", self.address(far, node)));
                    lines += &format!("route add {}{}\n", self.target(), hops.collect::<String>());
                }
                if stage > 1 {
                    let back = &self.stages[stage - 1][0];
                    lines += &format!(
                        "route add {} via {}\n",
                        self.host(),
                        self.address(back, node)
                    );
                }
                self.exec(node, &["ip", "-batch", "-"], &lines);
            }
        }
        let mut server = Command::new("ip");
        server.args([
            "netns",
            "exec",
            &self.name("t"),
            "python3",
            "-u",
            "-c",
            SERVER,
        ]);
        let mut server = server
            .stdout(Stdio::piped())
            .spawn()
            .expect("missing: python3");
        let mut line = String::new();
        let out = server.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("text");
        assert_eq!(line, "ready\n");
        self.server = Some(server);
    }

    /// Returns the address of a node on its link to a peer.
    fn address(&self, node: &str, peer: &str) -> &str {
        &self.addresses[&(node.to_owned(), peer.to_owned())]
    }

    fn host(&self) -> &str {
        self.address("h", "r0")
    }

    fn target(&self) -> &str {
        self.address("t", "r1")
    }

    /// Sets a different hash seed for each router and run.
    /// With equal seeds, all routers of a kernel make the same choice.
    fn seed(&self, run: usize) {
        for (number, node) in self.stages.concat().iter().enumerate() {
            let seed = run * 1_000 + number + 1;
            let key = format!("net.ipv4.fib_multipath_hash_seed={seed}\n");
            self.exec(node, &["sysctl", "-q", "-p", "-"], &key);
        }
    }

    /// Returns, for each port, the routers on its path according to the kernel.
    fn ways(&self, ports: &[u64]) -> Vec<String> {
        let mut at: Vec<(String, String)> = vec![("r0".to_owned(), "h".to_owned()); ports.len()];
        let mut ways = vec![self.address("r0", "h").to_owned(); ports.len()];
        for _ in 2..self.stages.len() - 1 {
            let mut asked: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
            for (place, here) in at.iter().enumerate() {
                asked.entry(here.clone()).or_default().push(place);
            }
            for ((node, from), places) in asked {
                let get = places.iter().map(|place| {
                    format!(
                        "route get {} from {} iif to-{from} ipproto tcp sport {} dport 7000\n",
                        self.target(),
                        self.host(),
                        ports[*place]
                    )
                });
                let said = self.exec(
                    &node,
                    &["ip", "-o", "-batch", "-"],
                    &get.collect::<String>(),
                );
                for (line, place) in said.lines().zip(places) {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    let after = |word: &str| {
                        let place = words.iter().position(|one| *one == word).expect("a way");
                        words[place + 1]
                    };
                    let next = after("dev").strip_prefix("to-").expect("a device of ours");
                    ways[place] += &format!(" {}", after("via"));
                    at[place] = (next.to_owned(), node.clone());
                }
            }
        }
        ways
    }

    fn probe(&self) -> Value {
        let target = match self.is_v6 {
            true => format!("[{}]:7000", self.target()),
            false => format!("{}:7000", self.target()),
        };
        let arguments = [
            TAILCUT,
            "probe",
            &target,
            "--volleys",
            "1",
            "--json",
            "--rate",
            "5000",
            "--allow-high-rate",
        ];
        serde_json::from_str(&self.exec("h", &arguments, "")).expect("JSON")
    }
}

impl Drop for Routers {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
        for node in self.stages.concat() {
            let _ = Command::new("ip")
                .args(["netns", "delete", &self.name(&node)])
                .status();
        }
    }
}

/// Returns whether the probe has found all nodes of each hop and all their next hops.
fn is_exact(found: &Value, widths: &[usize]) -> bool {
    let paths: usize = widths.iter().product();
    let hops = found["paths"]["hops"].as_array().expect("hops");
    let mut nodes = 1;
    let stages = widths.iter().enumerate().all(|(stage, width)| {
        let here = hops[stage + 1]["nodes"].as_array().expect("nodes");
        let next = |node: &Value| node["next"].as_array().map(Vec::len);
        let is = here.len() == nodes && here.iter().all(|node| next(node) == Some(*width));
        nodes *= width;
        is
    });
    stages && found["paths"]["paths"] == paths && found["paths"]["doubts"] == serde_json::json!([])
}

/// Probes a network whose stages have the given widths. Returns the results that are not exact.
/// Adds to `agree` the number of ports for which kernel and probe report the same path.
fn compare(routers: &Routers, widths: &[usize], runs: usize, agree: &mut usize) -> Vec<String> {
    let mut inexact = Vec::new();
    for run in 0..runs {
        routers.seed(run + 1);
        let found = routers.probe();
        if !is_exact(&found, widths) {
            inexact.push(format!("{widths:?}: {}", found["paths"]));
        }
        if routers.is_v6 {
            // For IPv6, `ip route get` uses another hash than real packets, so it cannot check the paths.
            continue;
        }
        for group in found["by_path"].as_array().expect("paths") {
            let ports = group["ports"].as_array().expect("ports");
            let ports: Vec<u64> = ports.iter().flat_map(Value::as_u64).collect();
            for (way, port) in routers.ways(&ports).into_iter().zip(ports) {
                assert_eq!(group["routers"], way, "{widths:?}, port {port}");
                *agree += 1;
            }
        }
    }
    inexact
}

#[test]
fn kernel_routers_and_a_probe_agree_on_next_hops_and_on_the_way_of_every_port() {
    let runs = std::env::var("TAILCUT_PROBE_RUNS");
    let runs: usize = runs.map_or(1, |runs| {
        runs.parse().expect("TAILCUT_PROBE_RUNS: a number")
    });
    let mut inexact = Vec::new();
    let mut agree = 0;
    for (number, paths) in [1, 2, 4, 8].into_iter().enumerate() {
        for widths in [vec![paths], vec![paths, paths]] {
            let routers = Routers::new(10 * number + widths.len(), &widths, false);
            inexact.extend(compare(&routers, &widths, runs, &mut agree));
        }
    }
    println!(
        "{} runs, {} not exact, {agree} paths agree",
        8 * runs,
        inexact.len()
    );
    assert!(inexact.len() * 100 <= 8 * runs, "{inexact:#?}");
}

/// For IPv6, this test checks only next hops.
/// With policy 3, `ip route get` computes another hash than the kernel uses for packets.
#[test]
fn a_probe_finds_all_next_hops_of_ipv6_kernel_routers() {
    for (number, widths) in [vec![1], vec![4], vec![2, 2]].into_iter().enumerate() {
        let routers = Routers::new(50 + number, &widths, true);
        let inexact = compare(&routers, &widths, 1, &mut 0);
        assert!(inexact.is_empty(), "{inexact:#?}");
    }
}
