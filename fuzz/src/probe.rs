//! Target for answers of routers that `tailcut probe` receives.

use crate::choice::Choices;
use std::net::{IpAddr, Ipv4Addr};
use tailcut_probe::mda::{Answer, Limits, StoppingRule, Walk};
use tailcut_probe::net::{Icmp, read};

/// Number of flows, and the largest TTL of a walk.
const LIMITS: Limits = Limits {
    flows: 64,
    ttl: 8,
    silent_hops: 3,
    repeated: 10,
};

/// Answers the probes of a walk with ICMP messages of any routers, in any order, or not at all.
///
/// # Panics
/// If the walk needs more probes than its limits allow, or if it ends with probes that it still expects.
pub fn probe_walk(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let wanted = 1 + choices.below(8) as usize;
    let mut walk = Walk::new(StoppingRule::of_node(0.95), LIMITS, wanted);
    let mut open = Vec::new();
    let most = LIMITS.flows as u64 * u64::from(LIMITS.ttl) * 2;
    loop {
        while open.len() < 16
            && let Some(probe) = walk.next_probe()
        {
            assert!(probe.flow < LIMITS.flows && (1..=LIMITS.ttl).contains(&probe.ttl));
            open.push(probe);
        }
        if open.is_empty() {
            break;
        }
        let probe = open.swap_remove(choices.below(open.len() as u32) as usize);
        let answer = answer(&mut choices);
        walk.answer(probe, answer);
        // An answer that arrives twice changes nothing.
        if choices.below(8) == 1 {
            walk.answer(probe, answer);
        }
        assert!(walk.sent() <= most, "{} probes", walk.sent());
    }
    assert!(walk.is_over());
    let map = walk.map();
    assert!(!map.count().is_empty() && map.probes == walk.sent());
    for flow in 0..wanted {
        let _ = map.way(flow);
    }
}

fn answer(choices: &mut Choices<'_>) -> Answer {
    let router = Ipv4Addr::new(10, 0, choices.below(4) as u8, choices.below(4) as u8);
    // Origins, types and codes of ICMP. The first one is a router's answer to a probe with a small TTL.
    let origin = *choices.one_of(&[2, 3, 0, 1]);
    let kind = *choices.one_of(&[11, 3, 1, 0, 255]);
    let code = choices.below(3) as u8;
    match read(origin, kind, code, Some(IpAddr::V4(router))) {
        Some(Icmp::TimeExceeded(from)) => Answer::Router(from),
        Some(Icmp::Unreachable { .. }) => Answer::Target,
        None => Answer::Silent,
    }
}
