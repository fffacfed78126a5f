//! Plan of a lab: its network, its design, and the settings of its hosts' kernels.

use crate::emulator::addresses::{self, MOST_HOSTS};
use crate::emulator::frames::{LINE_OVERHEAD, TrimCodes};
use crate::emulator::host::KernelSettings;
use crate::emulator::nic::CardConfig;
use crate::emulator::pins;
use anyhow::{Result, bail};
use std::net::Ipv4Addr;
use std::num::NonZeroU32;
use std::sync::Arc;
use tailcut_fabric::queue::{DropTail, Limit, Priority, QueueConfig, Sharing, Trimming};
use tailcut_fabric::topology::{Node, Topology};
use tailcut_fabric::{FabricConfig, PortEvents, PortId};
use tailcut_scenario::{NamedNodes, Scenario, Study};
use tailcut_sim::{FlowsSpec, Kernel, ReadBy, Replication, RunConfig, Traffic};
use tailcut_transport::ConfigError;
use tailcut_transport::repnet::RepNetConfig;
use tailcut_transport::scdp::{BlockOrder, CreditConfig, Delivery, Mode, ScdpConfig};
use tailcut_units::{Duration, HostId};

/// Plan of a lab.
#[derive(Clone, Debug)]
pub struct LabPlan {
    /// Name of the lab.
    pub name: String,
    /// Run configuration with the network and the design.
    pub config: RunConfig,
    /// Network, with the design's queues.
    pub topology: Topology,
    /// Queue of each host before its link.
    pub uplink: QueueConfig,
    /// Load balancer of the switches, and the seed of its random choices.
    pub fabric: FabricConfig,
    /// Names of the nodes; `None`: nodes have no names.
    nodes: Option<NamedNodes>,
    /// Settings of the hosts' kernels.
    pub kernel: KernelSettings,
    /// Functions of the design in the network cards of the hosts, such as PIAS; `None`: no functions.
    pub nics: Option<Vec<CardConfig>>,
    /// Replication of measured flows by the agents; `None`: no flow is replicated.
    pub replication: Option<RepNetConfig>,
    /// Whether the workload consists of requests. Their copies have priority classes, also in hosts.
    pub has_requests: bool,
    /// SCDP's parameters for each host, in times of the wall clock; `None`: the kernel's TCP is the transport.
    pub scdp: Option<Vec<ScdpConfig>>,
    /// Factor by which the network's clock is slower than the wall clock.
    /// All times, rates, delays and latenesses of the network refer to the network's clock.
    pub slowdown: u32,
    /// Whether a reset of a TCP connection removes queued segments of the connection.
    /// Each switch that the reset passes removes queued segments of the connection.
    pub purges_by_reset: bool,
    /// Maximum number of ICMP replies per second of each switch as a router.
    /// `None`: switches are not routers, and do not change the TTL.
    pub routed: Option<NonZeroU32>,
    /// DSCPs that hosts and switches use for trimming.
    pub codes: TrimCodes,
}

/// Extent to which a lab supports transfers with several senders or receivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Several {
    /// No support: flows are TCP connections, which have one sender and one receiver.
    Nothing,
    /// Only several receivers: SCDP in paper mode.
    Receivers,
    /// Several senders and several receivers: SCDP in credit mode.
    All,
}

/// Length of an Ethernet header in bytes.
const ETHERNET_HEADER: u32 = 14;

/// Converts SCDP's parameters from the network's clock to the wall clock, whose speed is `slowdown` times higher.
fn by_wall(config: ScdpConfig, slowdown: u32) -> ScdpConfig {
    let slowed = |span: Duration| span.saturating_mul(slowdown.into());
    ScdpConfig {
        pull_interval: slowed(config.pull_interval),
        byte_time: slowed(config.byte_time),
        timeout: slowed(config.timeout),
        max_timeout: slowed(config.max_timeout),
        time_wait: slowed(config.time_wait),
        mode: match config.mode {
            Mode::Credit(credit) => Mode::Credit(CreditConfig {
                min_timeout: slowed(credit.min_timeout),
                ..credit
            }),
            Mode::Paper => Mode::Paper,
        },
        delivery: Delivery::Blocks {
            order: BlockOrder::AsWhole,
            window: u64::MAX,
        },
        ..config
    }
}

