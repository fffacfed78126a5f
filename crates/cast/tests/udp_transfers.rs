//! Objects from one endpoint to another over sockets of the kernel's on the loopback interface.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use tailcut_cast::driver::{Endpoint, Failure, Options};

const LOCALHOSTS: [&str; 2] = ["127.0.0.1:0", "[::1]:0"];

fn bind(local: &str) -> Endpoint {
    let local = local.parse().expect("an address");
    Endpoint::bind(local, &Options::default()).expect("a free port")
}

/// Bytes that are not the same anywhere.
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

/// Waits for a future on this thread.
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
    // Others are not held up.
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
        // Each makes room for another one.
        received.push(b.receive().expect("open").into_bytes());
    }
    for sending in sendings {
        sending.wait().expect("delivered");
    }
    for number in 0..5 {
        assert!(received.contains(&object(100_000, number)));
    }
}
