//! Tests with malicious senders, and with destinations that contain a symbolic link of another user.

use super::{Listening, recv};
use crate::test_dir::TestDir;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use tailcut_cast::driver::{Endpoint, Options};
use tailcut_cast::files::manifest::Header;
use tailcut_cast::files::{Error, FileSource, Hash, Label, ScanOptions, SlabHashes, Source, hash};
use tailcut_cast::transfer::{SendOptions, send};

/// Directory tree. One name in its manifest differs from the name of the file on the disk.
struct Altered {
    tree: FileSource,
    name: &'static [u8],
    other: &'static [u8],
}

impl Source for Altered {
    fn header(&self) -> &Header {
        self.tree.header()
    }

    fn total(&self) -> Option<u64> {
        self.tree.total()
    }

    fn read(&mut self, slab: u32, buffer: &mut Vec<u8>) -> Result<Label, Error> {
        let mut label = self.tree.read(slab, buffer)?;
        if slab == 0 {
            let mut windows = buffer.windows(self.name.len());
            let at = windows
                .position(|window| window == self.name)
                .expect("the name");
            buffer[at..at + self.name.len()].copy_from_slice(self.other);
            let mut header = Header::decode(buffer).expect("a header");
            header.hash = Hash::of(&buffer[Header::LENGTH..]);
            buffer[..Header::LENGTH].copy_from_slice(&header.encode());
            label.hash = hash::slab(0, buffer).part;
        }
        Ok(label)
    }

    fn hash_ahead(&mut self, buffer: &mut Vec<u8>) -> Result<bool, Error> {
        self.tree.hash_ahead(buffer)
    }

    fn root(&mut self) -> Result<Hash, Error> {
        self.tree.root()
    }

    fn slab_hashes(&mut self) -> Result<SlabHashes, Error> {
        self.tree.slab_hashes()
    }
}

/// Returns all paths below a directory.
fn paths(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        found.push(path.display().to_string());
        if path.is_dir() && !path.is_symlink() {
            found.extend(paths(&path));
        }
    }
    found
}

#[test]
fn a_manifest_that_leads_outside_is_refused_and_writes_nothing() {
    static GOES_ON: AtomicBool = AtomicBool::new(false);
    let test_dir = TestDir::new();
    fs::create_dir_all(test_dir.path().join("tree/qq")).expect("a directory");
    test_dir.file("tree/qq/file", "harm");
    test_dir.file("tree/qzq", "harm");
    fs::create_dir(test_dir.path().join("in")).expect("a directory");
    let cases: [(&[u8], &[u8]); 3] = [(b"qq", b".."), (b"qzq", b"a/b"), (b"qzq", b"a\0b")];
    for (name, other) in cases {
        let receiver = Listening::start(&test_dir, &recv(&["in", "--once"]));
        let before = paths(test_dir.path());
        let options = ScanOptions::default();
        let tree = test_dir.path().join("tree");
        let tree = FileSource::open(&tree, &options, &mut |_| ()).expect("a tree");
        let local = "127.0.0.1:0".parse().expect("an address");
        let endpoint = Endpoint::bind(local, &Options::default()).expect("a port");
        let to = [receiver.host.parse().expect("an address")];
        let source = Box::new(Altered { tree, name, other });
        let options = SendOptions::default();
        let summary = send(&endpoint, source, &to, options, &GOES_ON, &mut |_| ());
        let summary = summary.expect("it was said");
        let refused = summary.receivers[0].1.as_ref().expect_err("refused");
        assert_eq!(refused.exit_code(), 4, "{refused}");
        let received = receiver.end();
        assert_eq!(received.code, Some(4), "{}", received.stderr);
        let more: Vec<String> = paths(test_dir.path())
            .into_iter()
            .filter(|path| !before.contains(path))
            .collect();
        assert!(
            more.iter().all(|path| path.contains("/in/.tailcut")),
            "{more:?}"
        );
    }
}

#[test]
fn a_symbolic_link_at_the_destination_is_not_followed() {
    let test_dir = TestDir::new();
    for directory in ["tree", "in", "outside"] {
        fs::create_dir(test_dir.path().join(directory)).expect("a directory");
    }
    test_dir.file("tree/file", "contents");
    // The tree also contains a link that leads outside of the tree. It must arrive as a link.
    std::os::unix::fs::symlink("../../outside", test_dir.path().join("tree/link")).expect("a link");
    for (link, code) in [("in/tree", 4), ("in/.tailcut", 4)] {
        let path = test_dir.path().join(link);
        std::os::unix::fs::symlink("../outside", &path).expect("a link");
        let receiver = Listening::start(&test_dir, &recv(&["in", "--once"]));
        let sent = test_dir.run(&["cast", "send", "tree", &receiver.host]);
        assert_eq!(sent.code, Some(code), "{link}: {}", sent.stderr);
        receiver.end();
        assert!(paths(&test_dir.path().join("outside")).is_empty(), "{link}");
        fs::remove_file(&path).expect("removed");
    }
    let receiver = Listening::start(&test_dir, &recv(&["in", "--once"]));
    let sent = test_dir.run(&["cast", "send", "tree", &receiver.host]);
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    receiver.end();
    let link = fs::read_link(test_dir.path().join("in/tree/link")).expect("a link");
    assert_eq!(link, Path::new("../../outside"));
    assert!(paths(&test_dir.path().join("outside")).is_empty());
}
