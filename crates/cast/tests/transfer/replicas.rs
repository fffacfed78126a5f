//! Tests of downloads from several replicas.

use super::super::common::{SLAB, bytes, folder, look, sink, source};
use super::{GOES_ON, bind, file_of};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tailcut_cast::driver::{Endpoint, Options};
use tailcut_cast::files::{Hash, Source, StreamSink};
use tailcut_cast::transfer::{Error, Event, get, serve};

/// Replica that runs until this value is dropped.
struct Replica {
    at: SocketAddr,
    root: Hash,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Replica {
    fn of(path: &Path) -> Self {
        Self::at(bind(), path)
    }

    fn at(endpoint: Endpoint, path: &Path) -> Self {
        let mut source = source(path);
        let root = source.root().expect("a root");
        let at = endpoint.local();
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        let work = move || {
            let result = serve(&endpoint, Box::new(source), root, &stops, &mut |_| ());
            assert!(matches!(result, Err(Error::Interrupted)));
        };
        let thread = Some(std::thread::spawn(work));
        Self {
            at,
            root,
            stop,
            thread,
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[test]
fn a_file_comes_from_three_replicas_one_of_which_is_not_there() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), 20 * SLAB + 7);
    let replicas = [Replica::of(&file), Replica::of(&file)];
    let nobody = bind().local();
    let at = [nobody, replicas[0].at, replicas[1].at];
    let root = replicas[0].root;
    let mut sink = sink(to.path());
    let taken = get(&bind(), root, &at, &mut sink, &GOES_ON, &mut |_| ()).expect("fetched");
    assert_eq!(taken.root, Hash::of(&contents));
    assert!(fs::read(to.path().join("file")).expect("a file") == contents);
}

#[test]
fn a_tree_comes_from_two_replicas_and_a_file_goes_into_a_pipe_in_order() {
    let (from, to) = (folder(), folder());
    let tree = from.path().join("tree");
    fs::create_dir(&tree).expect("a folder");
    fs::write(tree.join("a"), bytes(3 * SLAB + 1, 1)).expect("a file");
    fs::write(tree.join("b"), bytes(2 * SLAB, 2)).expect("a file");
    let replicas = [Replica::of(&tree), Replica::of(&tree)];
    let at = replicas.each_ref().map(|replica| replica.at);
    let mut into = sink(to.path());
    let root = replicas[0].root;
    get(&bind(), root, &at, &mut into, &GOES_ON, &mut |_| ()).expect("fetched");
    assert_eq!(look(&tree), look(&to.path().join("tree")));

    let replicas = [tree.join("a"), tree.join("a")].map(|file| Replica::of(&file));
    let at = replicas.each_ref().map(|replica| replica.at);
    let mut copy = Vec::new();
    let mut pipe = StreamSink::new(&mut copy, 4, u64::MAX);
    let root = replicas[0].root;
    get(&bind(), root, &at, &mut pipe, &GOES_ON, &mut |_| ()).expect("fetched");
    drop(pipe);
    assert!(copy == bytes(3 * SLAB + 1, 1));
}

/// Changes all bytes of a file, but neither its size nor its time of modification.
fn rot(path: &Path) {
    let modified = fs::metadata(path).and_then(|stat| stat.modified());
    let changed: Vec<u8> = fs::read(path)
        .expect("a file")
        .iter()
        .map(|byte| !byte)
        .collect();
    let file = fs::OpenOptions::new().write(true).open(path);
    let file = file.expect("a file");
    file.write_all_at(&changed, 0).expect("written");
    file.set_modified(modified.expect("a time")).expect("set");
}

/// Replica that sends so slowly that others get requests too.
fn slow(path: &Path) -> Replica {
    let options = Options {
        rate: Some(10 << 20),
        ..Options::default()
    };
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    Replica::at(Endpoint::bind(local, &options).expect("a port"), path)
}

#[test]
fn a_replica_whose_file_has_rotted_is_named_and_the_others_finish() {
    for slabs in [1, 12] {
        let (from, rotten, to) = (folder(), folder(), folder());
        let (file, contents) = file_of(from.path(), slabs * SLAB);
        let (spoiled, _) = file_of(rotten.path(), slabs * SLAB);
        let bad = Replica::of(&spoiled);
        rot(&spoiled);
        let good = [slow(&file), slow(&file)];
        let mut left = Vec::new();
        let mut on_event = |event| {
            if let Event::Left { peer, why, .. } = event {
                left.push((peer, why));
            }
        };
        let (at, mut into) = ([bad.at, good[0].at, good[1].at], sink(to.path()));
        let root = good[0].root;
        let taken = get(&bind(), root, &at, &mut into, &GOES_ON, &mut on_event).expect("fetched");
        assert_eq!(taken.root, Hash::of(&contents));
        assert!(fs::read(to.path().join("file")).expect("a file") == contents);
        // With one slab, the rotten replica may get no request.
        assert!(left.len() == 1 || slabs == 1, "{left:?}");
        for (peer, why) in left {
            assert_eq!(peer, bad.at);
            assert!(why.contains("does not match the root"), "{why}");
        }
    }
}

#[test]
fn if_the_only_replica_has_rotted_the_download_ends_with_its_name() {
    let (from, to) = (folder(), folder());
    let tree = from.path().join("tree");
    fs::create_dir(&tree).expect("a folder");
    fs::write(tree.join("a"), bytes(3 * SLAB, 1)).expect("a file");
    let replica = Replica::of(&tree);
    rot(&tree.join("a"));
    let (root, at, mut into) = (replica.root, [replica.at], sink(to.path()));
    let error = get(&bind(), root, &at, &mut into, &GOES_ON, &mut |_| ()).expect_err("rotten");
    assert_eq!(error.exit_code(), 3);
    let said = error.to_string();
    let named = format!("{}: its data does not match the root", replica.at);
    assert!(said.contains(&named), "{said}");
    assert!(!to.path().join("tree").exists());
}

#[test]
fn who_asks_for_something_else_is_told_what_there_is() {
    let (from, to) = (folder(), folder());
    let file = from.path().join("file");
    fs::write(&file, "x").expect("a file");
    let replica = Replica::of(&file);
    let (at, other) = ([replica.at], Hash::of(b"other"));
    let mut sink = sink(to.path());
    let error = get(&bind(), other, &at, &mut sink, &GOES_ON, &mut |_| ()).expect_err("another");
    assert_eq!(error.exit_code(), 4);
    assert!(
        error.to_string().contains(&replica.root.to_string()),
        "{error}"
    );
}

#[test]
fn a_replica_that_leaves_meanwhile_is_replaced_by_the_others() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), 30 * SLAB);
    let stays = Replica::of(&file);
    let mut leaves = Some(Replica::of(&file));
    let at = [stays.at, leaves.as_ref().expect("a replica").at];
    let mut sink = sink(to.path());
    let mut on_event = |_| {
        // The replica leaves at the first event. At this time, it has not sent all requested slabs.
        drop(leaves.take());
    };
    let taken = get(&bind(), stays.root, &at, &mut sink, &GOES_ON, &mut on_event);
    assert_eq!(taken.expect("fetched").root, Hash::of(&contents));
}

#[test]
fn a_replica_that_answers_when_the_only_other_one_has_left_is_used() {
    let (from, to) = (folder(), folder());
    let (file, contents) = file_of(from.path(), 30 * SLAB);
    let mut leaves = Some(Replica::of(&file));
    // This replica gets a request, but it answers only after the other replica has left.
    let mut later = Some(bind());
    let mut answers = None;
    let first = leaves.as_ref().expect("a replica");
    let (root, at) = (
        first.root,
        [first.at, later.as_ref().expect("a port").local()],
    );
    let mut sink = sink(to.path());
    let mut on_event = |event| {
        drop(leaves.take());
        if matches!(event, Event::Left { .. })
            && let Some(endpoint) = later.take()
        {
            answers = Some(Replica::at(endpoint, &file));
        }
    };
    let taken = get(&bind(), root, &at, &mut sink, &GOES_ON, &mut on_event);
    assert_eq!(taken.expect("fetched").root, Hash::of(&contents));
}
