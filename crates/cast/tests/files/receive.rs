//! Tests of a sink: which entries it creates, replaces and removes in its directory.

use super::common::{SLAB, all, bytes, folder, names, sink, some, source};
use std::fs;
use std::path::Path;
use tailcut_cast::files::{
    Delivered, Error, Failure, FileSink, FileSource, Hash, Next, Pool, ScanOptions, Sink,
    SinkOptions, Source,
};

fn overwriting(path: &Path) -> FileSink {
    let options = SinkOptions {
        overwrite: true,
        ..SinkOptions::default()
    };
    FileSink::new(path, options).expect("a sink")
}

#[test]
fn nothing_has_its_name_before_all_is_verified() {
    let (from, to) = (folder(), folder());
    let file = from.path().join("file");
    fs::write(&file, bytes(2 * SLAB, 1)).expect("a file");
    let (mut source, mut sink) = (source(&file), sink(to.path()));
    some(&mut source, &mut sink, 2).expect("moved");
    assert_eq!(names(to.path()), [".tailcut"]);
    assert_eq!(names(&to.path().join(".tailcut")).len(), 3);
    all(&mut source, &mut sink).expect("moved");
    assert_eq!(names(to.path()), ["file"]);
}

#[test]
fn what_is_there_is_overwritten_only_if_somebody_says_so() {
    let (from, to) = (folder(), folder());
    let (file, tree) = (from.path().join("file"), from.path().join("tree"));
    fs::write(&file, "new").expect("a file");
    fs::create_dir(&tree).expect("a folder");
    fs::write(tree.join("new"), "new").expect("a file");
    fs::write(to.path().join("file"), "old").expect("a file");
    fs::create_dir(to.path().join("tree")).expect("a folder");
    fs::write(to.path().join("tree/old"), "old").expect("a file");
    for path in [&file, &tree] {
        let error = all(&mut source(path), &mut sink(to.path())).expect_err("it is there");
        assert!(matches!(error, Error::Exists(_)), "{error}");
        assert_eq!(error.failure(), Failure::Refused);
    }
    assert_eq!(fs::read(to.path().join("file")).expect("a file"), b"old");
    for path in [&file, &tree] {
        all(&mut source(path), &mut overwriting(to.path())).expect("moved");
    }
    assert_eq!(fs::read(to.path().join("file")).expect("a file"), b"new");
    assert_eq!(names(&to.path().join("tree")), ["new"]);
    assert_eq!(names(to.path()), ["file", "tree"]);
}

#[test]
fn a_file_does_not_take_the_place_of_a_directory() {
    let (from, to) = (folder(), folder());
    let file = from.path().join("file");
    fs::write(&file, "new").expect("a file");
    fs::create_dir(to.path().join("file")).expect("a folder");
    let error = all(&mut source(&file), &mut overwriting(to.path())).expect_err("a folder");
    assert!(
        error.to_string().ends_with("and it is a directory"),
        "{error}"
    );
}

#[test]
fn a_finished_transfer_may_be_repeated_and_moves_nothing() {
    let (from, to) = (folder(), folder());
    let (file, tree) = (from.path().join("file"), from.path().join("tree"));
    fs::write(&file, bytes(3 * SLAB, 1)).expect("a file");
    fs::create_dir_all(tree.join("inside")).expect("folders");
    fs::write(tree.join("inside/a"), bytes(SLAB, 2)).expect("a file");
    for path in [&file, &tree] {
        all(&mut source(path), &mut sink(to.path())).expect("moved");
        let mut again = sink(to.path());
        // The manifest is always sent, because it identifies the transfer.
        assert_eq!(
            all(&mut source(path), &mut again).expect("there").fetched,
            1
        );
        let amount = again.amount();
        assert_eq!(Some(amount.kept), amount.total);
    }
    assert_eq!(names(to.path()), ["file", "tree"]);
    // With other bytes of the same size, it is another transfer.
    fs::write(&file, bytes(3 * SLAB, 3)).expect("a file");
    fs::write(tree.join("inside/a"), bytes(SLAB, 4)).expect("a file");
    for path in [&file, &tree] {
        let error = all(&mut source(path), &mut sink(to.path())).expect_err("it differs");
        assert!(matches!(error, Error::Exists(_)), "{error}");
    }
    assert!(fs::read(to.path().join("file")).expect("a file") == bytes(3 * SLAB, 1));
}

#[test]
fn a_transfer_without_room_is_refused_before_its_contents() {
    let (from, to) = (folder(), folder());
    let file = from.path().join("file");
    // The file has a hole of 2^43 bytes, and takes no space.
    let sparse = fs::File::create(&file).expect("a file");
    if sparse.set_len(1 << 43).is_err() {
        return;
    }
    let slabs = ScanOptions {
        slab_log2: 24,
        ..ScanOptions::default()
    };
    let mut source = FileSource::open(&file, &slabs, &mut |_| ()).expect("a source");
    let error = some(&mut source, &mut sink(to.path()), 1).expect_err("no room");
    assert!(
        matches!(error, Error::NoRoom { needed, .. } if needed > 1 << 43),
        "{error}"
    );
    assert_eq!(names(to.path()), Vec::<String>::new());
}

