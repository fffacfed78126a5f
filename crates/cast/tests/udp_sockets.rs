//! Tests of kernel sockets on the loopback interface of this machine.
#![cfg(target_os = "linux")]

use rustix::event::{PollFd, PollFlags, poll};
use std::io::{ErrorKind, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::time::{SystemTime, UNIX_EPOCH};
use tailcut_cast::udp::{
    Ancillary, Cause, Inbox, Multicast, Outgoing, Socket, SocketOptions, TrafficClass,
};
use tailcut_units::Ecn;

const LOCALHOSTS: [&str; 2] = ["127.0.0.1:0", "[::1]:0"];

/// Contents of one message that was received.
#[derive(Clone, PartialEq, Debug)]
struct Message {
    from: SocketAddr,
    ancillary: Ancillary,
    is_cut: bool,
    datagrams: Vec<Vec<u8>>,
}

fn bind(local: &str) -> Socket {
    bind_with(local, SocketOptions::default())
}

fn bind_with(local: &str, options: SocketOptions) -> Socket {
    let local = local.parse().expect("an address");
    Socket::bind(local, &options).expect("a free port")
}

/// Receives messages until `count` datagrams have arrived and no further message is waiting.
fn received(socket: &Socket, count: usize) -> Vec<Message> {
    received_with(socket, count, &mut Inbox::full())
}

fn received_with(socket: &Socket, count: usize, inbox: &mut Inbox) -> Vec<Message> {
    let mut messages = Vec::new();
    loop {
        let taken = socket.receive(inbox, &mut |incoming| {
            messages.push(Message {
                from: incoming.from,
                ancillary: incoming.ancillary,
                is_cut: incoming.is_cut,
                datagrams: incoming.datagrams().map(<[u8]>::to_vec).collect(),
            });
        });
        if taken.expect("a working socket") > 0 {
            continue;
        }
        if datagrams(&messages).len() >= count {
            return messages;
        }
        let mut files = [PollFd::new(socket, PollFlags::IN)];
        poll(&mut files, None).expect("a working socket");
    }
}

fn to(socket: &Socket) -> Outgoing<'static> {
    Outgoing {
        to: socket.local(),
        from: None,
        class: TrafficClass::default(),
        segment: None,
        parts: &[],
    }
}

fn datagrams(messages: &[Message]) -> Vec<Vec<u8>> {
    let all = messages.iter().flat_map(|message| &message.datagrams);
    all.cloned().collect()
}

#[test]
fn the_whole_class_byte_and_both_addresses_arrive() {
    for local in LOCALHOSTS {
        let (a, b) = (bind(local), bind(local));
        for class in [TrafficClass(0), TrafficClass(0xb9), TrafficClass(0x03)] {
            let parts = [IoSlice::new(b"sym"), IoSlice::new(b"bol")];
            let message = Outgoing {
                class,
                parts: &parts,
                ..to(&b)
            };
            assert_eq!(a.send(&[message]).expect("sent"), 1);
            let arrived = received(&b, 1);
            assert_eq!(datagrams(&arrived), [b"symbol".to_vec()]);
            assert_eq!(arrived[0].from, a.local());
            assert_eq!(arrived[0].ancillary.class, class);
            assert_eq!(arrived[0].ancillary.to, Some(b.local().ip()));
            assert_ne!(arrived[0].ancillary.interface, 0);
            assert!(!arrived[0].is_cut);
        }
    }
}

#[test]
fn a_class_is_its_code_point_and_its_ecn_field() {
    let class = TrafficClass::new(46, Ecn::Capable).expect("six bits");
    assert_eq!(
        (class.0, class.dscp(), class.ecn()),
        (0xba, 46, Ecn::Capable)
    );
    assert_eq!(class.with_ecn(Ecn::Marked), TrafficClass(0xbb));
    assert_eq!(TrafficClass::new(64, Ecn::Marked), None);
}

#[test]
fn the_kernel_stamps_what_arrives() {
    const MINUTE: u64 = 60_000_000_000;
    // The kernel and this process read the clock in different ways. So the times may differ slightly.
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.expect("after 1970").as_nanos() as u64;
    for local in LOCALHOSTS {
        // The kernel must not merge these two messages.
        let plain = SocketOptions {
            merges: false,
            ..SocketOptions::default()
        };
        let (a, b) = (bind(local), bind_with(local, plain));
        for bytes in [b"x", b"y"] {
            a.send(&[Outgoing {
                parts: &[IoSlice::new(bytes)],
                ..to(&b)
            }])
            .expect("sent");
        }
        let messages = received(&b, 2);
        let stamps = [0, 1].map(|at| messages[at].ancillary.stamp.expect("a stamp"));
        assert!(stamps.is_sorted(), "{stamps:?}");
        for stamp in stamps {
            assert!(stamp.abs_diff(now) < 10 * MINUTE, "{stamp}, {now}");
        }
    }
}

