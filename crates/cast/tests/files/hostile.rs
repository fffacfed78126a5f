//! Tests of malicious manifests.

use super::common::{folder, names, sink, state};
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use tailcut_cast::files::hash::{self, tree_root};
use tailcut_cast::files::manifest::{
    Content, Entry, Header, Metadata, Reader, What, Writer, Xattrs,
};
use tailcut_cast::files::{Error, Failure, FileSink, Hash, Label, Pool, Sink};

fn directory(level: u16, name: &[u8]) -> Entry<'_> {
    let metadata = Metadata {
        mode: 0o755,
        ..Metadata::default()
    };
    let what = What::Directory(metadata);
    Entry { level, name, what }
}

fn file(level: u16, name: &[u8], size: u64) -> Entry<'_> {
    let metadata = Metadata {
        mode: 0o644,
        ..Metadata::default()
    };
    let what = What::File { metadata, size };
    Entry { level, name, what }
}

fn symlink_to<'a>(level: u16, name: &'a [u8], target: &'a [u8]) -> Entry<'a> {
    let metadata = Metadata::default();
    let what = What::Symlink { metadata, target };
    Entry { level, name, what }
}

fn link(level: u16, name: &[u8], of: u64) -> Entry<'_> {
    let what = What::HardLink { of };
    Entry { level, name, what }
}

