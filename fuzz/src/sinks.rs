//! Targets for sinks of `tailcut cast`, which receive slabs from a peer, and for the files of an unfinished transfer.

use crate::choice::Choices;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tailcut_cast::files::hash::{Root, slab};
use tailcut_cast::files::manifest::{self, Content, Metadata, What, Writer};
use tailcut_cast::files::{
    Buffer, Delivered, FileSink, Hash, Label, Next, Pool, Sink, SinkOptions, StreamSink,
};

/// Smallest slab length as a power of two.
const SLAB_LOG2: u8 = 20;
const SLAB: usize = 1 << SLAB_LOG2;
/// Number of slabs of contents in a transfer, at most.
const SLABS: u32 = 4;
/// Number of steps, at most.
const STEPS: usize = 40;

/// Returns the first slab of a transfer: the manifest of one file or stream.
fn manifest(content: Content, size: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), content, SLAB_LOG2, false, false);
    let metadata = Metadata {
        mode: 0o600,
        ..Metadata::default()
    };
    let entry = manifest::Entry {
        level: 0,
        name: b"data",
        what: What::File { metadata, size },
    };
    writer.add(&entry).expect("an entry with a valid name");
    let (header, pages) = writer.finish().expect("a vector takes all");
    [header.encode().as_slice(), &pages].concat()
}

/// Returns the root of contents, as a sender computes it.
fn root(contents: &[u8]) -> Hash {
    let mut root = Root::default();
    for (number, bytes) in contents.chunks(SLAB).enumerate() {
        root.push(&slab((number * SLAB) as u64, bytes));
    }
    root.finish()
}

/// Returns a buffer with these bytes. The pool does not clear buffers that were used before.
fn filled(pool: &Pool, bytes: &[u8]) -> Buffer {
    let mut buffer = pool.take();
    buffer.clear();
    buffer.extend_from_slice(bytes);
    buffer
}

/// Returns one of the lengths at which receivers have limits.
fn length(choices: &mut Choices<'_>) -> usize {
    let short = choices.byte();
    *choices.one_of(&[SLAB, short.into(), 0, 1, SLAB - 1, SLAB + 1])
}

/// Passes slabs of any number, length and content to a sink, in any order. Their hashes are right or wrong.
/// Returns the root that the sender reports at the end.
///
/// # Panics
/// If the sink requests a slab that does not exist, counts the bytes of a slab twice or not at all, or counts more
/// verified bytes than the transfer has.
fn deliver(sink: &mut dyn Sink, choices: &mut Choices<'_>) -> Hash {
    let pool = Pool::new(64);
    // The decisions of the end come first, because the steps use up the input.
    let count = choices.below(SLABS + 2);
    let is_stream = choices.bool();
    let size = (length(choices) + SLAB * choices.below(SLABS) as usize) as u64;
    let content = match is_stream {
        true => Content::Stream,
        false => Content::File,
    };
    let first = manifest(content, if is_stream { 0 } else { size });
    let mut taken: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    let mut verified = 0;
    for step in 0..STEPS {
        if choices.is_empty() {
            break;
        }
        // The first requests and the manifest arrive in every transfer. A fuzzer would need long to find them.
        let kind = if step < 2 {
            5 + step as u32
        } else {
            choices.below(8)
        };
        match kind {
            0..=4 => {
                let number = choices.below(SLABS + 2);
                let bytes = vec![choices.byte(); length(choices)];
                let begins = (u64::from(number.saturating_sub(1))) << SLAB_LOG2;
                // A longer slab has no hash, because it would be a part of two subtrees.
                let hashed = bytes.get(..SLAB).unwrap_or(&bytes);
                let mut hash = slab(begins, hashed).part;
                hash.0[0] ^= u8::from(choices.below(8) == 0);
                let label = Label {
                    slab: number,
                    length: bytes.len() as u32,
                    last: choices.bool(),
                    hash,
                };
                let buffer = filled(&pool, &bytes);
                if let Ok(Delivered::Verified) = sink.deliver(label, buffer)
                    && number > 0
                    && let Entry::Vacant(new) = taken.entry(number - 1)
                {
                    verified += bytes.len() as u64;
                    new.insert(bytes);
                }
            }
            5 | 7 => {
                if let Ok(Next::Fetch(number)) = sink.next() {
                    let slabs = size.div_ceil(SLAB as u64) as u32 + 1;
                    assert!(is_stream || number < slabs, "slab {number} of {slabs}");
                }
            }
            _ => {
                let buffer = filled(&pool, &first);
                let label = Label {
                    slab: 0,
                    length: first.len() as u32,
                    last: false,
                    hash: slab(0, &first).part,
                };
                if let Ok(Delivered::Verified) = sink.deliver(label, buffer) {
                    verified = verified.max(first.len() as u64);
                }
            }
        }
        let amount = sink.amount();
        // A sink keeps all bytes if the file exists already.
        assert!(
            amount.kept > 0 || amount.verified == verified,
            "{amount:?}: {verified}"
        );
        let is_within = amount.total.is_none_or(|total| amount.verified <= total);
        assert!(is_within, "{amount:?}");
    }
    let contents: Vec<u8> = taken
        .range(..count)
        .flat_map(|(_, bytes)| bytes)
        .copied()
        .collect();
    root(&contents)
}

