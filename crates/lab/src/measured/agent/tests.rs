//! Tests of a server's end of replicated flows, with connections over loopback.

use super::replicas::Replicas;
use super::report::{AgentEvent, Reporter};
use crate::emulator::clock::Clock;
use crate::emulator::poller::{Poller, Waker};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration as Span;
use tailcut_transport::Event;
use tailcut_transport::repnet::{Leg, RepNetConfig};
use tailcut_units::{Duration, FlowId, HostId};

const SERVER: HostId = HostId(0);
const CLIENT: (HostId, u16) = (HostId(1), 40_000);
const FLOW: FlowId = FlowId(7);
const BYTES: &[u8] = &[0; 5_000];
const KEYS: u64 = 1_000;

/// Server whose waiting list keeps a flow for 10 ms on the clock of the emulated network.
struct Server {
    replicas: Replicas,
    poller: Poller,
    clock: Clock,
    reporter: Reporter,
    events: Receiver<AgentEvent>,
    listener: TcpListener,
}

impl Server {
    fn new(slowdown: u32) -> Self {
        let config = RepNetConfig {
            waiting_list_timeout: Duration::from_ms(10),
            ..RepNetConfig::default()
        };
        let (outbox, events) = mpsc::channel();
        let clock = Clock::begin(slowdown);
        let waker = Waker::new().expect("a file");
        Self {
            replicas: Replicas::new(config, 1, 80, KEYS),
            poller: Poller::new().expect("a file"),
            clock,
            reporter: Reporter::new(clock, outbox, waker),
            events,
            listener: TcpListener::bind("127.0.0.1:0").expect("a port"),
        }
    }

    /// Opens a connection of the flow, and returns the client's end.
    fn connection(&mut self, leg: Leg) -> TcpStream {
        let to = self.listener.local_addr().expect("an address");
        let client = TcpStream::connect(to).expect("it listens");
        let (socket, _) = self.listener.accept().expect("a connection");
        socket.set_nonblocking(true).expect("a socket");
        let expected = || Some((FLOW, BYTES.len() as u64));
        let (arrived, socket) = ((SERVER, leg), (CLIENT, OwnedFd::from(socket)));
        let (poller, reporter) = (&self.poller, &self.reporter);
        self.replicas
            .arrived(arrived, socket, expected, poller, reporter);
        client
    }

    /// Serves the sockets until the flow is complete.
    fn until_complete(&mut self) {
        loop {
            let mut ready = Vec::new();
            self.poller
                .wait(Some(Span::from_secs(60)), |file| ready.push(file));
            for file in ready {
                self.replicas
                    .wake(file.key, file.is_writable, &self.reporter);
            }
            if let Ok(events) = self.events.try_recv() {
                assert_eq!(events.event, Event::Completed(FLOW));
                return;
            }
        }
    }

    /// Serves the sockets until the client's end of a connection has ended.
    /// Returns the result of the client's last read.
    fn end_of(&mut self, mut client: TcpStream) -> std::io::Result<usize> {
        client.set_nonblocking(true).expect("a socket");
        loop {
            match client.read(&mut [0; 16]) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                ended => return ended,
            }
            let mut ready = Vec::new();
            self.poller
                .wait(Some(Span::from_millis(1)), |file| ready.push(file));
            for file in ready {
                self.replicas
                    .wake(file.key, file.is_writable, &self.reporter);
            }
        }
    }
}

fn send(connection: &mut TcpStream) {
    connection.write_all(BYTES).expect("the server takes it");
    connection.shutdown(Shutdown::Write).expect("it is open");
}

#[test]
fn a_flow_is_complete_with_its_first_whole_copy_and_the_other_one_is_read_to_its_end() {
    let mut server = Server::new(1_000);
    let mut first = server.connection(Leg::First);
    let mut second = server.connection(Leg::Second);
    send(&mut second);
    server.until_complete();
    send(&mut first);
    assert_eq!(server.end_of(first).expect("no reset"), 0);
    assert_eq!(server.end_of(second).expect("no reset"), 0);
    assert!(server.events.try_recv().is_err(), "it is complete once");
}

#[test]
fn a_connection_that_comes_after_its_flow_has_ended_is_reset() {
    let mut server = Server::new(1_000);
    let mut first = server.connection(Leg::First);
    send(&mut first);
    server.until_complete();
    assert_eq!(server.end_of(first).expect("no reset"), 0);
    let late = server.connection(Leg::Second);
    let ended = server
        .end_of(late)
        .expect_err("the tombstone causes a reset");
    assert_eq!(ended.kind(), std::io::ErrorKind::ConnectionReset);
    assert!(
        server.events.try_recv().is_err(),
        "the flow has not run twice"
    );
}

#[test]
fn the_waiting_list_goes_by_the_networks_clock() {
    let mut server = Server::new(1_000_000);
    let _first = server.connection(Leg::First);
    let due = server.replicas.next_timeout();
    let asleep = server
        .clock
        .sleep(due, Duration::ZERO)
        .expect("a timeout is set");
    let hours = Span::from_secs(10_000);
    assert!(
        asleep <= hours && asleep > hours / 2,
        "a timer of 10 ms slept {asleep:?} at a slowdown of a million"
    );
    let _second = server.connection(Leg::Second);
    assert_eq!(
        server.replicas.next_timeout(),
        tailcut_units::Time::MAX,
        "no timeout is left"
    );
}
