//! Tests of transfers from one sender to one receiver.

use super::super::common::{SLAB, bytes, folder, look, names, sink, source};
use super::{GOES_ON, Waits, bind, file_of, receiver};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use tailcut_cast::files::{
    self, FileSink, FileSource, Hash, SinkOptions, Source, StreamSink, StreamSource,
};
use tailcut_cast::transfer::{Code, Error, Event, SendOptions, send};

#[test]
fn a_file_arrives_and_both_ends_know_its_root() {
    let (from, to) = (folder(), folder());
    let contents = bytes(5 * SLAB + 7, 1);
    fs::write(from.path().join("file"), &contents).expect("a file");
    let into = to.path().to_owned();
    let (at, receiver) = receiver(move || Box::new(sink(&into)));
    let source = Box::new(source(&from.path().join("file")));
    let options = SendOptions::default();
    let mut events = Vec::new();
    let mut tell = |event| events.push(event);
    let summary = send(&bind(), source, &[at], options, &GOES_ON, &mut tell).expect("sent");
    let taken = receiver.join().expect("a thread").expect("received");
    assert!(summary.receivers[0].1.is_ok());
    assert_eq!(summary.root, Some(Hash::of(&contents)));
    assert_eq!(taken.root, Hash::of(&contents));
    assert!(fs::read(to.path().join("file")).expect("a file") == contents);
    assert_eq!(events[0], Event::Joined(at));
    assert_eq!(taken.progress.total, Some(taken.progress.received.verified));
}

#[test]
fn a_tree_arrives_as_it_is() {
    let (from, to) = (folder(), folder());
    let tree = from.path().join("tree");
    fs::create_dir_all(tree.join("a/b")).expect("folders");
    for at in 0..40 {
        fs::write(tree.join(format!("a/{at}")), bytes(at * 100, 3)).expect("a file");
    }
    fs::write(tree.join("large"), bytes(2 * SLAB + 1, 2)).expect("a file");
    fs::hard_link(tree.join("large"), tree.join("a/b/again")).expect("a link");
    std::os::unix::fs::symlink("../large", tree.join("a/soft")).expect("a link");
    let into = to.path().to_owned();
    let (at, receiver) = receiver(move || Box::new(sink(&into)));
    let options = SendOptions::default();
    let source = Box::new(source(&tree));
    send(&bind(), source, &[at], options, &GOES_ON, &mut |_| ()).expect("sent");
    receiver.join().expect("a thread").expect("received");
    assert_eq!(look(&tree), look(&to.path().join("tree")));
}

/// Output whose bytes the test can read.
#[derive(Clone, Default)]
struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("bytes").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stream_of_any_length_goes_from_pipe_to_pipe() {
    for length in [0, 1, SLAB, 3 * SLAB + 5] {
        let contents = bytes(length, 4);
        let out = Shared::default();
        let written = out.clone();
        let (at, receiver) = receiver(move || Box::new(StreamSink::new(out, 4, u64::MAX)));
        let input = std::io::Cursor::new(contents.clone());
        let source = Box::new(StreamSource::new(input, b"dump").expect("a source"));
        let options = SendOptions::default();
        send(&bind(), source, &[at], options, &GOES_ON, &mut |_| ()).expect("sent");
        let taken = receiver.join().expect("a thread").expect("received");
        assert!(*written.0.lock().expect("bytes") == contents, "{length}");
        assert_eq!(taken.root, Hash::of(&contents));
    }
}

#[test]
fn what_was_there_is_not_sent_again_and_does_not_count_as_moved() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), 6 * SLAB);
    super::super::common::some(&mut source(&file), &mut sink(to.path()), 4).expect("a part");
    let into = to.path().to_owned();
    let (at, receiver) = receiver(move || Box::new(sink(&into)));
    let options = SendOptions::default();
    let source = Box::new(source(&file));
    let summary = send(&bind(), source, &[at], options, &GOES_ON, &mut |_| ()).expect("sent");
    let taken = receiver.join().expect("a thread").expect("received");
    let kept = 3 * SLAB as u64;
    assert_eq!(taken.progress.received.kept, kept);
    assert!(summary.progress.sent < contents.len() as u64);
    assert_eq!(summary.progress.received, taken.progress.received);
    assert_eq!(
        taken.progress.moved() + kept,
        taken.progress.received.verified
    );
    assert_eq!(names(to.path()), ["file"]);
}

#[test]
fn a_receiver_that_refuses_says_why_to_the_sender() {
    let (from, to) = (folder(), folder());
    fs::write(from.path().join("file"), "new").expect("a file");
    fs::write(to.path().join("file"), "old").expect("a file");
    let into = to.path().to_owned();
    let (at, receiver) = receiver(move || Box::new(sink(&into)));
    let source = Box::new(source(&from.path().join("file")));
    let options = SendOptions::default();
    let summary = send(&bind(), source, &[at], options, &GOES_ON, &mut |_| ()).expect("tried");
    let error = receiver.join().expect("a thread").expect_err("refused");
    assert_eq!(error.exit_code(), 4);
    let (_, result) = &summary.receivers[0];
    let error = result.as_ref().expect_err("refused");
    assert_eq!(error.exit_code(), 4);
    assert!(error.to_string().contains("exists already"), "{error}");
    assert_eq!(fs::read(to.path().join("file")).expect("a file"), b"old");
}

