//! Tests of transfers from one sender to several receivers.

use super::super::common::{SLAB, bytes, folder, sink, some, source};
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
        if let Event::Left(peer, _) = event {
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
