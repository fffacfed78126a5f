//! Transfers from one sender to many receivers, with independent loss at each receiver.

use crate::bottleneck::{Bottleneck, Link, message};
use crate::hosts::{SYMBOL, scdp_config, secs};
use tailcut_transport::scdp::{DecodeSpeed, Host, ModelCodec, ScdpConfig};
use tailcut_transport::{Event, Part, StragglerPolicy, Stragglers, Transport};
use tailcut_units::{Duration, FlowId, HostId, Rate, Time};

pub fn print() {
    println!(
        "one sender, 8 receivers, independent loss, K = 101: symbols sent divided by source symbols, goodput"
    );
    for permille in [0.0, 1.0, 10.0, 50.0] {
        let link = Link {
            rate: Rate::from_gbps(1),
            round_trip: Duration::from_us(200),
            queue: 256,
            loss_permille: permille,
            host_rate: Rate::from_gbps(1),
            jitter: Duration::ZERO,
        };
        let mut world = Bottleneck::new(link, Vec::new(), 11);
        let config = ScdpConfig {
            block_symbols: 101,
            ..scdp_config(&link)
        };
        let host = |id: u32| {
            let speed = DecodeSpeed::new(vec![(1, Rate::from_gbps(30))]).expect("a point");
            let codec = ModelCodec::new([0.0055, 3.7e-5, 1e-6], speed, u64::from(id));
            Box::new(Host::new(HostId(id), config, codec).expect("valid")) as Box<dyn Transport>
        };
        let hosts = (0..16).map(host).collect();
        world = Bottleneck::new(world.link, hosts, 11);
        let receivers: Vec<HostId> = (0..8).map(|n| HostId(2 * n + 1)).collect();
        let blocks = 200;
        let bytes = u64::from(SYMBOL) * 101 * blocks;
        let mut to_group = message(1, 0, bytes);
        to_group.dst = HostId::group(0);
        let stragglers = Stragglers {
            after: Duration::from_ms(1_000),
            policy: StragglerPolicy::Wait,
        };
        let part = Part::Spread {
            message: to_group,
            receivers: &receivers,
            stragglers,
        };
        world
            .act(0, |host, now| host.take_part(now, part))
            .expect("parts");
        world.run_until(secs(60.0));
        let done = world
            .events
            .iter()
            .filter(|(_, _, event)| *event == Event::Completed(FlowId(1)))
            .count();
        let closed = world.events.iter().find_map(|(at, _, event)| match event {
            Event::Closed(_, stats) => {
                Some((at.since(Time::ZERO).as_secs_f64(), stats.payload_sent))
            }
            _ => None,
        });
        let (took, sent) = closed.unwrap_or((f64::NAN, 0));
        println!(
            "  {:4.1} %: {done} receivers done, {:.4}, {:.1} Mb/s",
            permille / 10.0,
            sent as f64 / bytes as f64,
            bytes as f64 * 8e-6 / took
        );
    }
}
