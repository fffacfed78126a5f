//! Names of custom parts: valid names, and the designs that the names select.

use tailcut_sim::fabric::Packet;
use tailcut_sim::fabric::load_balancer::{LoadBalancer, PortView};
use tailcut_sim::fabric::queue::QueueConfig;
use tailcut_sim::transport::tcp::congestion::NewReno;
use tailcut_sim::{
    Choice, Controller, Design, NameError, NamedBalancer, Parameter, Ports, Registered,
    Replication, Stack,
};
use tailcut_units::Time;

#[derive(Debug)]
struct First;

impl LoadBalancer for First {
    fn select(&mut self, _now: Time, _packet: &Packet, _ports: &[PortView]) -> usize {
        0
    }
}

fn like(base: &str, name: &'static str) -> Design {
    Design {
        name,
        summary: "for a test",
        ..Design::named(base).expect("built in").clone()
    }
}

fn like_tcp(name: &'static str) -> Design {
    like("tcp", name)
}

fn why(registered: Result<(), NameError>) -> &'static str {
    registered.expect_err("the name must be rejected").why
}

#[test]
fn a_registered_transport_is_a_design_that_prints_as_it_was_written() {
    like_tcp("printed").register().expect("a new name");
    for name in [
        "printed",
        "printed@spray",
        "repflow+printed",
        "rans+printed",
    ] {
        let design: Stack = name.parse().expect(name);
        assert_eq!(design.to_string(), name);
        assert_eq!(design.design.name, "printed");
    }
    // A custom design is not equal to the design that it copies.
    let usual: Stack = "tcp".parse().expect("built in");
    assert_ne!("printed".parse::<Stack>(), Ok(usual));
    assert_ne!(
        "repflow+printed"
            .parse::<Stack>()
            .map(|design| design.to_string()),
        Ok("repflow".to_owned())
    );
}

#[test]
fn a_registered_load_balancer_stands_behind_the_at_sign() {
    let about = "always the first port";
    NamedBalancer::custom("always-first", about, Choice::Flow, |_| First)
        .register()
        .expect("a new name");
    NamedBalancer::custom("packets-first", about, Choice::Packet, |_| First)
        .register()
        .expect("a new name");
    let by_flow: Stack = "dctcp@always-first".parse().expect("registered");
    assert_eq!(
        (by_flow.balancer.choice, by_flow.to_string().as_str()),
        (Choice::Flow, "dctcp@always-first")
    );
    let by_packet: Stack = "repsyn@packets-first".parse().expect("registered");
    assert_eq!(by_packet.replication, Replication::RepSyn);
    assert_eq!(
        (by_packet.balancer.choice, by_packet.to_string().as_str()),
        (Choice::Packet, "repsyn@packets-first")
    );
    // The design `stations` has no network.
    assert!("stations@packets-first".parse::<Stack>().is_err());
}

#[test]
fn names_that_are_taken_or_are_no_names_are_refused_with_the_reason() {
    like_tcp("twice").register().expect("a new name");
    assert_eq!(why(like_tcp("twice").register()), "the name is taken");
    for built_in in ["dctcp", "repflow", "spray"] {
        assert_eq!(why(like_tcp(built_in).register()), "the name is taken");
    }
    const KEYS: &[Parameter] = &[Parameter::share("left", "0.5", "for a test")];
    let with_keys = Design {
        parameters: KEYS,
        ..like_tcp("queue")
    };
    assert!(why(with_keys.register()).contains("already have a section"));
    for wrong in ["", "Tcp", "9tcp", "my tcp", "tcp+", "my@tcp", "tcp\n"] {
        assert!(
            why(like_tcp(wrong).register()).starts_with("a name is"),
            "{wrong:?}"
        );
    }
}

#[test]
fn a_controller_needs_a_transport_that_has_one() {
    let ndp = like("ndp", "ndp-reno");
    let controller = Controller::own(|_run| NewReno::new);
    let own = Design {
        hosts: ndp.hosts.clone().with_controller(controller),
        ..ndp
    };
    assert!(why(own.register()).contains("congestion controller"));
    assert!("ndp-reno".parse::<Stack>().is_err());
}

#[test]
fn repnet_and_duplicates_stay_off_what_they_cannot_be_layers_over() {
    Design {
        ports: Ports::own("it is for a test", |_, _| {
            |port| QueueConfig::DropTail(port.fifo())
        }),
        ..like_tcp("own-queue")
    }
    .register()
    .expect("a new name");
    assert!("repsyn+own-queue".parse::<Stack>().is_ok());
    let refused = "rans+own-queue"
        .parse::<Stack>()
        .expect_err("no class for duplicates");
    assert!(refused.allowed.contains(&"dctcp") && !refused.allowed.contains(&"own-queue"));
}
