//! Tests of transfers that continue an earlier, unfinished transfer.

use super::common::{Moved, SLAB, all, bytes, folder, look, names, sink, some, source, state};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use tailcut_cast::files::manifest::STATE_FOLDER;
use tailcut_cast::files::{Delivered, Error, FileSink, Next, Pool, Sink, SinkOptions, Source};
use tempfile::TempDir;

/// Creates a file of four slabs, and an unfinished transfer: the manifest and two slabs have arrived.
fn half() -> (TempDir, TempDir, PathBuf) {
    let (from, to) = (folder(), folder());
    let file = from.path().join("file");
    fs::write(&file, bytes(4 * SLAB, 1)).expect("a file");
    some(&mut source(&file), &mut sink(to.path()), 3).expect("moved");
    (from, to, file)
}

fn kept(to: &Path, file: &Path) -> Moved {
    let moved = all(&mut source(file), &mut sink(to)).expect("moved");
    let copy = fs::read(to.join("file")).expect("a file");
    assert!(copy == fs::read(file).expect("a file"));
    assert_eq!(names(to), ["file"]);
    moved
}

#[test]
fn slabs_that_are_verified_do_not_travel_again() {
    let (_from, to, file) = half();
    let moved = kept(to.path(), &file);
    // The manifest is always sent again, because it identifies the transfer.
    assert_eq!((moved.kept, moved.fetched), (2 * SLAB as u64, 1 + 2));
}

#[test]
fn slabs_that_changed_on_disk_travel_again() {
    let (_from, to, file) = half();
    let part = OpenOptions::new()
        .write(true)
        .open(state(to.path(), "data"));
    let part = part.expect("the part");
    part.write_all_at(b"spoiled", 5).expect("written");
    let moved = kept(to.path(), &file);
    assert_eq!((moved.kept, moved.fetched), (SLAB as u64, 1 + 3));
}

#[test]
fn records_that_are_torn_count_as_none() {
    let (_from, to, file) = half();
    let slabs = OpenOptions::new()
        .write(true)
        .open(state(to.path(), "slabs"));
    let slabs = slabs.expect("the records");
    let length = slabs.metadata().expect("a file").len();
    slabs.set_len(length - 1).expect("cut");
    let moved = kept(to.path(), &file);
    assert_eq!((moved.kept, moved.fetched), (SLAB as u64, 1 + 3));
}

#[test]
fn records_without_contents_count_as_none() {
    let (_from, to, file) = half();
    fs::write(state(to.path(), "data"), "").expect("written");
    assert_eq!(kept(to.path(), &file).kept, 0);
}

#[test]
fn the_part_of_another_file_of_this_name_goes() {
    let (_from, to, file) = half();
    fs::write(&file, bytes(4 * SLAB, 2)).expect("a file");
    assert_eq!(kept(to.path(), &file).kept, 0);
}

#[test]
fn a_transfer_may_begin_anew() {
    let (_from, to, file) = half();
    let options = SinkOptions {
        resume: false,
        ..SinkOptions::default()
    };
    let mut sink = FileSink::new(to.path(), options).expect("a sink");
    assert_eq!(all(&mut source(&file), &mut sink).expect("moved").kept, 0);
}

/// A file that has the name of a transfer's records, although no transfer has made it.
#[test]
fn what_no_transfer_has_left_is_not_touched() {
    let (_from, to, file) = half();
    let records = state(to.path(), "slabs");
    let front = fs::read(&records).expect("the records");
    // Neither these magic bytes nor a header with one wrong bit show that a transfer has made the file.
    let spoiled = {
        let mut spoiled = front.clone();
        spoiled[100] ^= 1;
        spoiled
    };
    for mine in [b"tcslabs2".to_vec(), b"mine".to_vec(), spoiled] {
        fs::write(&records, &mine).expect("a file");
        let error = all(&mut source(&file), &mut sink(to.path())).expect_err("in the way");
        assert!(
            matches!(&error, Error::NotAPart(path) if *path == records),
            "{error}"
        );
        assert!(fs::read(&records).expect("a file") == mine);
        assert!(state(to.path(), "data").exists());
    }
    fs::remove_file(&records).expect("removed");
    symlink(&file, &records).expect("a link");
    all(&mut source(&file), &mut sink(to.path())).expect_err("a link");
    assert!(fs::read(&file).expect("a file") == bytes(4 * SLAB, 1));
}

