//! Tests of trees: directories with all their entries.

use super::common::{SLAB, all, bytes, folder, look, small_slabs, source};
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};
use tailcut_cast::files::{
    Exclude, FileSink, FileSource, Keep, Next, Pool, ScanOptions, Sink, SinkOptions, Source,
};

/// Creates a tree with all kinds of entries.
fn plant(root: &Path) {
    fs::create_dir_all(root.join("a/deep/er/path")).expect("folders");
    fs::create_dir(root.join("empty")).expect("a folder");
    fs::write(root.join("a/nothing"), "").expect("a file");
    fs::write(root.join("a/large"), bytes(3 * SLAB + 77, 1)).expect("a file");
    fs::write(root.join("a/deep/small"), "small").expect("a file");
    fs::write(root.join("zz-last"), bytes(SLAB, 2)).expect("a file");
    for name in [
        b"\xff\xfe".as_slice(),
        b"new\nline",
        b" ",
        b"-rf",
        "é".as_bytes(),
    ] {
        fs::write(root.join(OsStr::from_bytes(name)), name).expect("a file");
    }
    symlink("../nowhere/at all", root.join("a/dangling")).expect("a link");
    symlink("/etc/passwd", root.join("absolute")).expect("a link");
    symlink("a", root.join("to-folder")).expect("a link");
    fs::hard_link(root.join("a/large"), root.join("a/deep/er/again")).expect("a link");
    fs::hard_link(root.join("a/large"), root.join("again")).expect("a link");
    fs::set_permissions(root.join("a/nothing"), Permissions::from_mode(0o600)).expect("a mode");
    fs::set_permissions(root.join("zz-last"), Permissions::from_mode(0o444)).expect("a mode");
    for (path, nanos) in [
        ("a/large", 123_456_789),
        ("a/nothing", 1),
        ("empty", 999_999_999),
        ("a", 7),
    ] {
        let file = File::open(root.join(path)).expect("a file");
        let time = UNIX_EPOCH + Duration::new(1_000_000_000, nanos);
        file.set_modified(time).expect("a time");
    }
    fs::set_permissions(root.join("a/deep"), Permissions::from_mode(0o555)).expect("a mode");
}

#[test]
fn a_tree_arrives_with_names_modes_times_and_links() {
    let (from, to) = (folder(), folder());
    let root = from.path().join("tree");
    plant(&root);
    all(&mut source(&root), &mut super::common::sink(to.path())).expect("moved");
    assert_eq!(look(&root), look(&to.path().join("tree")));
    assert_eq!(super::common::names(to.path()), ["tree"]);
}

#[test]
fn slabs_may_come_in_any_order() {
    let (from, to) = (folder(), folder());
    let root = from.path().join("tree");
    plant(&root);
    let (mut source, mut sink) = (source(&root), super::common::sink(to.path()));
    let pool = Pool::new(8);
    let mut first = true;
    loop {
        let mut slabs = Vec::new();
        while let Next::Fetch(slab) = sink.next().expect("next") {
            slabs.push(slab);
        }
        if slabs.is_empty() {
            break;
        }
        assert!(!first || slabs == [0], "the manifest comes first");
        first = false;
        // The slabs arrive in reverse order, and each slab arrives twice.
        slabs.reverse();
        for slab in slabs.iter().chain(&slabs) {
            let mut buffer = pool.take();
            let label = source.read(*slab, &mut buffer).expect("a slab");
            sink.deliver(label, buffer).expect("delivered");
        }
    }
    sink.finish(&source.root().expect("a root")).expect("done");
    assert_eq!(look(&root), look(&to.path().join("tree")));
}

#[test]
fn small_files_fill_slabs() {
    let (from, to) = (folder(), folder());
    let root = from.path().join("tree");
    for name in 0..2_000 {
        let folder = root.join(format!("{}", name % 7));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(format!("{name}")), bytes(1_500, name)).expect("a file");
    }
    let moved = all(&mut source(&root), &mut super::common::sink(to.path())).expect("moved");
    // The manifest is one slab, and the contents of 3 MB are three slabs.
    assert_eq!(moved.fetched, 1 + 3);
    assert_eq!(look(&root), look(&to.path().join("tree")));
}

#[test]
fn a_tree_has_one_root_whoever_walks_it_and_another_once_a_name_differs() {
    let (from, to) = (folder(), folder());
    let root = from.path().join("tree");
    plant(&root);
    all(&mut source(&root), &mut super::common::sink(to.path())).expect("moved");
    let one = source(&root).root().expect("a root");
    assert_eq!(source(&to.path().join("tree")).root().expect("a root"), one);
    fs::rename(root.join("-rf"), root.join("-rg")).expect("renamed");
    assert_ne!(source(&root).root().expect("a root"), one);
}

