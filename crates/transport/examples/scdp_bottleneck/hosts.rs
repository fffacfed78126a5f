//! Hosts and links for all parts of this example, and for tests.
#![allow(dead_code, reason = "tests use some of these functions")]

use crate::bottleneck::{Bottleneck, Link, message};
use tailcut_transport::Transport;
use tailcut_transport::scdp::{CreditConfig, DecodeSpeed, Host, Mode, ModelCodec, ScdpConfig};
use tailcut_transport::tcp::{self, Congestion, HyStartClock, TcpConfig};
use tailcut_units::{Duration, HostId, Rate, Time};

/// Payload bytes of an SCDP symbol, and of a TCP segment.
pub const SYMBOL: u32 = 1_424;
/// Bytes of a full packet on the wire.
pub const PACKET: u64 = SYMBOL as u64 + 78;

pub fn scdp_config(link: &Link) -> ScdpConfig {
    let timeout = (link.round_trip * 4).max(Duration::from_ms(1));
    ScdpConfig {
        symbol: SYMBOL,
        initial_window: 10,
        shared_window: 10,
        mode: Mode::Credit(CreditConfig::default()),
        pull_interval: link.host_rate.serialisation(u64::from(SYMBOL) + 78),
        byte_time: link.host_rate.serialisation(1),
        timeout,
        demotion: tailcut_transport::Demotion::NONE,
        ..ScdpConfig::default()
    }
}

pub fn scdp(id: u32, link: &Link) -> Box<dyn Transport> {
    let speed = DecodeSpeed::new(vec![(1, Rate::from_gbps(30))]).expect("a point");
    let codec = ModelCodec::new([0.0055, 3.7e-5, 1e-6], speed, u64::from(id));
    let host = Host::new(HostId(id), scdp_config(link), codec);
    Box::new(host.expect("a valid configuration"))
}

/// Returns a host with TCP as in Linux: CUBIC, HyStart with a clock of 1 ms, SACK.
pub fn cubic(id: u32) -> Box<dyn Transport> {
    let config = TcpConfig {
        mss: SYMBOL,
        congestion: Congestion::Cubic,
        sack: true,
        min_rto: Duration::from_ms(200),
        hystart: Some(HyStartClock::Ticks(Duration::from_ms(1))),
        ..TcpConfig::default()
    };
    Box::new(tcp::Host::new(HostId(id), config).expect("a valid configuration"))
}

pub fn secs(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

/// Returns a bottleneck of `mbit` Mb/s between hosts whose links have ten times this rate.
pub fn link(mbit: u64, round_trip: Duration, queue: usize, loss_permille: f64) -> Link {
    let rate = Rate::from_mbps(mbit);
    Link {
        rate,
        round_trip,
        queue,
        loss_permille,
        host_rate: Rate::from_mbps(mbit * 10),
        jitter: rate.serialisation(PACKET),
    }
}

/// Returns the bandwidth-delay product of a link of `mbit` Mb/s, in packets.
pub fn bdp(mbit: u64, round_trip: Duration) -> f64 {
    mbit as f64 * 1e6 * round_trip.as_secs_f64() / 8.0 / PACKET as f64
}

/// Returns the buffer sizes of the sweep in packets.
/// The sizes are 0.5 to 4 times the bandwidth-delay product, and the buffers of home and office switches.
pub fn packets_of(mbit: u64, round_trip: Duration) -> Vec<usize> {
    let bdp = bdp(mbit, round_trip);
    let of_path = [0.5, 1.0, 2.0, 4.0].map(|times| (bdp * times).ceil() as usize);
    let mut all: Vec<usize> = of_path
        .into_iter()
        .chain([33, 64, 128])
        .filter(|packets| *packets >= 4)
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns a bottleneck with endless transfers. Each transfer starts 0.3 s after the previous one.
pub fn crowd(
    link: Link,
    transfers: u32,
    seed: u64,
    host: impl FnMut(u32) -> Box<dyn Transport>,
) -> Bottleneck {
    let hosts = (0..2 * transfers).map(host).collect();
    let mut world = Bottleneck::new(link, hosts, seed);
    for flow in 0..transfers {
        world.run_until(secs(f64::from(flow) * 0.3));
        world.submit(flow as usize * 2, message(flow, flow * 2 + 1, 1 << 40));
    }
    world
}

/// Returns the fraction of packets that the bottleneck has dropped.
pub fn dropped_share(world: &Bottleneck) -> f64 {
    let packets = world
        .delivered
        .values()
        .map(|bytes| bytes / u64::from(SYMBOL));
    let sent = packets.sum::<u64>();
    world.dropped as f64 / (sent + world.dropped) as f64
}
