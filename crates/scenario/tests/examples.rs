//! Runs the examples of custom parts. Each example checks its own results.

use std::error::Error;

#[path = "../examples/own_application.rs"]
mod own_application;
#[path = "../examples/own_balancer.rs"]
mod own_balancer;
#[path = "../examples/own_controller.rs"]
mod own_controller;
#[path = "../examples/own_queue.rs"]
mod own_queue;
#[path = "../examples/own_transport.rs"]
mod own_transport;

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn an_application_of_ones_own_feeds_a_run() -> Outcome {
    own_application::main()
}

#[test]
fn a_load_balancer_of_ones_own_chooses_for_switches() -> Outcome {
    own_balancer::main()
}

#[test]
fn a_congestion_controller_of_ones_own_governs_tcp() -> Outcome {
    own_controller::main()
}

#[test]
fn a_queue_discipline_of_ones_own_queues_at_switches() -> Outcome {
    own_queue::main()
}

#[test]
fn a_transport_of_ones_own_carries_flows() -> Outcome {
    own_transport::main()
}

#[test]
fn examples_have_less_than_a_hundred_lines() {
    for text in [
        include_str!("../examples/own_application.rs"),
        include_str!("../examples/own_balancer.rs"),
        include_str!("../examples/own_controller.rs"),
        include_str!("../examples/own_queue.rs"),
        include_str!("../examples/own_transport.rs"),
    ] {
        assert!(text.lines().count() < 100, "{}", text.lines().count());
    }
}
