//! Tests of objects that endpoints exchange over kernel sockets, on the loopback interface.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use tailcut_cast::driver::{
    Endpoint, Failure, Mode, Options, Progress, Share, Stage, StragglerPolicy, Stragglers,
    new_session,
};
use tailcut_cast::seal::{Cipher, Key};
use tailcut_cast::udp::Multicast;
use tailcut_units::Duration;

const LOCALHOSTS: [&str; 2] = ["127.0.0.1:0", "[::1]:0"];

fn bind(local: &str) -> Endpoint {
    let local = local.parse().expect("an address");
    Endpoint::bind(local, &Options::default()).expect("a free port")
}

/// Returns pseudo-random bytes for an object.
fn object(length: usize, seed: u64) -> Vec<u8> {
    let words = (0..length.div_ceil(8) as u64).map(|at| tailcut_units::mix64(at ^ (seed << 40)));
    let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    bytes.truncate(length);
    bytes
}

#[test]
fn an_object_of_any_length_arrives() {
    for local in LOCALHOSTS {
        let (a, b) = (bind(local), bind(local));
        for length in [0, 1, 1_000, 1_392, 1_393, 140_000, 3_000_001] {
            let sent = object(length, 1);
            let sending = a.send(b.local(), sent.clone());
            let received = b.receive().expect("open");
            assert_eq!(received.from, a.local());
            assert!(received.bytes == sent, "{length} bytes from {local}");
            let cost = sending.wait().expect("delivered");
            assert!(cost.bytes >= length as u64);
        }
    }
}

#[test]
fn many_objects_at_once_arrive_both_ways_each_whole() {
    let ends = [bind("127.0.0.1:0"), bind("127.0.0.1:0")];
    let lengths: Vec<usize> = (0..40).map(|number| 500 + number * 7_001).collect();
    let mut sendings = Vec::new();
    for (number, &length) in lengths.iter().enumerate() {
        for (from, to) in [(0, 1), (1, 0)] {
            let bytes = object(length, number as u64 * 2 + from as u64);
            sendings.push(ends[from].send(ends[to].local(), bytes));
        }
    }
    for at in [0, 1] {
        let mut received = BTreeMap::new();
        for _ in &lengths {
            let one = ends[at].receive().expect("open");
            received.insert(one.bytes.len(), one.into_bytes());
        }
        for (number, length) in lengths.iter().enumerate() {
            let expected = object(*length, number as u64 * 2 + (1 - at) as u64);
            assert!(received[length] == expected, "number {number}");
        }
    }
    for sending in sendings {
        sending.wait().expect("delivered");
    }
}

/// Runs a future in this thread until it is ready.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_task_sends_and_receives() {
    let (a, b) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    block_on(async {
        let sent = object(200_000, 9);
        let sending = a.send(b.local(), sent.clone());
        let received = b.arrival().await.expect("open");
        assert!(received.bytes == sent);
        sending.await.expect("delivered");
    });
}

#[test]
fn an_object_to_nobody_can_be_cancelled_and_ends_with_its_endpoint() {
    let (a, b) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    let nobody = bind("127.0.0.1:0").local();
    let sending = a.send(nobody, vec![1; 5_000]);
    sending.cancel();
    assert_eq!(sending.wait(), Err(Failure::Cancelled));
    let sending = a.send(nobody, vec![1; 5_000]);
    // The transfer that gets no answer must not delay other transfers.
    a.send(b.local(), vec![2; 5_000]).wait().expect("delivered");
    drop(a);
    assert_eq!(sending.wait(), Err(Failure::Closed));
}