#[test]
fn the_files_of_a_receiver_with_names_of_partial_data_stay() {
    let (from, to) = (folder(), folder());
    let mine = [
        "report.part",
        "report.part.manifest",
        "report.part.slabs",
        "movie.part",
    ];
    for name in mine {
        fs::write(to.path().join(name), name).expect("a file");
    }
    fs::write(from.path().join("report"), "new").expect("a file");
    fs::write(from.path().join("movie"), "new").expect("a file");
    for name in ["report", "movie"] {
        all(&mut source(&from.path().join(name)), &mut sink(to.path())).expect("moved");
    }
    for name in mine {
        let found = fs::read(to.path().join(name)).expect("a file");
        assert_eq!(found, name.as_bytes());
    }
}

#[test]
fn the_folder_of_unfinished_transfers_does_not_travel() {
    let (from, to) = (folder(), folder());
    let tree = from.path().join("tree");
    fs::create_dir_all(tree.join(".Tailcut")).expect("folders");
    fs::write(tree.join(".Tailcut/a"), "x").expect("a file");
    fs::write(tree.join("b"), "x").expect("a file");
    all(&mut source(&tree), &mut sink(to.path())).expect("moved");
    assert_eq!(names(&to.path().join("tree")), ["b"]);
    FileSource::open(&tree.join(".Tailcut"), &ScanOptions::default(), &mut |_| ())
        .expect_err("it is reserved");
}

#[test]
fn what_took_the_name_meanwhile_is_not_overwritten() {
    let (from, to) = (folder(), folder());
    let file = from.path().join("file");
    fs::write(&file, "new").expect("a file");
    let (mut source, mut sink) = (source(&file), sink(to.path()));
    let (_, root) = some(&mut source, &mut sink, 9).expect("moved");
    fs::write(to.path().join("file"), "other").expect("a file");
    let error = sink
        .finish(&root.expect("a root"))
        .expect_err("it is there");
    assert!(matches!(error, Error::Exists(_)), "{error}");
    assert_eq!(fs::read(to.path().join("file")).expect("a file"), b"other");
}

#[test]
fn a_slab_whose_hash_does_not_agree_is_fetched_again() {
    let (from, to) = (folder(), folder());
    let file = from.path().join("file");
    fs::write(&file, bytes(2 * SLAB, 1)).expect("a file");
    let (mut source, mut sink) = (source(&file), sink(to.path()));
    let pool = Pool::new(1);
    let mut spoiled = [true; 3];
    loop {
        let slab = match sink.next().expect("next") {
            Next::Fetch(slab) => slab,
            Next::End => break,
            other => panic!("{other:?}"),
        };
        let mut buffer = pool.take();
        let label = source.read(slab, &mut buffer).expect("a slab");
        let spoil = std::mem::take(&mut spoiled[slab as usize]);
        if spoil {
            buffer[9] ^= 1;
        }
        let delivered = sink.deliver(label, buffer).expect("delivered");
        assert_eq!(delivered == Delivered::Mismatch, spoil);
    }
    sink.finish(&source.root().expect("a root")).expect("done");
    let copy = fs::read(to.path().join("file")).expect("a file");
    assert!(copy == bytes(2 * SLAB, 1));
}

#[test]
fn a_wrong_root_is_an_error_and_the_next_transfer_trusts_nothing() {
    let (from, to) = (folder(), folder());
    let file = from.path().join("file");
    fs::write(&file, bytes(2 * SLAB, 1)).expect("a file");
    let (mut source, mut one) = (source(&file), sink(to.path()));
    some(&mut source, &mut one, 9).expect("moved");
    let error = one.finish(&Hash::of(b"other")).expect_err("another root");
    assert_eq!(error.failure(), Failure::Mismatch);
    assert!(!to.path().join("file").exists());
    drop(one);
    let moved = all(&mut source, &mut sink(to.path())).expect("moved");
    assert_eq!((moved.kept, moved.fetched), (0, 3));
}

#[test]
fn too_many_bytes_are_refused_before_they_come() {
    let (from, to) = (folder(), folder());
    let file = from.path().join("file");
    fs::write(&file, bytes(SLAB, 1)).expect("a file");
    let options = SinkOptions {
        max_size: SLAB as u64,
        ..SinkOptions::default()
    };
    let mut sink = FileSink::new(to.path(), options).expect("a sink");
    let error = all(&mut source(&file), &mut sink).expect_err("too large");
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert_eq!(names(to.path()), Vec::<String>::new());
}

#[test]
fn names_at_the_limit_have_parts_too() {
    let (from, to) = (folder(), folder());
    for length in [238, 239, 240, 241, 255] {
        let name = "n".repeat(length);
        fs::write(from.path().join(&name), "x").expect("a file");
        all(&mut source(&from.path().join(&name)), &mut sink(to.path())).expect("moved");
        assert!(to.path().join(&name).is_file());
    }
}

#[test]
fn a_name_may_be_given_here() {
    let (from, to) = (folder(), folder());
    fs::create_dir(from.path().join("tree")).expect("a folder");
    let options = SinkOptions {
        name: Some(b"other".to_vec()),
        ..SinkOptions::default()
    };
    let mut sink = FileSink::new(to.path(), options).expect("a sink");
    all(&mut source(&from.path().join("tree")), &mut sink).expect("moved");
    assert_eq!(names(to.path()), ["other"]);
}
