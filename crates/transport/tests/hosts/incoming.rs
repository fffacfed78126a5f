//! Tests of NDP, pFabric and SCDP with hosts that choose flow numbers independently.
//! An arriving segment must reach the right session.

use crate::hub;

use hub::{Hub, message};
use tailcut_transport::ndp::{self, NdpConfig};
use tailcut_transport::pfabric::{self, PFabricConfig};
use tailcut_transport::scdp::{self, DecodeSpeed, ModelCodec, ScdpConfig};
use tailcut_transport::{Event, Origin, Segment, Transport};
use tailcut_units::{Duration, FlowId, HostId, Time};

/// Size of a flow in bytes: several windows.
const BYTES: u64 = 100_000;
/// Time for which a host remembers a session, in all three transports.
const TIME_WAIT: Duration = Duration::from_ms(10);

/// Functions of a host that the tests need in addition to [`Transport`].
trait Receives: Transport {
    fn new(id: u32) -> Self;
    fn name_incoming(&mut self, first: FlowId);
    fn ignored(&self) -> u64;
    fn open(&self) -> usize;
}

macro_rules! receives {
    ($host:ty, $new:expr, $open:ident) => {
        impl Receives for $host {
            fn new(id: u32) -> Self {
                $new(HostId(id)).expect("a valid configuration")
            }
            fn name_incoming(&mut self, first: FlowId) {
                <$host>::name_incoming(self, first);
            }
            fn ignored(&self) -> u64 {
                <$host>::ignored(self)
            }
            fn open(&self) -> usize {
                <$host>::$open(self)
            }
        }
    };
}

receives!(
    ndp::Host,
    |id| ndp::Host::new(
        id,
        NdpConfig {
            time_wait: TIME_WAIT,
            ..NdpConfig::default()
        }
    ),
    open_flows
);
receives!(
    pfabric::Host,
    |id| pfabric::Host::new(
        id,
        PFabricConfig {
            time_wait: TIME_WAIT,
            ..PFabricConfig::default()
        }
    ),
    open_flows
);
receives!(
    scdp::Host<ModelCodec>,
    |id| {
        let codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1);
        let config = ScdpConfig {
            time_wait: TIME_WAIT,
            ..ScdpConfig::default()
        };
        scdp::Host::new(id, config, codec)
    },
    open_sessions
);

fn hub<T: Receives>(count: u32) -> Hub<T> {
    Hub::new((0..count).map(T::new).collect())
}

/// Returns the events of `host`, except events of flows that it sends.
fn told<T>(hub: &Hub<T>, host: usize) -> Vec<Event> {
    let events = hub.events.iter().filter(|(_, at, _)| *at == host);
    events.map(|(_, _, event)| *event).collect()
}

fn two_senders_with_one_number<T: Receives>() {
    let mut hub = hub::<T>(3);
    hub.hosts[0].name_incoming(FlowId(100));
    for sender in [1, 2] {
        hub.submit(sender, message(7, HostId(0), BYTES));
    }
    hub.run();
    let events = told(&hub, 0);
    let mut origins: Vec<(FlowId, Origin)> = Vec::new();
    for event in &events {
        if let Event::Opened(flow, origin) = event {
            origins.push((*flow, *origin));
        }
    }
    let names: Vec<u32> = origins.iter().map(|(flow, _)| flow.0).collect();
    assert_eq!(names, [100, 101]);
    let mut sources: Vec<HostId> = origins.iter().map(|(_, origin)| origin.tuple.src).collect();
    sources.sort();
    assert_eq!(sources, [HostId(1), HostId(2)]);
    assert!(
        origins
            .iter()
            .all(|(_, origin)| origin.session == FlowId(7))
    );
    for name in [100, 101] {
        let end = Event::Completed(FlowId(name));
        assert_eq!(events.iter().filter(|event| **event == end).count(), 1);
    }
    // Each sender has reported the end of flow 7.
    for sender in [1, 2] {
        assert!(matches!(
            told(&hub, sender).last(),
            Some(Event::Closed(FlowId(7), _))
        ));
    }
}