#[test]
fn what_is_received_waits_for_the_application_within_the_memory_that_it_allows() {
    let options = Options {
        memory: 250_000,
        object: 120_000,
        ..Options::default()
    };
    let b = Endpoint::bind("127.0.0.1:0".parse().expect("an address"), &options).expect("a port");
    let a = bind("127.0.0.1:0");
    let sendings: Vec<_> = (0..5)
        .map(|number| a.send(b.local(), object(100_000, number)))
        .collect();
    let mut received = Vec::new();
    for _ in 0..5 {
        // `into_bytes` releases the memory of this object, so that the next object can arrive.
        received.push(b.receive().expect("open").into_bytes());
    }
    for sending in sendings {
        sending.wait().expect("delivered");
    }
    for number in 0..5 {
        assert!(received.contains(&object(100_000, number)));
    }
}

#[test]
fn replicas_send_shares_of_an_object_that_arrives_once() {
    let receiver = bind("127.0.0.1:0");
    let replicas = [(); 3].map(|()| bind("127.0.0.1:0"));
    for length in [1_000, 400_000] {
        let session = new_session().expect("randomness");
        let sendings: Vec<_> = (0..3)
            .map(|index| {
                let share = Share { index, of: 3 };
                let object = object(length, 5);
                replicas[usize::from(index)].send_share(receiver.local(), session, share, object)
            })
            .collect();
        assert!(receiver.receive().expect("open").bytes == object(length, 5));
        for sending in sendings {
            sending.wait().expect("delivered");
        }
    }
}

#[test]
fn a_replica_that_is_not_there_does_not_hold_the_others_up() {
    let receiver = bind("127.0.0.1:0");
    let replicas = [(); 2].map(|()| bind("127.0.0.1:0"));
    let session = new_session().expect("randomness");
    let sendings: Vec<_> = (0..2)
        .map(|index| {
            let share = Share { index, of: 3 };
            let object = object(2_000_000, 5);
            replicas[usize::from(index)].send_share(receiver.local(), session, share, object)
        })
        .collect();
    assert!(receiver.receive().expect("open").bytes == object(2_000_000, 5));
    for sending in sendings {
        sending.wait().expect("delivered");
    }
}

#[test]
fn an_object_goes_to_several_receivers_at_once() {
    let sender = bind("127.0.0.1:0");
    let receivers = [(); 4].map(|()| bind("127.0.0.1:0"));
    let to = receivers.each_ref().map(Endpoint::local);
    let wait = Stragglers {
        after: Duration::from_ms(60_000),
        policy: StragglerPolicy::Wait,
    };
    let sending = sender.send_to_all(&to, wait, object(700_000, 2));
    for receiver in &receivers {
        assert!(receiver.receive().expect("open").bytes == object(700_000, 2));
    }
    let board = std::iter::from_fn(|| Some(sending.progress()));
    let over = |all: &Vec<Progress>| all.iter().all(|one| one.stage == Stage::Done);
    let last = { board }.find(over).expect("it ends");
    assert!(last.iter().all(|one| one.bytes == 700_000));
    assert_eq!(last.iter().map(|one| one.to).collect::<Vec<_>>(), to);
    assert_eq!(sending.wait().expect("delivered").missed, 0);
}

#[test]
fn a_receiver_that_is_not_there_is_left_out_of_several() {
    let sender = bind("127.0.0.1:0");
    let receivers = [(); 2].map(|()| bind("127.0.0.1:0"));
    let nobody = bind("127.0.0.1:0").local();
    let to = [receivers[0].local(), nobody, receivers[1].local()];
    let drop = Stragglers {
        after: Duration::from_ms(100),
        policy: StragglerPolicy::Drop,
    };
    let sending = sender.send_to_all(&to, drop, object(300_000, 2));
    for receiver in &receivers {
        assert!(receiver.receive().expect("open").bytes == object(300_000, 2));
    }
    let board = sending.progress();
    assert_eq!(sending.wait().expect("delivered").missed, 1);
    assert_eq!(board[1].bytes, 0);
}

