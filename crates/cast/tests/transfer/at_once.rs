//! Tests of a receiver that runs several transfers at the same time.

use super::super::common::{SLAB, bytes, folder, sink, some, source};
use super::{GOES_ON, Waits, bind, file_of, receiver};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use tailcut_cast::driver::{Endpoint, Options};
use tailcut_cast::files::StreamSource;
use tailcut_cast::transfer::{
    Error, Event, Footer, Happened, Listener, Message, Offer, SendOptions, Summary, send,
};

/// Receiver of several transfers in a thread. It ends when it is dropped.
struct Receives {
    at: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Receives {
    fn start(to: &Path, at_once: usize) -> Self {
        let (endpoint, to) = (bind(), to.to_owned());
        let (at, stop) = (endpoint.local(), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut listener = Listener::new(&endpoint, &stopped).at_once(at_once);
            loop {
                match listener.next(&mut |_, _| ()) {
                    Ok(Happened::Offered(offered)) => {
                        let sink = Box::new(sink(&to));
                        listener.begin(offered, sink).expect("a number");
                    }
                    // The sender reports the result too.
                    Ok(Happened::Ended(..)) => {}
                    Err(Error::Interrupted) => return,
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let thread = Some(thread);
        Self { at, stop, thread }
    }
}

impl Drop for Receives {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("a thread");
        assert!(thread.join().is_ok() || thread::panicking());
    }
}

/// Sender of a stream whose pipe is open.
struct Stream {
    pipe: mpsc::Sender<Vec<u8>>,
    events: mpsc::Receiver<Event>,
    thread: JoinHandle<Result<Summary, Error>>,
}

impl Stream {
    fn start(name: &'static str, to: SocketAddr) -> Self {
        let (pipe, bytes) = mpsc::channel();
        let (tell, events) = mpsc::channel();
        let thread = thread::spawn(move || {
            let source = StreamSource::new(Waits(bytes), name.as_bytes()).expect("a source");
            let options = SendOptions::default();
            let mut notify = |event| {
                // The test may have stopped listening.
                let _ = tell.send(event);
            };
            send(
                &bind(),
                Box::new(source),
                &[to],
                options,
                &GOES_ON,
                &mut notify,
            )
        });
        Self {
            pipe,
            events,
            thread,
        }
    }

    fn until(&self, is_it: impl Fn(&Event) -> bool) {
        while !is_it(&self.events.recv().expect("an event")) {}
    }

    /// Closes the pipe, and waits for the end of the transfer.
    fn end(self) {
        drop(self.pipe);
        let summary = self.thread.join().expect("a thread").expect("sent");
        summary.receivers[0].1.as_ref().expect("received");
    }
}

fn send_file(endpoint: &Endpoint, file: &Path, to: SocketAddr, notify: &mut dyn FnMut(Event)) {
    let (source, options) = (Box::new(source(file)), SendOptions::default());
    let summary = send(endpoint, source, &[to], options, &GOES_ON, notify).expect("sent");
    summary.receivers[0].1.as_ref().expect("received");
}

fn same(folder: &Path, name: &str, contents: &[u8]) -> bool {
    fs::read(folder.join(name)).expect("a file") == contents
}

#[test]
fn a_stream_that_stalls_delays_no_other_sender() {
    let (from, to) = (folder(), folder());
    let receives = Receives::start(to.path(), 8);
    let slow = Stream::start("slow", receives.at);
    slow.until(|event| matches!(event, Event::Joined(_)));
    let files: Vec<(PathBuf, Vec<u8>)> = (0..4)
        .map(|number| {
            let (path, contents) = (
                from.path().join(number.to_string()),
                bytes(5 * SLAB, number),
            );
            fs::write(&path, &contents).expect("a file");
            (path, contents)
        })
        .collect();
    thread::scope(|scope| {
        for (path, _) in &files {
            scope.spawn(|| send_file(&bind(), path, receives.at, &mut |_| ()));
        }
    });
    for (number, (_, contents)) in files.iter().enumerate() {
        assert!(same(to.path(), &number.to_string(), contents));
    }
    slow.pipe.send(b"the end".to_vec()).expect("an open pipe");
    slow.end();
    assert!(same(to.path(), "slow", b"the end"));
}

#[test]
fn a_sender_that_waits_is_told_so_and_comes_next() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), 2 * SLAB);
    let receives = Receives::start(to.path(), 1);
    let first = Stream::start("first", receives.at);
    first.until(|event| matches!(event, Event::Joined(_)));
    let mut first = Some(first);
    let mut reasons = Vec::new();
    send_file(&bind(), &file, receives.at, &mut |event| {
        if let Event::Waiting(_, why) = event {
            reasons.push(why);
            if let Some(first) = first.take() {
                first.end();
            }
        }
    });
    assert!(same(to.path(), "file", &contents));
    assert!(reasons[0].contains("1 other transfer"), "{reasons:?}");
}

#[test]
fn a_transfer_without_progress_gives_its_place_to_another_and_goes_on_later() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), 2 * SLAB);
    let receives = Receives::start(to.path(), 1);
    let stalls = Stream::start("stalls", receives.at);
    stalls.until(|event| matches!(event, Event::Joined(_)));
    // This needs 10 seconds, because the stalled transfer has the only place for so long.
    send_file(&bind(), &file, receives.at, &mut |_| ());
    assert!(same(to.path(), "file", &contents));
    stalls.pipe.send(vec![7; 100]).expect("an open pipe");
    stalls.end();
    assert!(same(to.path(), "stalls", &[7; 100]));
}

#[test]
fn hosts_that_offer_again_and_again_and_send_nothing_do_not_stop_an_honest_one() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), 2 * SLAB);
    let receives = Receives::start(to.path(), 2);
    // Its offers are confirmed, and it confirms all messages. But it never sends a slab.
    let other_host = SocketAddr::from(([127, 0, 0, 2], 0));
    let occupies = Endpoint::bind(other_host, &Options::default()).expect("a port");
    for number in 1..30 {
        let offer = Offer {
            from: number,
            slabs: 1_000 + number,
            total: Some(1 << 30),
            manifest: 500,
            slab_log2: 24,
        };
        let footer = Footer { to: 0, process: 9 };
        let bytes = Message::Offer(offer).encode(footer);
        occupies.send(receives.at, bytes).wait().expect("confirmed");
    }
    send_file(&bind(), &file, receives.at, &mut |_| ());
    assert!(same(to.path(), "file", &contents));
}

#[test]
fn who_sends_the_same_data_again_waits_until_the_files_are_free() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), 3 * SLAB);
    // An earlier transfer of the same data still runs. Its sender may have been killed.
    let mut earlier = sink(to.path());
    some(&mut source(&file), &mut earlier, 2).expect("moved");
    let mut earlier = Some(earlier);
    let into = to.path().to_owned();
    let (at, thread) = receiver(move || Box::new(sink(&into)));
    send_file(&bind(), &file, at, &mut |event| {
        if matches!(event, Event::Waiting(..)) {
            earlier = None;
        }
    });
    let taken = thread.join().expect("a thread").expect("received");
    assert!(same(to.path(), "file", &contents));
    assert!(earlier.is_none() && taken.progress.received.kept > 0);
}