#[test]
fn two_senders_may_give_their_flows_the_same_number() {
    two_senders_with_one_number::<ndp::Host>();
    two_senders_with_one_number::<pfabric::Host>();
    two_senders_with_one_number::<scdp::Host<ModelCodec>>();
}

fn a_sender_that_begins_anew<T: Receives>() {
    let mut hub = hub::<T>(2);
    hub.submit(1, message(7, HostId(0), BYTES));
    hub.run();
    let first = hub.completed(7, 0).expect("the first flow");
    let old_answer = hub.sent.iter().rfind(|(_, from, _)| *from == 0);
    let old_answer: Segment = old_answer.expect("an answer").2;
    // The sender restarts, and uses the same ports again.
    hub.hosts[1] = T::new(1);
    hub.submit(1, message(8, HostId(0), BYTES));
    let tuple_of = |hub: &Hub<T>, flow: u32| {
        let sent = hub.sent.iter();
        let mut of_flow = sent.filter(|(_, from, segment)| *from == 1 && segment.flow.0 == flow);
        of_flow.next().map(|(_, _, segment)| segment.tuple)
    };
    // A segment of the old flow is still in flight.
    let ignored = hub.hosts[1].ignored();
    hub.act(1, |host, now| host.on_segment(now, old_answer));
    assert_eq!(hub.hosts[1].ignored(), ignored + 1);
    hub.run();
    assert_eq!(tuple_of(&hub, 7), tuple_of(&hub, 8), "the same addresses");
    assert!(hub.completed(8, 0).is_some_and(|at| at > first));
    assert!(matches!(
        told(&hub, 1).last(),
        Some(Event::Closed(FlowId(8), _))
    ));
    assert_eq!((hub.hosts[0].open(), hub.hosts[1].open()), (0, 0));
}

#[test]
fn a_sender_that_begins_anew_at_the_same_ports_is_not_taken_for_the_one_before() {
    a_sender_that_begins_anew::<ndp::Host>();
    a_sender_that_begins_anew::<pfabric::Host>();
    a_sender_that_begins_anew::<scdp::Host<ModelCodec>>();
}

fn a_sender_that_dies_and_comes_back<T: Receives>() {
    let mut hub = hub::<T>(2);
    hub.submit(1, message(7, HostId(0), BYTES));
    hub.run_until(Time::from_ns(40_000));
    assert_eq!((hub.completed(7, 0), hub.hosts[0].open()), (None, 1));
    let pushed = |hub: &mut Hub<T>, flow| {
        hub.hosts[1] = T::new(1);
        hub.submit(1, message(flow, HostId(0), BYTES));
        let now = hub.now;
        hub.hosts[1].poll_transmit(now).expect("a first packet")
    };
    // Another sender cannot replace a flow that is still active.
    let before = hub.hosts[0].ignored();
    let segment = pushed(&mut hub, 8);
    hub.act(0, |host, now| host.on_segment(now, segment));
    assert_eq!(
        (hub.hosts[0].ignored(), hub.hosts[0].open()),
        (before + 1, 1)
    );
    // Another sender can replace the flow if the flow was silent for the time-wait.
    hub.hosts[1] = T::new(1);
    let later = hub.now + TIME_WAIT * 2;
    hub.run_until(later);
    hub.hosts[1] = T::new(1);
    hub.submit(1, message(9, HostId(0), BYTES));
    hub.run();
    assert!(hub.completed(9, 0).is_some());
    assert_eq!(hub.completed(7, 0), None);
    assert_eq!(hub.hosts[0].open(), 0);
}

#[test]
fn a_session_whose_sender_is_silent_gives_way_to_another_and_one_that_goes_on_does_not() {
    a_sender_that_dies_and_comes_back::<ndp::Host>();
    a_sender_that_dies_and_comes_back::<pfabric::Host>();
    a_sender_that_dies_and_comes_back::<scdp::Host<ModelCodec>>();
}
