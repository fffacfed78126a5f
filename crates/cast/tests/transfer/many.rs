//! Tests of transfers from one sender to several receivers.

use super::super::common::{SLAB, bytes, folder, sink, some, source};
use super::relay::Relay;
use super::{GOES_ON, bind, file_of, receiver};
use std::fs;
use std::time::Duration;
use tailcut_cast::files::{Hash, StreamSource};
use tailcut_cast::transfer::{Error, Event, SendOptions, send};

#[test]
fn a_file_goes_to_three_and_each_slab_is_read_once() {
    let from = folder();
    let (file, contents) = file_of(from.path(), 5 * SLAB + 7);
    let to = [folder(), folder(), folder()];
    // The second receiver already has some slabs of an earlier transfer.
    some(&mut source(&file), &mut sink(to[1].path()), 3).expect("a part");
    let receivers = to.each_ref().map(|to| {
        let into = to.path().to_owned();
        receiver(move || Box::new(sink(&into)))
    });
    let addresses = receivers.each_ref().map(|(at, _)| *at);
    let options = SendOptions::default();
    let source = Box::new(source(&file));
    let summary = send(&bind(), source, &addresses, options, &GOES_ON, &mut |_| ()).expect("sent");
    for ((at, thread), (peer, result)) in receivers.into_iter().zip(&summary.receivers) {
        assert_eq!(at, *peer);
        assert!(result.is_ok());
        let taken = thread.join().expect("a thread").expect("received");
        assert_eq!(taken.root, Hash::of(&contents));
    }
    for to in &to {
        assert!(fs::read(to.path().join("file")).expect("a file") == contents);
    }
}

#[test]
fn a_stream_goes_to_those_that_answer_and_the_others_are_listed() {
    let contents = bytes(3 * SLAB + 1, 1);
    let to = folder();
    let into = to.path().to_owned();
    let (at, receiver) = receiver(move || Box::new(sink(&into)));
    // The endpoint is dropped immediately, so no program listens at this address.
    let nobody = bind().local();
    let source = StreamSource::new(std::io::Cursor::new(contents.clone()), b"dump");
    let source = Box::new(source.expect("a source"));
    let options = SendOptions::default();
    let mut left = Vec::new();
    let mut tell = |event| {
        if let Event::Left { peer, .. } = event {
            left.push(peer);
        }
    };
    let to_all = [nobody, at];
    let summary = send(&bind(), source, &to_all, options, &GOES_ON, &mut tell).expect("sent");
    receiver.join().expect("a thread").expect("received");
    assert!(matches!(
        summary.receivers[0].1,
        Err(Error::Unreachable { .. })
    ));
    assert!(summary.receivers[1].1.is_ok());
    assert_eq!(left, [nobody]);
    assert!(fs::read(to.path().join("dump")).expect("a file") == contents);
}

#[test]
fn a_receiver_that_keeps_the_others_waiting_is_dropped_when_told_so() {
    let from = folder();
    let file = from.path().join("file");
    fs::write(&file, bytes(3 * SLAB, 1)).expect("a file");
    let to = folder();
    let into = to.path().to_owned();
    let (at, receiver) = receiver(move || Box::new(sink(&into)));
    // This endpoint is open, but no program answers the messages.
    let silent = bind();
    let options = SendOptions {
        drop_after: Some(Duration::from_millis(200)),
        ..SendOptions::default()
    };
    let to_all = [silent.local(), at];
    let source = Box::new(source(&file));
    let summary = send(&bind(), source, &to_all, options, &GOES_ON, &mut |_| ()).expect("sent");
    receiver.join().expect("a thread").expect("received");
    assert!(matches!(summary.receivers[0].1, Err(Error::Dropped(_))));
    assert!(summary.receivers[1].1.is_ok());
}

#[test]
fn a_receiver_with_a_small_part_of_the_rate_of_the_others_is_dropped_and_goes_on_later() {
    let from = folder();
    let (file, contents) = file_of(from.path(), 24 * SLAB);
    let to = [folder(), folder(), folder()];
    let receivers = to.each_ref().map(|to| {
        let into = to.path().to_owned();
        receiver(move || Box::new(sink(&into)))
    });
    // The link to the last receiver has 10 Mb/s. Without --drop-after, the transfer takes 20 seconds.
    // In 5 seconds, this receiver gets several slabs.
    let link = Relay::start(Some(receivers[2].0), None, Some(1_250_000));
    let options = SendOptions {
        drop_after: Some(Duration::from_secs(5)),
        ..SendOptions::default()
    };
    let to_all = [receivers[0].0, receivers[1].0, link.outer()];
    let mut named = [0; 3];
    let summary = send(
        &bind(),
        Box::new(source(&file)),
        &to_all,
        options,
        &GOES_ON,
        &mut |event| {
            if let Event::Progress(progress) = event
                && progress.receivers == 3
            {
                let slowest = to_all.iter().position(|at| Some(*at) == progress.slowest);
                named[slowest.expect("one of the three")] += 1;
            }
        },
    );
    let results = summary.expect("sent").receivers;
    assert!(results[0].1.is_ok() && results[1].1.is_ok());
    assert!(
        matches!(results[2].1, Err(Error::Dropped(peer)) if peer == link.outer()),
        "{:?}",
        results[2].1
    );
    assert!(named[2] > named[0] + named[1], "{named:?}");
    let mut ended = receivers.into_iter().map(|(_, thread)| thread.join());
    assert!(ended.next().expect("one").expect("a thread").is_ok());
    assert!(ended.next().expect("one").expect("a thread").is_ok());
    let error = ended.next().expect("one").expect("a thread");
    let error = error.expect_err("dropped").to_string();
    assert!(error.contains("waited too long"), "{error}");
    // The same command goes on from the data that has arrived.
    let into = to[2].path().to_owned();
    let (at, thread) = receiver(move || Box::new(sink(&into)));
    let (source, options) = (Box::new(source(&file)), SendOptions::default());
    send(&bind(), source, &[at], options, &GOES_ON, &mut |_| ()).expect("sent");
    let taken = thread.join().expect("a thread").expect("received");
    assert!(taken.progress.received.kept > 0);
    for to in &to {
        assert!(fs::read(to.path().join("file")).expect("a file") == contents);
    }
}
