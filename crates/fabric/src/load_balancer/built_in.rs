//! Built-in load balancers.
//! This file contains the entry of each load balancer that is a variant of [`LoadBalancerConfig`].
//! Every other load balancer has a file with its mechanism and its entry.

use super::config::LoadBalancerConfig;
use super::spec::{Choice, NamedBalancer};
use super::{conga, expeditus, expeditus_deck, flowlet, omniscient, weighted};
use tailcut_units::parameter::Values;

/// Returns the built-in load balancers, in the order of `tailcut list designs`.
pub fn built_in() -> [NamedBalancer; 9] {
    let ecmp = |_: &Values| LoadBalancerConfig::Ecmp;
    [
        NamedBalancer::new(
            "ecmp",
            "one path for each flow, by a hash of its five-tuple",
            Choice::Flow,
            ecmp,
        ),
        weighted::balancer(),
        NamedBalancer::new(
            "spray",
            "one path for each packet, drawn at random",
            Choice::Packet,
            |_| LoadBalancerConfig::Spray,
        ),
        // The sender has already chosen a path for each packet, so switches do not choose.
        NamedBalancer::new(
            "permute",
            "one path for each packet: the sender uses all paths in a random order (ndp, ndp-plus)",
            Choice::Sender,
            ecmp,
        ),
        NamedBalancer {
            source: "NSDI 2017",
            parameters: flowlet::PARAMETERS,
            ..NamedBalancer::new(
                "letflow",
                "one path for each flowlet, drawn at random: LetFlow",
                Choice::Flowlet,
                |values| LoadBalancerConfig::LetFlow(values.into()),
            )
        },
        NamedBalancer {
            source: "SIGCOMM 2014",
            single_homed: true,
            parameters: conga::PARAMETERS,
            ..NamedBalancer::new(
                "conga",
                "one path for each flowlet, by the congestion that leaves report to each other: CONGA",
                Choice::Flowlet,
                |values| LoadBalancerConfig::Conga(values.into()),
            )
        },
        NamedBalancer {
            source: "SoCC 2016",
            needs_handshake: true,
            single_homed: true,
            parameters: expeditus::PARAMETERS,
            ..NamedBalancer::new(
                "expeditus",
                "one path for each flow, chosen by switches in two stages on its handshake: Expeditus",
                Choice::Flow,
                |values| LoadBalancerConfig::Expeditus(values.into()),
            )
        },
        NamedBalancer {
            source: "slides, 2015",
            needs_handshake: true,
            single_homed: true,
            parameters: expeditus_deck::PARAMETERS,
            ..NamedBalancer::new(
                "expeditus-deck",
                "first form of Expeditus: switches report queues downwards, and the source selects the path",
                Choice::Flow,
                |values| LoadBalancerConfig::ExpeditusDeck(values.into()),
            )
        },
        NamedBalancer {
            parameters: omniscient::PARAMETERS,
            ..NamedBalancer::new(
                "omniscient",
                "a flow keeps the path that was least congested at its start: a bound, not a design",
                Choice::Flow,
                |values| LoadBalancerConfig::Omniscient(values.into()),
            )
        },
    ]
}