#[test]
fn what_is_excluded_does_not_arrive_nor_what_is_in_it() {
    let (from, to) = (folder(), folder());
    let root = from.path().join("tree");
    plant(&root);
    let options = ScanOptions {
        exclude: Exclude::new(["/a/deep", "*-last", "again"]).expect("patterns"),
        ..small_slabs()
    };
    let mut source = FileSource::open(&root, &options, &mut |_| ()).expect("a source");
    all(&mut source, &mut super::common::sink(to.path())).expect("moved");
    let mut expected = look(&root);
    for gone in ["a/deep", "a/deep/small", "a/deep/er", "a/deep/er/path"] {
        expected.remove(gone.as_bytes()).expect("it was there");
    }
    for gone in ["a/deep/er/again", "again", "zz-last"] {
        expected.remove(gone.as_bytes()).expect("it was there");
    }
    // `a/large` has two more names, which are excluded. So only the paths are compared.
    let found = look(&to.path().join("tree"));
    let keys =
        |seen: &std::collections::BTreeMap<Vec<u8>, _>| seen.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&found), keys(&expected));
}

#[test]
fn what_is_no_file_is_skipped_with_a_word() {
    let (from, to) = (folder(), folder());
    let root = from.path().join("tree");
    fs::create_dir(&root).expect("a folder");
    fs::write(root.join("file"), "x").expect("a file");
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).expect("a socket");
    let mut words = Vec::new();
    let mut note = |note: tailcut_cast::files::Note| words.push((note.path, note.why));
    let mut source = FileSource::open(&root, &small_slabs(), &mut note).expect("a source");
    all(&mut source, &mut super::common::sink(to.path())).expect("moved");
    let why = "skipped: neither a file, a directory nor a symbolic link";
    assert_eq!(words, [(root.join("socket"), why)]);
    assert_eq!(super::common::names(&to.path().join("tree")), ["file"]);
}

/// Creates directories with long names in each other, until the path is longer than a transfer allows.
fn too_deep(root: &Path) {
    let name = "d".repeat(250);
    let mut directory = fs::File::open(root).expect("a folder");
    for _ in 0..16 {
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkdirat(&directory, &name, mode).expect("a folder");
        let flags = rustix::fs::OFlags::DIRECTORY;
        let next = rustix::fs::openat(&directory, &name, flags, rustix::fs::Mode::empty());
        directory = next.expect("a folder").into();
    }
}

#[test]
fn entries_that_cannot_travel_are_counted_and_named_and_the_others_arrive() {
    let (from, to) = (folder(), folder());
    let root = from.path().join("tree");
    fs::create_dir_all(root.join("closed")).expect("folders");
    for name in ["file", "secret", "closed/inside"] {
        fs::write(root.join(name), "x").expect("a file");
    }
    too_deep(&root);
    for name in ["secret", "closed"] {
        fs::set_permissions(root.join(name), Permissions::from_mode(0o000)).expect("a mode");
    }
    let mut words = Vec::new();
    let mut note = |note: tailcut_cast::files::Note| words.push((note.path, note.why));
    let mut source = FileSource::open(&root, &small_slabs(), &mut note).expect("a source");
    all(&mut source, &mut super::common::sink(to.path())).expect("moved");
    let copy = super::common::names(&to.path().join("tree"));
    fs::set_permissions(root.join("closed"), Permissions::from_mode(0o700)).expect("a mode");
    assert!(copy.contains(&"file".to_owned()), "{copy:?}");
    let long = words
        .iter()
        .filter(|(_, why)| *why == "skipped: its path is too long");
    assert_eq!(long.count(), 1);
    // The superuser may read all files.
    let closed = match rustix::process::geteuid().is_root() {
        true => vec![],
        false => vec![root.join("closed"), root.join("secret")],
    };
    let found: Vec<_> = words
        .iter()
        .filter(|(_, why)| *why == "skipped: this user may not read it")
        .map(|(path, _)| path.clone())
        .collect();
    assert_eq!(found, closed);
    assert_eq!(source.missing(), 1 + closed.len() as u64);
}

#[test]
fn owners_and_attributes_travel_if_both_sides_say_so() {
    let (from, to, other) = (folder(), folder(), folder());
    let file = from.path().join("file");
    fs::write(&file, "x").expect("a file");
    let set = rustix::fs::setxattr(
        &file,
        "user.tailcut",
        b"value",
        rustix::fs::XattrFlags::empty(),
    );
    if set.is_err() {
        eprintln!("this file system has no attributes");
        return;
    }
    fs::set_permissions(&file, Permissions::from_mode(0o4755)).expect("a mode");
    let options = ScanOptions {
        owners: true,
        xattrs: true,
        ..small_slabs()
    };
    let both = SinkOptions {
        keep: Keep {
            owners: true,
            xattrs: true,
        },
        ..SinkOptions::default()
    };
    for (folder, options_there, expected) in [
        (&to, both, Some(b"value".as_slice())),
        (&other, SinkOptions::default(), None),
    ] {
        let mut source = FileSource::open(&file, &options, &mut |_| ()).expect("a source");
        let mut sink = FileSink::new(folder.path(), options_there).expect("a sink");
        all(&mut source, &mut sink).expect("moved");
        let copy = folder.path().join("file");
        let mut value = [0; 10];
        let found = rustix::fs::getxattr(&copy, "user.tailcut", &mut value[..]);
        assert_eq!(found.ok().map(|length| &value[..length]), expected);
        let mode = fs::metadata(&copy).expect("a file").permissions().mode() & 0o7777;
        // The setuid bit is set only if the owner is set too.
        assert_eq!(mode, if expected.is_some() { 0o4755 } else { 0o755 });
    }
}