/// Encodes entries as a manifest. The entries are not checked.
fn raw(entries: &[Entry<'_>]) -> Vec<u8> {
    // `Writer` would refuse entries in a wrong order.
    let mut page = vec![0; 24];
    let mut data = 0;
    for entry in entries {
        let size = entry.size();
        let mut level = entry.level.to_be_bytes().to_vec();
        let mut kind = vec![match entry.what {
            What::Directory(_) => 1,
            What::File { .. } => 2,
            What::Symlink { .. } => 3,
            What::HardLink { .. } => 4,
        }];
        page.append(&mut kind);
        page.push(0);
        page.append(&mut level);
        page.push(entry.name.len() as u8);
        page.extend(entry.name);
        if let Some(metadata) = entry.metadata() {
            page.extend(metadata.mode.to_be_bytes());
            page.extend(metadata.seconds.to_be_bytes());
            page.extend(metadata.nanos.to_be_bytes());
        }
        match entry.what {
            What::Directory(_) => {}
            What::File { size, .. } => page.extend(size.to_be_bytes()),
            What::Symlink { target, .. } => {
                page.extend((target.len() as u16).to_be_bytes());
                page.extend(target);
            }
            What::HardLink { of } => page.extend(of.to_be_bytes()),
        }
        data += size;
    }
    let used = page.len() as u32;
    page[..4].copy_from_slice(&used.to_be_bytes());
    page[4..6].copy_from_slice(&(entries.len() as u16).to_be_bytes());
    let header = Header {
        content: Content::Tree,
        slab_log2: 20,
        owners: false,
        xattrs: false,
        length: (Header::LENGTH + page.len()) as u64,
        entries: entries.len() as u64,
        data: Some(data),
        hash: Hash::of(&page),
    };
    [header.encode().to_vec(), page].concat()
}

fn offer(sink: &mut FileSink, slab: u32, bytes: &[u8]) -> Result<(), Error> {
    sink.next()?;
    let mut buffer = Pool::new(1).take();
    buffer.extend(bytes);
    let label = Label {
        slab,
        length: bytes.len() as u32,
        last: false,
        hash: hash::slab(0, bytes).part,
    };
    sink.deliver(label, buffer).map(drop)
}

/// Receives a tree with these entries. All bytes of the contents are `x`.
fn receive(to: &Path, entries: &[Entry<'_>]) -> Result<(), Error> {
    let mut sink = sink(to);
    let manifest = raw(entries);
    offer(&mut sink, 0, &manifest)?;
    let size: u64 = entries.iter().map(Entry::size).sum();
    let contents = vec![b'x'; size as usize];
    if size > 0 {
        offer(&mut sink, 1, &contents)?;
    }
    let header = Header::decode(&manifest)?;
    sink.finish(&tree_root(&header.hash, &Hash::of(&contents)))
}

#[test]
fn what_the_other_tests_write_by_hand_is_what_the_writer_writes() {
    let entries = [
        directory(0, b"tree"),
        file(1, b"a", 1),
        directory(1, b"b"),
        symlink_to(2, b"c", b"../a"),
        link(1, b"d", 1),
    ];
    let mut writer = Writer::new(Vec::new(), Content::Tree, 20, false, false);
    for entry in &entries {
        writer.add(entry).expect("added");
    }
    let (header, pages) = writer.finish().expect("written");
    assert_eq!([header.encode().to_vec(), pages].concat(), raw(&entries));
    let to = folder();
    receive(to.path(), &entries).expect("received");
    assert_eq!(names(&to.path().join("tree")), ["a", "b", "d"]);
}

#[test]
fn nothing_leaves_the_directory() {
    let tree = || directory(0, b"tree");
    let cases: Vec<(&str, Vec<Entry<'_>>)> = vec![
        ("the name `..`", vec![tree(), file(1, b"..", 1)]),
        ("the name `..`", vec![directory(0, b".."), file(1, b"a", 1)]),
        ("the name `.`", vec![tree(), directory(1, b".")]),
        ("byte 0x2f", vec![tree(), file(1, b"a/b", 1)]),
        ("byte 0x2f", vec![directory(0, b"/etc"), file(1, b"a", 1)]),
        ("byte 0x00", vec![tree(), file(1, b"a\0", 1)]),
        ("a name of 0 bytes", vec![tree(), file(1, b"", 1)]),
        // The path of the file contains a link that leads out of the tree.
        (
            "2 directories above it; allowed: at most 1",
            vec![tree(), symlink_to(1, b"out", b"/tmp"), file(2, b"a", 1)],
        ),
        (
            "2 directories above it",
            vec![tree(), file(1, b"a", 1), file(2, b"b", 1)],
        ),
        ("a second root", vec![tree(), directory(0, b"up")]),
        ("1 directories above it", vec![directory(1, b"tree")]),
        // One name occurs twice, for a link and for a file. The file must not be written through the link.
        (
            "each name once, in the order of their bytes",
            vec![
                tree(),
                symlink_to(1, b"a", b"/etc"),
                directory(1, b"a"),
                file(2, b"b", 1),
            ],
        ),
        (
            "each name once",
            vec![tree(), file(1, b"b", 1), file(1, b"a", 1)],
        ),
        ("not before it", vec![tree(), link(1, b"a", 1)]),
        ("not before it", vec![tree(), link(1, b"a", 9)]),
        (
            "another name of entry 0, which is no file",
            vec![tree(), link(1, b"a", 0)],
        ),
        (
            "another name of entry 1, which is no file",
            vec![
                tree(),
                symlink_to(1, b"a", b"/etc/passwd"),
                link(1, b"b", 1),
            ],
        ),
        ("it cannot be the root", vec![file(0, b"a", 1)]),
        (
            "a target of 0 bytes",
            vec![tree(), symlink_to(1, b"a", b"")],
        ),
    ];
    for (why, entries) in cases {
        let to = folder();
        let inside = to.path().join("in");
        fs::create_dir(&inside).expect("a folder");
        let error = receive(&inside, &entries).expect_err(why);
        let shown = error.to_string();
        assert!(shown.contains(why), "{shown}, where `{why}` was expected");
        assert_eq!(error.failure(), Failure::Refused, "{shown}");
        assert_eq!(names(to.path()), ["in"], "{why}");
        assert_eq!(names(&inside), Vec::<String>::new(), "{why}");
    }
}

#[test]
fn a_link_that_somebody_puts_into_the_part_is_not_followed() {
    let to = folder();
    let (inside, outside) = (to.path().join("in"), to.path().join("out"));
    fs::create_dir_all(&inside).expect("a folder");
    fs::create_dir(&outside).expect("a folder");
    let entries = [directory(0, b"tree"), directory(1, b"a"), file(2, b"b", 3)];
    let mut sink = sink(&inside);
    offer(&mut sink, 0, &raw(&entries)).expect("a manifest");
    symlink(&outside, state(&inside, "data").join("a")).expect("a link");
    offer(&mut sink, 1, b"xxx").expect_err("a link is in the way");
    assert_eq!(names(&outside), Vec::<String>::new());
}

#[test]
fn counts_that_cannot_be_are_refused_before_any_memory_is_taken() {
    let good = raw(&[directory(0, b"tree"), file(1, b"a", 1)]);
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = good.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        let to = folder();
        let error = receive_bytes(to.path(), &changed).expect_err("a wrong count");
        assert_eq!(names(to.path()).len(), 0, "{error}");
        error.to_string()
    };
    let max = u64::MAX.to_be_bytes();
    for (at, bytes, why) in [
        (0, b"tcmg".as_slice(), "no manifest"),
        (4, &[2], "version 2; allowed: 1"),
        (5, &[3], "content 3"),
        (6, &[40], "slabs of 2^40 bytes"),
        (7, &[4], "flags 0x04"),
        (8, &max, "a manifest of 18446744073709551615 bytes"),
        (8, &(1u64 << 34).to_be_bytes(), "where the manifest has"),
        (16, &max, "18446744073709551615 entries"),
        (16, &[0; 8], "0 entries"),
        (24, &max, "contents of unknown length"),
        (
            24,
            &(u64::MAX - 1).to_be_bytes(),
            "slabs; allowed: 16777216",
        ),
    ] {
        let shown = with(at, bytes);
        assert!(shown.contains(why), "{shown}, where `{why}` was expected");
    }
}

/// Receives a manifest that consists of arbitrary bytes.
fn receive_bytes(to: &Path, manifest: &[u8]) -> Result<(), Error> {
    offer(&mut sink(to), 0, manifest)
}

#[test]
fn a_manifest_whose_hash_does_not_agree_is_refused() {
    let mut bytes = raw(&[directory(0, b"tree"), file(1, b"a", 1)]);
    bytes[40] ^= 1;
    let to = folder();
    let error = receive_bytes(to.path(), &bytes).expect_err("another hash");
    assert!(
        error.to_string().contains("its hash does not agree"),
        "{error}"
    );
    assert_eq!(names(to.path()), Vec::<String>::new());
}

/// Generates random trees. Each entry consists of the number of levels to go up, a kind, and a size.
fn trees() -> impl Strategy<Value = Vec<(u8, u8, u16)>> {
    prop::collection::vec((0u8..5, 0u8..4, any::<u16>()), 0..3_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(tree in trees()) {
        let mut xattrs = Vec::new();
        Xattrs::push(&mut xattrs, b"user.a", b"1");
        let xattrs = Xattrs::parse(&xattrs).expect("attributes");
        let mut writer = Writer::new(Vec::new(), Content::Tree, 20, false, true);
        writer.add(&directory(0, b"tree")).expect("a root");
        let mut expected = vec![(0, 0, b"tree".to_vec(), 0)];
        let (mut open, mut data) = (1u16, 0);
        for (number, &(up, kind, size)) in tree.iter().enumerate() {
            let level = open.saturating_sub(up.into()).max(1);
            let name = format!("{number:06}");
            let name = name.as_bytes();
            let mut entry = match kind {
                0 => directory(level, name),
                1 => symlink_to(level, name, b"some/where"),
                2 => link(level, name, 0),
                _ => file(level, name, size.into()),
            };
            if let What::File { metadata, .. } = &mut entry.what {
                metadata.xattrs = xattrs;
            }
            writer.add(&entry).expect("added");
            expected.push((number as u64 + 1, data, name.to_vec(), entry.size()));
            data += entry.size();
            open = level + u16::from(kind == 0);
        }
        let (header, pages) = writer.finish().expect("written");
        prop_assert_eq!(Header::decode(&header.encode()), Ok(header));
        let mut reader = Reader::new(header);
        let mut found = Vec::new();
        for page in 0..header.pages() {
            let (begins, length) = header.page(page).expect("a page");
            let begins = begins as usize - Header::LENGTH;
            let read = reader.page(&pages[begins..begins + length], |number, data, entry| {
                found.push((number, data, entry.name.to_vec(), entry.size()));
            });
            prop_assert_eq!(read, Ok(()));
        }
        prop_assert_eq!(reader.finish(), Ok(()));
        prop_assert_eq!(found, expected);
    }
}