#[test]
fn what_the_kernel_had_no_room_for_is_counted() {
    for local in LOCALHOSTS {
        let small = SocketOptions {
            receive_buffer: 20_000,
            ..SocketOptions::default()
        };
        let (a, b) = (bind(local), bind_with(local, small));
        let bytes = [7; 1_000];
        let parts = [IoSlice::new(&bytes)];
        let sent = 400;
        for _ in 0..sent {
            a.send(&[Outgoing {
                parts: &parts,
                ..to(&b)
            }])
            .expect("sent");
        }
        let mut arrived = datagrams(&received(&b, 1)).len();
        assert!(arrived < sent, "{arrived}");
        // The kernel reports the count of dropped datagrams together with the next datagram.
        let message = Outgoing {
            parts: &parts,
            ..to(&b)
        };
        a.send(&[message]).expect("sent");
        let last = received(&b, 1);
        arrived += datagrams(&last).len() - 1;
        let told = last.last().and_then(|message| message.ancillary.overflows);
        assert_eq!(told, Some((sent - arrived) as u32));
        assert_eq!(b.overflows() as usize, sent - arrived);
    }
}

#[test]
fn one_message_is_many_datagrams_on_both_sides() {
    for local in LOCALHOSTS {
        for merges in [true, false] {
            let options = SocketOptions {
                merges,
                ..SocketOptions::default()
            };
            let (a, b) = (bind(local), bind_with(local, options));
            // Each datagram consists of two slices, and the last datagram is shorter.
            let headers: Vec<[u8; 32]> = (0..40).map(|number| [number; 32]).collect();
            let payload: Vec<u8> = (0..40u32 * 1_400 - 100)
                .map(|at| (at % 251) as u8)
                .collect();
            let pieces = headers.iter().zip(payload.chunks(1_400));
            let parts: Vec<IoSlice<'_>> = pieces
                .clone()
                .flat_map(|(header, rest)| [IoSlice::new(header), IoSlice::new(rest)])
                .collect();
            let message = Outgoing {
                segment: Some(1_432),
                parts: &parts,
                ..to(&b)
            };
            assert_eq!(a.send(&[message]).expect("sent"), 1);
            let arrived = received(&b, 40);
            let expected: Vec<Vec<u8>> = pieces
                .map(|(header, rest)| [header, rest].concat())
                .collect();
            assert_eq!(datagrams(&arrived), expected);
            let merged = arrived
                .iter()
                .any(|message| message.ancillary.segment == Some(1_432));
            assert_eq!(merged, merges, "{} messages", arrived.len());
            assert_eq!(arrived.len(), if merges { 1 } else { 40 });
        }
    }
}

