//! Tests of ends whose addresses change during a transfer, as behind a NAT that forgets its table.

use super::super::common::{SLAB, folder, sink, source};
use super::relay::Relay;
use super::{GOES_ON, bind, file_of};
use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tailcut_cast::driver::{Endpoint, Options};
use tailcut_cast::files::Hash;
use tailcut_cast::files::Source;
use tailcut_cast::transfer::{Event, Listener, SendOptions, get, send, serve};

/// Rate of the end that sends, in bytes per second. The address changes during the transfer.
const RATE: u64 = 20 << 20;

fn at_rate() -> Endpoint {
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = Options {
        rate: Some(RATE),
        ..Options::default()
    };
    Endpoint::bind(local, &options).expect("a port")
}

/// Returns whether a third of the data is verified.
fn is_a_third(event: &Event) -> bool {
    let Event::Progress(progress) = event else {
        return false;
    };
    let total = progress.total.unwrap_or(u64::MAX);
    progress.received.verified >= total / 3
}

#[test]
fn a_sender_whose_address_changes_goes_on() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), 40 * SLAB);
    let receiver = bind();
    let relay = Relay::start(None, Some(receiver.local()), None);
    let (at, into) = (relay.inner(), to.path().to_owned());
    let (mut has_moved, mut moves) = (false, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (source, options) = (Box::new(source(&file)), SendOptions::default());
            let sender = at_rate();
            let summary = send(&sender, source, &[at], options, &GOES_ON, &mut |_| ());
            let summary = summary.expect("sent");
            summary.receivers[0].1.as_ref().expect("received");
        });
        let mut listener = Listener::new(&receiver, &GOES_ON);
        let offered = listener.accept().expect("an offer");
        let received = listener.receive(offered, Box::new(sink(&into)), &mut |event| {
            if is_a_third(&event) && !has_moved {
                has_moved = true;
                relay.rebind();
            }
            moves += usize::from(matches!(event, Event::Moved(..)));
        });
        received.expect("received");
    });
    assert!(fs::read(to.path().join("file")).expect("a file") == contents);
    assert_eq!((has_moved, moves), (true, 1));
}

#[test]
fn a_receiver_whose_address_changes_gets_the_rest_there() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), 40 * SLAB);
    let receiver = bind();
    let relay = Relay::start(Some(receiver.local()), None, None);
    let (at, into) = (relay.outer(), to.path().to_owned());
    let thread = thread::spawn(move || {
        let mut listener = Listener::new(&receiver, &GOES_ON);
        let offered = listener.accept()?;
        listener.receive(offered, Box::new(sink(&into)), &mut |_| ())
    });
    let (mut has_moved, mut moves) = (false, 0);
    let (source, options) = (Box::new(source(&file)), SendOptions::default());
    let sender = at_rate();
    let summary = send(&sender, source, &[at], options, &GOES_ON, &mut |event| {
        if is_a_third(&event) && !has_moved {
            has_moved = true;
            relay.rebind();
        }
        moves += usize::from(matches!(event, Event::Moved(..)));
    });
    let summary = summary.expect("sent");
    summary.receivers[0].1.as_ref().expect("received");
    thread.join().expect("a thread").expect("received");
    assert!(fs::read(to.path().join("file")).expect("a file") == contents);
    assert_eq!((has_moved, moves), (true, 1));
}

#[test]
fn a_download_goes_on_when_the_address_of_the_receiver_changes() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), 40 * SLAB);
    let (replica, stop) = (at_rate(), AtomicBool::new(false));
    let relay = Relay::start(None, Some(replica.local()), None);
    let (root, mut has_moved) = (Hash::of(&contents), false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut source = source(&file);
            let root = source.root().expect("a root");
            // The end of the test stops the replica.
            let _ = serve(&replica, Box::new(source), root, &stop, &mut |_| ());
        });
        let mut sink = sink(to.path());
        let all = [relay.inner()];
        let taken = get(&bind(), root, &all, &mut sink, &GOES_ON, &mut |event| {
            if is_a_third(&event) && !has_moved {
                has_moved = true;
                relay.rebind();
            }
        });
        stop.store(true, Ordering::Relaxed);
        assert_eq!(taken.expect("fetched").root, root);
    });
    assert!(has_moved);
    assert!(fs::read(to.path().join("file")).expect("a file") == contents);
}