/// Passes slabs to a sink that writes into a directory.
/// The first byte selects whether a file of this name exists already and may be replaced.
///
/// # Panics
/// If the sink confirms a root, and the file has other contents.
/// If a failed transfer leaves a file with the final name.
pub fn cast_sink(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("data");
    let there = (choices.below(4) == 0).then(|| vec![choices.byte(); 100]);
    if let Some(there) = &there {
        fs::write(&path, there).expect("a file");
    }
    let options = SinkOptions {
        overwrite: choices.bool(),
        ..SinkOptions::default()
    };
    let mut sink = FileSink::new(directory.path(), options).expect("a sink");
    let expected = deliver(&mut sink, &mut choices);
    match sink.finish(&expected) {
        Ok(()) => {
            let contents = fs::read(&path).expect("the file of a finished transfer");
            assert_eq!(root(&contents), expected, "{} bytes", contents.len());
        }
        Err(_) => assert_eq!(fs::read(&path).ok(), there),
    }
}

/// Output that several owners can read.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no other thread").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Passes slabs to a sink that writes into a pipe.
///
/// # Panics
/// If the sink confirms a root, and has written other bytes.
/// If it keeps more slabs than it may request at the same time.
pub fn cast_pipe(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let output = Shared::default();
    let ahead = 1 + choices.below(4);
    let mut sink = StreamSink::new(output.clone(), ahead, 1 << 30);
    let expected = deliver(&mut sink, &mut choices);
    let finished = sink.finish(&expected);
    let written = output.0.lock().expect("no other thread");
    if finished.is_ok() {
        assert_eq!(root(&written), expected, "{} bytes", written.len());
    }
}

/// Returns the files of an unfinished transfer: contents, manifest and records. Their names contain a random number.
fn state_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.join(".tailcut"))
        .into_iter()
        .flatten();
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort_by_key(|path| path.extension().map(ToOwned::to_owned));
    files
}

/// Sends a file of several slabs, and returns whether the receiver confirms its root.
/// The receiver stops after `slabs` slabs.
fn transfer(directory: &Path, contents: &[u8], slabs: usize) -> bool {
    let Ok(mut sink) = FileSink::new(directory, SinkOptions::default()) else {
        return false;
    };
    let pool = Pool::new(2);
    let first = manifest(Content::File, contents.len() as u64);
    let mut sent = 0;
    while sent < slabs {
        let number = match sink.next() {
            Ok(Next::Fetch(number)) => number as usize,
            Ok(Next::Kept { .. }) => continue,
            Ok(Next::Wait | Next::End) => break,
            Err(_) => return false,
        };
        let (begins, bytes) = match number.checked_sub(1) {
            None => (0, &first[..]),
            Some(index) => {
                let begins = index * SLAB;
                (begins, &contents[begins..contents.len().min(begins + SLAB)])
            }
        };
        let label = Label {
            slab: number as u32,
            length: bytes.len() as u32,
            last: false,
            hash: slab(begins as u64, bytes).part,
        };
        let buffer = filled(&pool, bytes);
        if sink.deliver(label, buffer).is_err() {
            return false;
        }
        sent += 1;
    }
    sink.finish(&root(contents)).is_ok()
}

/// Receives a part of a file, damages the state files, and receives the file again.
///
/// # Panics
/// If a receiver confirms a file with other contents, or refuses a file although nothing was damaged.
pub fn cast_state(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let directory = tempfile::tempdir().expect("a directory");
    let mut contents = vec![1; 2 * SLAB + 100];
    contents[SLAB..].fill(2);
    let kept = 1 + choices.below(3) as usize;
    assert!(
        !transfer(directory.path(), &contents, kept),
        "a part is a whole"
    );
    let files = state_files(directory.path());
    let is_damaged = !choices.is_empty();
    while !choices.is_empty() {
        let path = choices.one_of(&files);
        let mut found = fs::read(path).unwrap_or_default();
        // The manifest, the records and the header are in the first bytes of their files.
        let at = choices.number() as usize % found.len().clamp(1, 4096);
        match choices.below(5) {
            0 => found.truncate(at),
            1 => {
                if let Some(byte) = found.get_mut(at) {
                    *byte ^= choices.byte();
                }
            }
            2 => found.extend_from_slice(choices.bytes()),
            3 => {
                let end = found.len();
                let part = choices.bytes();
                found.splice(
                    at.min(end)..(at + part.len()).min(end),
                    part.iter().copied(),
                );
            }
            _ => {
                let _ = fs::remove_file(path);
                continue;
            }
        }
        fs::write(path, found).expect("a state file");
    }
    let is_done = transfer(directory.path(), &contents, usize::MAX);
    assert!(is_done || is_damaged);
    if is_done {
        let found =
            fs::read(directory.path().join("data")).expect("the file of a finished transfer");
        assert!(found == contents, "{} bytes", found.len());
    }
}