#[test]
fn one_call_sends_to_several() {
    for local in LOCALHOSTS {
        let a = bind(local);
        let all: Vec<Socket> = (0..20).map(|_| bind(local)).collect();
        let texts: Vec<[u8; 1]> = (0..20).map(|number| [number]).collect();
        let parts: Vec<[IoSlice<'_>; 1]> = texts.iter().map(|text| [IoSlice::new(text)]).collect();
        let messages: Vec<Outgoing<'_>> = (all.iter().zip(&parts))
            .map(|(socket, parts)| Outgoing {
                parts,
                ..to(socket)
            })
            .collect();
        let mut rest = &messages[..];
        while !rest.is_empty() {
            let count = a.send(rest).expect("sent");
            assert!(count > 0);
            rest = &rest[count..];
        }
        for (socket, text) in all.iter().zip(&texts) {
            assert_eq!(datagrams(&received(socket, 1)), [text.to_vec()]);
        }
    }
}

#[test]
fn a_datagram_that_has_no_room_is_cut_and_told_so() {
    for local in LOCALHOSTS {
        let unmerged = SocketOptions {
            merges: false,
            ..SocketOptions::default()
        };
        let (a, b) = (bind(local), bind_with(local, unmerged));
        let bytes: Vec<u8> = (0..=255).collect();
        for length in [100, 101, 0] {
            a.send(&[Outgoing {
                parts: &[IoSlice::new(&bytes[..length])],
                ..to(&b)
            }])
            .expect("sent");
        }
        let arrived = received_with(&b, 3, &mut Inbox::new(2, 100));
        let cut: Vec<bool> = arrived.iter().map(|message| message.is_cut).collect();
        assert_eq!(cut, [false, true, false]);
        assert_eq!(datagrams(&arrived), [&bytes[..100], &bytes[..100], &[]]);
    }
}

#[test]
fn what_the_kernel_does_not_cut_is_sent_piece_by_piece() {
    let (a, b) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    assert!(a.segments() > 1);
    // No kernel accepts this number of datagrams in one message.
    // The error is the same as for an interface that cannot split messages.
    let bytes = [9; 3_000];
    let message = Outgoing {
        segment: Some(10),
        parts: &[IoSlice::new(&bytes)],
        ..to(&b)
    };
    assert_eq!(a.send(&[message]).expect("sent"), 1);
    assert_eq!(datagrams(&received(&b, 300)), vec![vec![9; 10]; 300]);
    assert_eq!(a.segments(), 1, "the datagrams need no further split");
}

#[test]
fn a_message_may_come_from_another_address_of_this_machine() {
    let a = bind("0.0.0.0:0");
    let b = bind("127.0.0.1:0");
    let from: IpAddr = "127.0.0.9".parse().expect("an address");
    let message = Outgoing {
        from: Some(from),
        parts: &[IoSlice::new(b"x")],
        ..to(&b)
    };
    a.send(&[message]).expect("sent");
    let arrived = received(&b, 1);
    assert_eq!(arrived[0].from, SocketAddr::new(from, a.local().port()));
}

#[test]
fn sockets_share_an_address_if_both_are_told_to() {
    let shared = SocketOptions {
        shares_address: true,
        ..SocketOptions::default()
    };
    let a = bind_with("127.0.0.1:0", shared);
    let same = a.local().to_string();
    assert_eq!(bind_with(&same, shared).local(), a.local());
    let alone = Socket::bind(a.local(), &SocketOptions::default());
    assert_eq!(alone.expect_err("taken").kind(), ErrorKind::AddrInUse);
}

#[test]
fn a_wrong_message_is_refused_with_what_is_allowed() {
    let (a, b) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    let parts = vec![IoSlice::new(b"x"); 1_025];
    let error = a
        .send(&[Outgoing {
            parts: &parts,
            ..to(&b)
        }])
        .expect_err("too many");
    assert_eq!(error.to_string(), "a message of 1025 pieces; allowed: 1024");
    let bytes = vec![0; 70_000];
    let error = a.send(&[Outgoing {
        parts: &[IoSlice::new(&bytes)],
        ..to(&b)
    }]);
    assert_eq!(
        error.expect_err("too long").raw_os_error(),
        Some(libc::EMSGSIZE)
    );
    assert_eq!(a.send(&[]).expect("nothing"), 0);
    let wrong = a
        .join("192.0.2.1".parse().expect("an address"), 0)
        .expect_err("no group");
    let said = wrong.to_string();
    assert!(
        said.contains("192.0.2.1") && said.contains("224.0.0.0/4"),
        "{said}"
    );
    assert!(a.join("ff02::5".parse().expect("an address"), 0).is_err());
}

/// Index of the loopback interface. This interface has no route to IPv6 groups.
const LOOPBACK: u32 = 1;

#[test]
fn who_has_joined_a_group_receives_what_is_sent_to_it_until_it_leaves() {
    let [a, b, c] = [(); 3].map(|()| bind("0.0.0.0:0"));
    let group: IpAddr = "239.255.7.18".parse().expect("an address");
    let multicast = Multicast {
        interface: LOOPBACK,
        ..Multicast::default()
    };
    a.set_multicast(&multicast).expect("an interface");
    b.join(group, LOOPBACK).expect("joined");
    let send = |text: &[u8]| {
        for socket in [&b, &c] {
            let to = SocketAddr::new(group, socket.local().port());
            let class = TrafficClass(0x2a);
            let message = Outgoing {
                to,
                from: None,
                class,
                segment: None,
                parts: &[IoSlice::new(text)],
            };
            a.send(&[message]).expect("sent");
        }
    };
    send(b"first");
    let arrived = received(&b, 1);
    assert_eq!(datagrams(&arrived), [b"first".to_vec()]);
    assert_eq!(arrived[0].ancillary.to, Some(group));
    assert_eq!(arrived[0].ancillary.class, TrafficClass(0x2a));
    assert_eq!(alone(&a, &c), [b"alone".to_vec()], "it has not joined");
    b.leave(group, LOOPBACK).expect("it had joined");
    send(b"second");
    assert_eq!(alone(&a, &b), [b"alone".to_vec()]);
}

/// Sends a unicast datagram to a socket. Returns all datagrams that arrive up to this datagram.
fn alone(from: &Socket, socket: &Socket) -> Vec<Vec<u8>> {
    let to = SocketAddr::new(
        "127.0.0.1".parse().expect("an address"),
        socket.local().port(),
    );
    let message = Outgoing {
        to,
        from: None,
        class: TrafficClass(0),
        segment: None,
        parts: &[IoSlice::new(b"alone")],
    };
    from.send(&[message]).expect("sent");
    datagrams(&received(socket, 1))
}

#[test]
fn a_host_that_refuses_a_datagram_is_heard() {
    for local in LOCALHOSTS {
        let (a, gone) = (bind(local), bind(local));
        a.keep_refusals().expect("a working socket");
        assert_eq!(a.refusal().expect("a working socket"), None);
        let to = gone.local();
        drop(gone);
        let message = Outgoing {
            to,
            from: None,
            class: TrafficClass(0),
            segment: None,
            parts: &[IoSlice::new(b"x")],
        };
        a.send(&[message]).expect("sent");
        let refusal = loop {
            match a.refusal().expect("a working socket") {
                Some(refusal) => break refusal,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!((refusal.to, refusal.cause), (to, Cause::Port));
        assert_eq!(refusal.by, Some(to.ip()));
    }
}