/// Returns whether hosts run SCDP in paper mode, over switches that trim.
fn in_paper_mode(config: &RunConfig) -> bool {
    let kernel = config.stack.design.kernel();
    matches!(kernel, Kernel::Cast { credits: false })
}

/// Checks that the hosts' transport can send the flows of the workload.
///
/// # Errors
/// The workload has objects from several senders, and the design is SCDP in paper mode.
fn can_be_sent(config: &RunConfig) -> Result<()> {
    let mut parts = config.workload.parts.iter();
    let from_several = parts.any(|part| match &part.flows {
        FlowsSpec::Storage(storage) => storage.reads > 0.0 && storage.read == ReadBy::AllReplicas,
        _ => false,
    });
    if from_several && in_paper_mode(config) {
        bail!(
            "workload.read: found all-replicas; allowed for scdp on real hosts: one-replica (over UDP its fixed \
             window has one sender; scdp-plain has several)"
        );
    }
    Ok(())
}

/// Returns the queue of each host before its link, with a limit of `packets`.
/// If switches trim, the host's queue also trims.
/// The trimming queue sends headers and pulls first, and trims packets that do not fit.
/// If the workload consists of requests, the queue sends copies of the high class first, as on simulated hosts.
fn uplink(config: &RunConfig, topology: &Topology, packets: NonZeroU32) -> QueueConfig {
    let limit = Limit::Packets(packets.get());
    let of_switches = topology.links.iter().map(|link| &link.config.queue);
    let mut trimming = of_switches.filter_map(|queue| match queue {
        QueueConfig::Trimming(trimming) => Some(*trimming),
        _ => None,
    });
    match trimming.next_back() {
        Some(trimming) if in_paper_mode(config) => QueueConfig::Trimming(Trimming {
            data_limit: limit,
            sharing: Sharing::Shared,
            ..trimming
        }),
        _ if config.traffic() == Traffic::Requests => QueueConfig::Priority(Priority {
            classes: 2,
            limit,
            sharing: Sharing::PerClass,
            mark_above: None,
        }),
        _ => QueueConfig::DropTail(DropTail {
            limit,
            mark_above: None,
        }),
    }
}

impl LabPlan {
    /// Plans the lab of a scenario's first run.
    ///
    /// # Errors
    /// The scenario is wrong, or a lab does not support it.
    pub fn new(name: &str, scenario: &Scenario, slowdown: u32) -> Result<Self> {
        let study = Study::of(scenario)?;
        let Some(config) = study.runs.into_iter().next() else {
            bail!("the scenario has no runs");
        };
        if config.stack.replication != Replication::None {
            bail!(
                "design: found {}; allowed in the lab for any program: designs without repflow+, repsyn+ or \
                 mixed+, and without duplicates. Programs replicate by themselves (the library repnet, tailcut proxy \
                 repnet, tailcut gateway)",
                config.stack
            );
        }
        let built = config.topology.shape.build()?;
        let nodes = NamedNodes::of(scenario, &built)?;
        let plan = Self::of_run(&config, slowdown)?;
        Ok(Self {
            name: name.to_owned(),
            nodes: Some(nodes),
            ..plan
        })
    }

