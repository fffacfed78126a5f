//! Tests of sources whose files change during the transfer.

use super::common::{SLAB, bytes, folder, source};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tailcut_cast::files::{Error, Failure, FileSource, Hash, ScanOptions, Source};

#[test]
fn the_root_of_a_file_is_what_b3sum_prints() {
    let folder = folder();
    let file = folder.path().join("file");
    for length in [0, 1, 1024, SLAB, SLAB + 1, 3 * SLAB, 5 * SLAB + 3] {
        let contents = bytes(length, 3);
        fs::write(&file, &contents).expect("a file");
        let root = source(&file).root().expect("a root");
        assert_eq!(root, Hash::of(&contents), "{length} bytes");
    }
}

/// Creates a tree with the files `a` and `b`. Reads the first slab of `b`, changes `b`, and then reads the other slabs.
fn changed(change: impl FnOnce(&Path)) -> Result<Hash, Error> {
    let folder = folder();
    let root = folder.path().join("tree");
    fs::create_dir(&root).expect("a folder");
    fs::write(root.join("a"), bytes(SLAB, 1)).expect("a file");
    fs::write(root.join("b"), bytes(2 * SLAB, 2)).expect("a file");
    let mut source = source(&root);
    let mut buffer = Vec::new();
    source.read(1, &mut buffer).expect("a slab");
    source.read(2, &mut buffer).expect("a slab");
    change(&root.join("b"));
    source.root()
}

#[test]
fn a_file_that_changes_while_it_is_sent_is_named() {
    changed(|_| ()).expect("no change");
    type Change = fn(&Path);
    let changes: [(&str, Change); 6] = [
        ("1 bytes, and had 2097152 before", |path| {
            fs::write(path, "x").expect("written");
        }),
        ("its time of modification", |path| {
            let file = fs::File::open(path).expect("a file");
            let later = SystemTime::now() + Duration::from_secs(5);
            file.set_modified(later).expect("a time");
        }),
        ("another file is in its place", |path| {
            let time = fs::metadata(path).and_then(|stat| stat.modified());
            let other = path.with_file_name("c");
            fs::write(&other, bytes(2 * SLAB, 2)).expect("written");
            let file = fs::File::open(&other).expect("a file");
            file.set_modified(time.expect("a time")).expect("a time");
            fs::rename(&other, path).expect("renamed");
        }),
        ("it is gone", |path| fs::remove_file(path).expect("removed")),
        ("and had 2097152 before", |path| {
            fs::remove_file(path).expect("removed");
            symlink("/etc/passwd", path).expect("a link");
        }),
        ("and had 2097152 before", |path| {
            fs::remove_file(path).expect("removed");
            fs::create_dir(path).expect("a folder");
        }),
    ];
    for (what, change) in changes {
        let error = changed(change).expect_err("a change");
        assert_eq!(error.failure(), Failure::Mismatch, "{error}");
        let shown = error.to_string();
        let fits = shown.contains("tree/b: changed while it was sent: ") && shown.contains(what);
        assert!(fits, "{shown}, where `{what}` was expected");
    }
}

#[test]
fn a_file_that_became_a_link_before_it_was_read_is_not_followed() {
    let folder = folder();
    let root = folder.path().join("tree");
    fs::create_dir(&root).expect("a folder");
    fs::write(root.join("a"), "harmless").expect("a file");
    fs::write(folder.path().join("secret"), "harmful!").expect("a file");
    let mut source = source(&root);
    fs::remove_file(root.join("a")).expect("removed");
    symlink("../secret", root.join("a")).expect("a link");
    let error = source.read(1, &mut Vec::new()).expect_err("a link");
    assert!(error.to_string().contains("tree/a: changed"), "{error}");
}

#[test]
fn a_link_on_the_command_line_is_followed_and_a_device_refused() {
    let folder = folder();
    fs::write(folder.path().join("real"), "x").expect("a file");
    symlink("real", folder.path().join("link")).expect("a link");
    let root = source(&folder.path().join("link")).root();
    assert_eq!(root.expect("a root"), Hash::of(b"x"));
    let open = |path: &str| {
        FileSource::open(Path::new(path), &ScanOptions::default(), &mut |_| ())
            .expect_err("no file")
            .to_string()
    };
    assert!(open("/dev/null").starts_with("/dev/null: neither a file nor a directory"));
    assert!(open("/nowhere").starts_with("/nowhere: cannot open"));
}
