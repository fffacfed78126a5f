//! Test vectors: the expected bytes of manifests in hexadecimal.

use std::fs;
use std::path::{Path, PathBuf};
use tailcut_cast::files::manifest::{
    Content, Entry, Header, Metadata, Owner, Reader, What, Writer, Xattrs,
};

fn manifest(content: Content, owners: bool, xattrs: bool, entries: &[Entry<'_>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), content, 24, owners, xattrs);
    for entry in entries {
        writer.add(entry).expect("added");
    }
    let (header, pages) = writer.finish().expect("written");
    [header.encode().to_vec(), pages].concat()
}

fn entry<'a>(level: u16, name: &'a [u8], what: What<'a>) -> Entry<'a> {
    Entry { level, name, what }
}

/// Returns the names of the test vectors and the manifests.
fn manifests() -> Vec<(&'static str, Vec<u8>)> {
    let mut attributes = Vec::new();
    Xattrs::push(&mut attributes, b"user.a", b"");
    Xattrs::push(&mut attributes, b"user.origin", b"lab");
    let metadata = Metadata {
        mode: 0o644,
        seconds: 1_700_000_000,
        nanos: 123_456_789,
        ..Metadata::default()
    };
    let owned = Metadata {
        mode: 0o4755,
        seconds: -1,
        owner: Some(Owner {
            user: 1000,
            group: 65_534,
        }),
        ..metadata
    };
    let with_attributes = Metadata {
        xattrs: Xattrs::parse(&attributes).expect("attributes"),
        ..owned
    };
    let link = Metadata { mode: 0, ..owned };
    let file = |metadata, size| What::File { metadata, size };
    let target = b"../a";
    let tree = [
        entry(0, b"tree", What::Directory(owned)),
        entry(1, b"a", file(with_attributes, 5)),
        entry(1, b"b\xff", What::Directory(owned)),
        entry(
            2,
            b"link",
            What::Symlink {
                metadata: link,
                target,
            },
        ),
        entry(2, b"same", What::HardLink { of: 1 }),
        entry(1, b"c", file(owned, 0)),
    ];
    let name = b"weights.bin";
    vec![
        (
            "file",
            manifest(
                Content::File,
                false,
                false,
                &[entry(0, name, file(metadata, 1 << 32))],
            ),
        ),
        (
            "stream",
            manifest(
                Content::Stream,
                false,
                false,
                &[entry(0, b"stream", file(metadata, 0))],
            ),
        ),
        ("tree", manifest(Content::Tree, true, true, &tree)),
    ]
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/manifest.txt")
}

#[test]
fn manifests_have_these_bytes() {
    let mut text = String::from(
        "# Manifests: one a line, its name and its bytes in hex. docs/wire/manifest.md has the layout.\n",
    );
    for (name, bytes) in manifests() {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        text += &format!("{name}: {hex}\n");
    }
    if std::env::var_os("TAILCUT_WRITE_VECTORS").is_some() {
        fs::write(path(), &text).expect("written");
    }
    assert_eq!(fs::read_to_string(path()).expect("vectors"), text);
}

#[test]
fn no_byte_of_a_manifest_can_be_missing_and_none_too_many() {
    for (name, bytes) in manifests() {
        let header = Header::decode(&bytes).expect("a header");
        for cut in 0..Header::LENGTH {
            Header::decode(&bytes[..cut]).expect_err("a part of a header");
        }
        let pages = &bytes[Header::LENGTH..];
        let mut longer = pages.to_vec();
        longer.push(0);
        let shorter = (0..pages.len()).map(|cut| pages[..cut].to_vec());
        for wrong in shorter.chain([longer]) {
            let read = Reader::new(header).page(&wrong, |_, _, _| ());
            read.expect_err(name);
        }
    }
}