#[test]
fn more_bytes_than_allowed_are_refused() {
    let (from, to) = (folder(), folder());
    fs::write(from.path().join("file"), bytes(SLAB, 1)).expect("a file");
    let into = to.path().to_owned();
    let (at, receiver) = receiver(move || {
        let options = SinkOptions {
            max_size: 1_000,
            ..SinkOptions::default()
        };
        Box::new(FileSink::new(&into, options).expect("a sink"))
    });
    let source = Box::new(source(&from.path().join("file")));
    let options = SendOptions::default();
    let summary = send(&bind(), source, &[at], options, &GOES_ON, &mut |_| ()).expect("tried");
    let error = receiver.join().expect("a thread").expect_err("refused");
    assert!(error.to_string().contains("--max-size"), "{error}");
    assert!(matches!(
        summary.receivers[0].1,
        Err(Error::Peer {
            code: Code::Refused,
            ..
        })
    ));
}

#[test]
fn a_source_that_changes_meanwhile_is_an_error_that_names_the_file() {
    let (from, to) = (folder(), folder());
    let file = from.path().join("file");
    fs::write(&file, bytes(2 * SLAB, 1)).expect("a file");
    let into = to.path().to_owned();
    let (at, receiver) = receiver(move || Box::new(sink(&into)));
    let source = Box::new(source(&file));
    fs::write(&file, "shorter").expect("a file");
    let options = SendOptions::default();
    let result = send(&bind(), source, &[at], options, &GOES_ON, &mut |_| ());
    let error = result.expect_err("it has changed");
    assert_eq!(error.exit_code(), 3);
    assert!(
        error
            .to_string()
            .contains("file: changed while it was sent"),
        "{error}"
    );
    let error = receiver.join().expect("a thread").expect_err("told");
    assert!(
        error.to_string().contains("changed while it was sent"),
        "{error}"
    );
    assert!(!to.path().join("file").exists());
}

#[test]
fn a_sender_that_is_interrupted_while_its_pipe_waits_tells_the_receiver() {
    let to = folder();
    let into = to.path().to_owned();
    let (at, receiver) = receiver(move || Box::new(sink(&into)));
    let (_more, pipe) = mpsc::channel();
    let source = Box::new(StreamSource::new(Waits(pipe), b"dump").expect("a source"));
    let stop = AtomicBool::new(false);
    let mut on_event = |event| {
        if matches!(event, Event::Joined(_)) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let options = SendOptions::default();
    let result = send(&bind(), source, &[at], options, &stop, &mut on_event);
    assert!(matches!(result, Err(Error::Interrupted)));
    let error = receiver.join().expect("a thread").expect_err("told");
    assert!(
        error.to_string().contains("was interrupted there"),
        "{error}"
    );
}

#[test]
fn a_transfer_that_takes_longer_than_its_time_ends_with_this_reason() {
    let to = folder();
    let into = to.path().to_owned();
    let (at, receiver) = receiver(move || Box::new(sink(&into)));
    // The pipe stays open, so the transfer would never end.
    let (_more, pipe) = mpsc::channel();
    let source = Box::new(StreamSource::new(Waits(pipe), b"dump").expect("a source"));
    let options = SendOptions {
        timeout: Some(Duration::from_secs(2)),
        ..SendOptions::default()
    };
    let result = send(&bind(), source, &[at], options, &GOES_ON, &mut |_| ());
    assert!(matches!(result, Err(Error::TimedOut(_))), "{result:?}");
    let error = receiver.join().expect("a thread").expect_err("told");
    assert!(
        error.to_string().contains("not finished within 2 s"),
        "{error}"
    );
}

/// Source that returns a limited number of slabs with wrong bytes.
struct Spoils(FileSource, u32);

impl Source for Spoils {
    fn header(&self) -> &files::manifest::Header {
        self.0.header()
    }

    fn total(&self) -> Option<u64> {
        self.0.total()
    }

    fn read(&mut self, slab: u32, buffer: &mut Vec<u8>) -> Result<files::Label, files::Error> {
        let label = self.0.read(slab, buffer)?;
        if self.1 > 0 && slab > 0 {
            self.1 -= 1;
            buffer[0] ^= 1;
        }
        Ok(label)
    }

    fn hash_ahead(&mut self, buffer: &mut Vec<u8>) -> Result<bool, files::Error> {
        self.0.hash_ahead(buffer)
    }

    fn root(&mut self) -> Result<Hash, files::Error> {
        self.0.root()
    }

    fn slab_hashes(&mut self) -> Result<files::SlabHashes, files::Error> {
        self.0.slab_hashes()
    }
}

#[test]
fn a_slab_that_does_not_agree_with_its_hash_is_sent_again_but_not_for_ever() {
    for (spoilt, arrives) in [(2, true), (1_000, false)] {
        let (from, to) = (folder(), folder());
        let file = from.path().join("file");
        fs::write(&file, bytes(3 * SLAB, 1)).expect("a file");
        let into = to.path().to_owned();
        let (at, receiver) = receiver(move || Box::new(sink(&into)));
        let source = Box::new(Spoils(source(&file), spoilt));
        let options = SendOptions::default();
        let summary = send(&bind(), source, &[at], options, &GOES_ON, &mut |_| ()).expect("tried");
        assert_eq!(summary.receivers[0].1.is_ok(), arrives);
        assert_eq!(receiver.join().expect("a thread").is_ok(), arrives);
        assert_eq!(to.path().join("file").exists(), arrives);
    }
}