    /// Plans the lab on which one run is measured.
    ///
    /// # Errors
    /// A lab does not support the run.
    pub fn of_run(config: &RunConfig, slowdown: u32) -> Result<Self> {
        let kernel = KernelSettings::of(config, slowdown)?;
        pins::check(config)?;
        can_be_sent(config)?;
        let topology = config.network()?;
        let plan = config.switch_plan();
        if topology.hosts() > MOST_HOSTS {
            bail!(
                "topology.hosts: found {}; allowed in a lab: up to {MOST_HOSTS}",
                topology.hosts()
            );
        }
        let several = (0..topology.hosts()).find(|host| topology.is_multi_homed(HostId(*host)));
        if let Some(host) = several {
            bail!("topology.host_links: h{host} has several links; allowed in a lab: 1");
        }
        let topology = Arc::new(topology);
        let faulty = config.with_faults(&topology)?;
        let hosts = config.host_plan(&faulty)?;
        if let Some(after) = hosts.tags().and_then(|tags| tags.relief_after) {
            bail!(
                "pias.relief_after: found {after}; allowed on real hosts: off (a network card does not see the \
                 timeouts of its host)"
            );
        }
        let card = |host| CardConfig::of(&hosts, &faulty, HostId(host), kernel.queue);
        if in_paper_mode(config) && config.settings.nic.jitter > Duration::ZERO {
            bail!(
                "host.jitter: found {} with {}; allowed in a lab: designs whose hosts do not trim packets",
                config.settings.nic.jitter,
                config.stack
            );
        }
        let nics = (0..topology.hosts()).map(card);
        let nics = nics.collect::<Result<Option<Vec<_>>, _>>()?;
        let config_of = |host| {
            let rate = faulty.host_rate(host);
            let seat = hosts.seat(host, topology.hosts(), rate, topology.paths);
            let config = hosts.scdp_config(&seat)?;
            Ok::<_, ConfigError>(config.map(|config| by_wall(config, slowdown)))
        };
        let scdp = (0..topology.hosts()).map(|host| config_of(HostId(host)));
        let scdp = scdp.collect::<Result<Option<Vec<ScdpConfig>>, _>>()?;
        let replication = hosts.repnet_config();
        if let Some(replication) = &replication {
            replication.validate()?;
        }
        let mut topology = Arc::unwrap_or_clone(topology);
        let has_requests = config.traffic() == Traffic::Requests;
        if has_requests && config.workload.parts.len() > 1 {
            bail!(
                "workload: found requests and other flows; allowed on real hosts: requests alone"
            );
        }
        let uplink = uplink(config, &topology, kernel.queue);
        for link in &mut topology.links {
            if matches!(link.from, Node::Host(_)) {
                link.config.queue = uplink.clone();
            }
        }
        Ok(Self {
            name: String::new(),
            nodes: None,
            fabric: FabricConfig {
                load_balancer: plan.load_balancer,
                engine: config.engine,
                // A link may change while it sends a packet.
                // With two events for each packet, the port does not compute the departure in advance.
                port_events: PortEvents::Two,
                seed: config.seed,
                bonding: plan.bonding,
            },
            uplink,
            topology,
            kernel,
            nics,
            replication,
            has_requests,
            scdp,
            slowdown,
            purges_by_reset: has_requests,
            routed: None,
            codes: TrimCodes {
                knows_scdp: in_paper_mode(config),
                ..TrimCodes::default()
            },
            config: config.clone(),
        })
    }

    /// Returns the support for transfers with several senders or receivers.
    pub fn several(&self) -> Several {
        let first = self.scdp.iter().flatten().next();
        match first.map(|config| &config.mode) {
            None => Several::Nothing,
            Some(Mode::Paper) => Several::Receivers,
            Some(Mode::Credit(_)) => Several::All,
        }
    }

    /// Returns the length of the longest frame in bytes.
    pub fn longest_frame(&self) -> u32 {
        self.kernel.mtu + ETHERNET_HEADER
    }

    /// Returns the delay of a full-size packet on the longest path without other traffic.
    pub fn unloaded(&self) -> Duration {
        let size = u64::from(self.longest_frame() + LINE_OVERHEAD);
        let hosts = self.topology.hosts();
        // Only paths of host 0 are examined. In a symmetric topology, one of the paths of host 0 is a longest path.
        let from_first = (1..hosts).map(|to| self.path_time(HostId(0), HostId(to), size));
        let to_first = (1..hosts).map(|from| self.path_time(HostId(from), HostId(0), size));
        from_first.chain(to_first).max().unwrap_or(Duration::ZERO)
    }