#[test]
fn a_folder_of_this_name_that_is_a_link_is_not_followed() {
    let (from, to, elsewhere) = (folder(), folder(), folder());
    let file = from.path().join("file");
    fs::write(&file, "x").expect("a file");
    symlink(elsewhere.path(), to.path().join(STATE_FOLDER)).expect("a link");
    let error = all(&mut source(&file), &mut sink(to.path())).expect_err("a link");
    assert!(matches!(error, Error::NotAPart(_)), "{error}");
    assert!(names(elsewhere.path()).is_empty());
}

#[test]
fn a_stranger_with_the_same_name_does_not_wipe_an_unfinished_transfer() {
    let (_from, to, file) = half();
    let stranger = folder();
    let other = stranger.path().join("file");
    fs::write(&other, "!").expect("a file");
    // The transfer of the other file stops before its end.
    some(&mut source(&other), &mut sink(to.path()), 1).expect("moved");
    let moved = kept(to.path(), &file);
    assert_eq!((moved.kept, moved.fetched), (2 * SLAB as u64, 1 + 2));
}

#[test]
fn only_one_process_receives_a_name_and_the_others_try_again() {
    let (from, to) = (folder(), folder());
    let file = from.path().join("file");
    fs::write(&file, bytes(SLAB, 1)).expect("a file");
    let (mut first, mut second) = (sink(to.path()), sink(to.path()));
    some(&mut source(&file), &mut first, 1).expect("moved");
    assert_eq!(second.next().expect("a step"), Next::Fetch(0));
    let mut buffer = Pool::new(1).take();
    let label = source(&file).read(0, &mut buffer).expect("a slab");
    let delivered = second.deliver(label, buffer).expect("no error");
    assert_eq!(delivered, Delivered::InUse);
    all(&mut source(&file), &mut first).expect("moved");
    // The data is there now, so nothing else travels.
    let moved = all(&mut source(&file), &mut second).expect("moved");
    assert_eq!(moved.fetched, 1);
}

#[test]
fn interrupted_transfers_of_one_name_do_not_fill_the_disk() {
    let (from, to) = (folder(), folder());
    let file = from.path().join("file");
    for seed in 0..8 {
        fs::write(&file, bytes(4 * SLAB, seed)).expect("a file");
        some(&mut source(&file), &mut sink(to.path()), 3).expect("moved");
    }
    let state = to.path().join(STATE_FOLDER);
    let records = names(&state)
        .iter()
        .filter(|name| name.ends_with(".slabs"))
        .count();
    assert_eq!(records, 4, "the last one and three earlier ones");
    assert_eq!(names(&state).len(), 3 * records);
    let moved = kept(to.path(), &file);
    assert_eq!(moved.kept, 2 * SLAB as u64);
}

#[test]
fn a_tree_goes_on_where_it_ended_even_within_its_last_steps() {
    let (from, to) = (folder(), folder());
    let root = from.path().join("tree");
    fs::create_dir_all(root.join("a/b")).expect("folders");
    for name in 0..3_000 {
        let path = root.join(if name % 2 == 0 { "a" } else { "a/b" });
        fs::write(path.join(name.to_string()), bytes(1_000, name)).expect("a file");
    }
    symlink("nowhere", root.join("link")).expect("a link");
    fs::hard_link(root.join("a/0"), root.join("same")).expect("a link");
    some(&mut source(&root), &mut sink(to.path()), 2).expect("moved");
    // These entries would exist if the last steps of the transfer had begun.
    let part = state(to.path(), "data");
    symlink("elsewhere", part.join("link")).expect("a link");
    fs::write(part.join("same"), "other").expect("a file");
    let moved = all(&mut source(&root), &mut sink(to.path())).expect("moved");
    assert_eq!((moved.kept, moved.fetched), (SLAB as u64, 1 + 2));
    assert_eq!(look(&root), look(&to.path().join("tree")));
}
