//! Fabric without transports. A test sends packets into the fabric and measures their waiting times.

use tailcut_sim::fabric::engine::EngineKind;
use tailcut_sim::fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_sim::fabric::topology::{CustomLink, CustomTopology, Node, NodeNames, Wire};
use tailcut_sim::fabric::{Fabric, FabricConfig, Packet, PortEvents};
use tailcut_sim::workload::{SizeDistribution, Stream};
use tailcut_units::{Duration, HostId, Rate, Time};

/// Rate of the ports at which packets wait.
pub const SLOW: Rate = Rate::from_gbps(1);
/// Rate at which packets do not wait: a gigabyte takes 8 us.
const INSTANT: Rate = Rate::from_gbps(1_000_000);
/// Time from the end of service at the slow port to the far end of the link.
pub const DELAY: Duration = Duration::from_us(1);

const UNLIMITED: QueueConfig = QueueConfig::DropTail(DropTail {
    limit: Limit::Packets(u32::MAX),
    mark_above: None,
});

/// Two paths from s0 to s1, each with a port at which packets wait:
/// h0 (probes), h1 and h2 (cross traffic) - s0 = s1 - h3.
pub fn two_paths() -> CustomTopology {
    let link = |a, b, rate, delay| CustomLink {
        a,
        b,
        wire: Wire { rate, delay },
    };
    let host = |n| Node::Host(HostId(n));
    let (near, far) = (Node::Switch(0), Node::Switch(1));
    CustomTopology {
        hosts: 4,
        switches: 2,
        links: vec![
            link(host(0), near, INSTANT, Duration::ZERO),
            link(host(1), near, INSTANT, Duration::ZERO),
            link(host(2), near, INSTANT, Duration::ZERO),
            link(near, far, SLOW, DELAY),
            link(near, far, SLOW, DELAY),
            link(host(3), far, INSTANT, Duration::ZERO),
        ],
        queue: UNLIMITED,
        shared_buffer: None,
        names: NodeNames::default(),
    }
}

/// Role of a packet in an experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Cross traffic on one of the paths.
    Cross,
    /// One of the two copies of a probe.
    Probe(usize),
}

/// Role of a packet, and the time when it entered the network.
type Tag = (Role, Time);

/// Waiting times in seconds: of every cross packet by path, and of both copies of every probe, in order of arrival.
#[derive(Default)]
pub struct Waits {
    pub cross: [Vec<f64>; 2],
    pub probes: Vec<[f64; 2]>,
}

/// Sends cross traffic on both paths, and duplicated probes, for `span`.
pub fn drive(
    sizes: &mut dyn FnMut(&mut Stream) -> u32,
    cross_per_second: f64,
    probes_per_second: f64,
    span: Duration,
    seed: u64,
    port_events: PortEvents,
) -> Waits {
    let topology = two_paths().build().expect("a topology");
    let config = FabricConfig {
        engine: EngineKind::Calendar,
        port_events,
        seed,
        ..FabricConfig::default()
    };
    let mut fabric: Fabric<Tag> = Fabric::new(&topology, &config);
    let mut gaps: Vec<Stream> = (0..3).map(|host| Stream::new(seed, 1, host)).collect();
    let mut lengths: Vec<Stream> = (0..3).map(|host| Stream::new(seed, 2, host)).collect();
    let rates = [probes_per_second, cross_per_second, cross_per_second];
    let mut next: Vec<Time> = (0..3)
        .map(|host| after(Time::ZERO, rates[host], &mut gaps[host]))
        .collect();
    let end = Time::ZERO + span;
    let mut waits = Waits::default();
    let inject = |fabric: &mut Fabric<Tag>, now, host: usize, path, size, role| {
        let packet = Packet {
            src: HostId(host as u32),
            dst: HostId(3),
            size,
            path,
            ..Packet::default()
        };
        fabric.inject(now, HostId(host as u32), packet, (role, now));
    };
    loop {
        let host = (0..3).min_by_key(|&host| next[host]).expect("three hosts");
        let now = next[host];
        let over = now >= end;
        let until = if over { Time::MAX } else { now };
        while let Some(output) = fabric.advance(until) {
            let Some(delivery) = output.delivered() else {
                continue;
            };
            let (role, since) = delivery.body;
            let size = u64::from(delivery.packet.size);
            let alone = INSTANT.serialisation(size) * 2 + SLOW.serialisation(size) + DELAY;
            let wait = delivery.time.since(since) - alone;
            let path = usize::from(delivery.packet.path);
            match role {
                Role::Cross => waits.cross[path].push(wait.as_secs_f64()),
                Role::Probe(number) => waits.probes[number][path] = wait.as_secs_f64(),
            }
        }
        if over {
            return waits;
        }
        if host == 0 {
            let number = Role::Probe(waits.probes.len());
            waits.probes.push([f64::NAN; 2]);
            for path in 0..2 {
                inject(&mut fabric, now, host, path, PROBE, number);
            }
        } else {
            let size = sizes(&mut lengths[host]);
            inject(&mut fabric, now, host, host as u16 - 1, size, Role::Cross);
        }
        next[host] = after(now, rates[host], &mut gaps[host]);
    }
}

/// Size of a probe in bytes. It takes 8 ns at the slow rate, so its load is negligible.
const PROBE: u32 = 1;

fn after(now: Time, per_second: f64, stream: &mut Stream) -> Time {
    now + Duration::from_secs_f64(stream.exponential() / per_second)
}

/// Returns a function that returns random sizes from a distribution.
pub fn drawn(distribution: SizeDistribution) -> impl FnMut(&mut Stream) -> u32 {
    move |stream| distribution.sample(stream) as u32
}