    fn path_time(&self, from: HostId, to: HostId, size: u64) -> Duration {
        let mut link = self.topology.uplinks_of(from).start;
        let mut time = Duration::ZERO;
        // A path uses each link at most once, so the number of links is an upper limit.
        // The limit ends the loop even if the routes are wrong.
        for _ in 0..self.topology.links.len() {
            let passed = &self.topology.links[link as usize];
            time = time + passed.config.rate.serialisation(size) + passed.config.delay;
            match passed.to {
                Node::Host(_) => break,
                Node::Switch(switch) => {
                    let ports = self.topology.ports_towards(switch, to, None);
                    let Some(&next) = ports.first() else { break };
                    link = next;
                }
            }
        }
        time
    }

    /// Turns the switches into routers, each of which sends at most `rate` ICMP replies per second.
    ///
    /// # Errors
    /// There are more hosts and switches than addresses.
    pub fn route(&mut self, rate: NonZeroU32) -> Result<()> {
        let nodes = self.topology.hosts() as usize + self.topology.switches.len();
        if nodes > MOST_HOSTS as usize {
            bail!("--routed: found {nodes} hosts and switches; allowed: {MOST_HOSTS} together");
        }
        self.routed = Some(rate);
        Ok(())
    }

    /// Returns the names and addresses of the switches that are routers.
    pub fn routers(&self) -> Vec<(String, Ipv4Addr)> {
        let switches = match self.routed {
            Some(_) => self.topology.switches.len() as u32,
            None => 0,
        };
        let router = |switch| {
            let name = self.topology.name_of(Node::Switch(switch));
            (name, addresses::switch_ipv4(switch))
        };
        (0..switches).map(router).collect()
    }

    /// Returns the name of a link, `from>to`.
    pub fn link_name(&self, link: PortId) -> String {
        self.topology.link_name(link.0).unwrap_or_default()
    }

    /// Returns the links between two nodes in both directions.
    /// `text` has the form `A-B`, or `A-B#1` for one of several links.
    ///
    /// # Errors
    /// A message for the user, if a node does not exist or the nodes have no common link.
    pub fn links(&self, text: &str) -> Result<Vec<PortId>, String> {
        let example = || {
            let switches = self.topology.links.iter().enumerate();
            let mut between = switches.filter(|(_, link)| matches!(link.from, Node::Switch(_)));
            let link = between.next().map_or(0, |(port, _)| port as u32);
            self.link_name(PortId(link)).replace('>', "-")
        };
        let (nodes_text, number) = match text.rsplit_once('#') {
            Some((nodes, number)) => (nodes, Some(number)),
            None => (text, None),
        };
        let Some((a, b)) = nodes_text.split_once(['-', '>']) else {
            let example = example();
            return Err(format!(
                "LINK: found {text}; allowed: two nodes, such as {example}"
            ));
        };
        let nodes = self.nodes.as_ref().ok_or("the nodes have no names")?;
        let (a, b) = (nodes.find(a)?, nodes.find(b)?);
        let links = self.topology.links.iter().enumerate();
        let between = links.filter(|(_, link)| {
            let is =
                |from: &[Node], to: &[Node]| from.contains(&link.from) && to.contains(&link.to);
            let is_it = number.is_none_or(|n| n.parse() == Ok(link.number.unwrap_or(0)));
            is_it && (is(&a, &b) || is(&b, &a))
        });
        let between: Vec<PortId> = between.map(|(port, _)| PortId(port as u32)).collect();
        match between.is_empty() {
            true => Err(format!(
                "LINK: found {text}, but there is no link between these nodes; allowed: such as {}",
                example()
            )),
            false => Ok(between),
        }
    }
}