#[test]
fn an_object_that_is_longer_than_the_receiver_takes_is_refused() {
    let options = Options {
        object: 10_000,
        ..Options::default()
    };
    let local = "127.0.0.1:0".parse().expect("an address");
    let receiver = Endpoint::bind(local, &options).expect("a port");
    let sender = bind("127.0.0.1:0");
    let sending = sender.send(receiver.local(), object(10_001, 1));
    assert_eq!(sending.wait(), Err(Failure::TooLarge));
}

#[test]
fn the_papers_mode_can_be_chosen() {
    let options = Options {
        mode: Mode::Paper,
        ..Options::default()
    };
    let bind = || Endpoint::bind("127.0.0.1:0".parse().expect("an address"), &options);
    let (a, b) = (bind().expect("a port"), bind().expect("a port"));
    let sending = a.send(b.local(), object(500_000, 3));
    assert!(b.receive().expect("open").bytes == object(500_000, 3));
    sending.wait().expect("delivered");
}

#[test]
fn under_a_key_objects_go_to_one_to_several_and_from_several() {
    let options = Options {
        key: Some(Key::generate(Cipher::default()).expect("randomness")),
        ..Options::default()
    };
    let local = "127.0.0.1:0".parse().expect("an address");
    let ends = [(); 3].map(|()| Endpoint::bind(local, &options).expect("a port"));
    let [a, b, c] = &ends;
    for length in [0, 5_000, 700_000] {
        let sending = a.send(b.local(), object(length, 1));
        assert!(b.receive().expect("open").bytes == object(length, 1));
        sending.wait().expect("delivered");
    }
    let wait = Stragglers {
        after: Duration::from_ms(60_000),
        policy: StragglerPolicy::Wait,
    };
    let sending = a.send_to_all(&[b.local(), c.local()], wait, object(300_000, 2));
    for receiver in [b, c] {
        assert!(receiver.receive().expect("open").bytes == object(300_000, 2));
    }
    sending.wait().expect("delivered");
    let session = new_session().expect("randomness");
    let sendings = [(a, 0), (b, 1)].map(|(sender, index)| {
        sender.send_share(
            c.local(),
            session,
            Share { index, of: 2 },
            object(300_000, 3),
        )
    });
    assert!(c.receive().expect("open").bytes == object(300_000, 3));
    for sending in sendings {
        sending.wait().expect("delivered");
    }
}

/// Index of the loopback interface. It is 1 on every Linux system.
const LOOPBACK: u32 = 1;

#[test]
fn an_object_goes_to_a_group_that_a_receiver_has_joined() {
    for (mode, group) in [
        (Mode::Paper, [239, 255, 77, 1]),
        (Options::default().mode, [239, 255, 77, 2]),
    ] {
        to_a_group(mode, group.into());
    }
}

fn to_a_group(mode: Mode, group: IpAddr) {
    let options = Options {
        mode,
        multicast: Multicast {
            interface: LOOPBACK,
            ..Multicast::default()
        },
        ..Options::default()
    };
    let sender = Endpoint::bind("127.0.0.1:0".parse().expect("an address"), &options);
    let receiver = Endpoint::bind("0.0.0.0:0".parse().expect("an address"), &options);
    let (sender, receiver) = (sender.expect("a port"), receiver.expect("a port"));
    receiver.join(group, LOOPBACK).expect("joined");
    let port = receiver.local().port();
    let to = SocketAddr::from(([127, 0, 0, 1], port));
    let wait = Stragglers {
        after: Duration::from_ms(60_000),
        policy: StragglerPolicy::Wait,
    };
    let sent = object(400_000, 4);
    let sending = sender.send_to_group((group, port).into(), &[to], wait, sent.clone());
    assert!(receiver.receive().expect("open").bytes == sent);
    assert_eq!(sending.wait().expect("delivered").missed, 0);
    let wrong = receiver.join(IpAddr::from([192, 0, 2, 1]), LOOPBACK);
    assert!(
        wrong
            .expect_err("no group")
            .to_string()
            .contains("192.0.2.1")
    );
}
