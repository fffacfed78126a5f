//! Tests of streams. The length of a stream is unknown before its end.

use super::common::{SLAB, all, bytes, folder, sink, some, source};
use std::fs;
use tailcut_cast::files::{
    Error, FileSink, Hash, Label, Next, Pool, Sink, SinkOptions, Source, StreamSink, StreamSource,
    hash,
};

#[test]
fn a_stream_of_any_length_arrives_in_a_file_or_a_pipe() {
    for length in [0, 1, SLAB - 1, SLAB, SLAB + 1, 3 * SLAB] {
        let contents = bytes(length, 4);
        let to = folder();
        let mut source = StreamSource::new(&contents[..], b"dump").expect("a source");
        all(&mut source, &mut sink(to.path())).expect("moved");
        let copy = fs::read(to.path().join("dump")).expect("a file");
        assert!(copy == contents, "{length} bytes");
        assert_eq!(source.root().expect("a root"), Hash::of(&contents));

        let mut copy = Vec::new();
        let mut source = StreamSource::new(&contents[..], b"dump").expect("a source");
        all(&mut source, &mut StreamSink::new(&mut copy, 2, u64::MAX)).expect("moved");
        assert!(copy == contents, "{length} bytes");
    }
}

#[test]
fn a_file_goes_into_a_pipe_in_order_whatever_comes_first() {
    let from = folder();
    let file = from.path().join("file");
    let contents = bytes(7 * SLAB + 5, 5);
    fs::write(&file, &contents).expect("a file");
    let mut source = source(&file);
    let mut copy = Vec::new();
    let mut sink = StreamSink::new(&mut copy, 3, u64::MAX);
    let pool = Pool::new(3);
    loop {
        let mut slabs = Vec::new();
        let next = loop {
            match sink.next().expect("next") {
                Next::Fetch(slab) => slabs.push(slab),
                other => break other,
            }
        };
        assert!(slabs.len() <= 3, "{slabs:?}");
        if slabs.is_empty() {
            assert_eq!(next, Next::End);
            break;
        }
        for &slab in slabs.iter().rev() {
            let mut buffer = pool.take();
            let label = source.read(slab, &mut buffer).expect("a slab");
            sink.deliver(label, buffer).expect("delivered");
        }
    }
    sink.finish(&source.root().expect("a root")).expect("done");
    assert!(copy == contents);
}

#[test]
fn a_stream_that_is_cut_off_leaves_no_file_behind_its_name() {
    let to = folder();
    let contents = bytes(3 * SLAB, 4);
    let mut source = StreamSource::new(&contents[..], b"dump").expect("a source");
    let mut cut = sink(to.path());
    some(&mut source, &mut cut, 3).expect("moved");
    let error = cut.finish(&Hash::of(&contents)).expect_err("cut off");
    assert!(matches!(error, Error::Incomplete { slab: 3 }), "{error}");
    assert!(!to.path().join("dump").exists());
    assert!(matches!(source.root(), Err(Error::Incomplete { slab: 3 })));
    drop(cut);
    // A stream cannot be continued. So the next transfer starts from the beginning.
    let mut source = StreamSource::new(&contents[..], b"dump").expect("a source");
    let moved = all(&mut source, &mut sink(to.path())).expect("moved");
    assert_eq!(moved.kept, 0);
}

#[test]
fn a_stream_is_refused_once_it_is_too_long() {
    let contents = bytes(3 * SLAB, 4);
    let to = folder();
    let options = SinkOptions {
        max_size: 2 * SLAB as u64,
        ..SinkOptions::default()
    };
    let mut file = FileSink::new(to.path(), options).expect("a sink");
    let mut pipe = StreamSink::new(Vec::new(), 2, 2 * SLAB as u64);
    for sink in [&mut file as &mut dyn Sink, &mut pipe] {
        let mut source = StreamSource::new(&contents[..], b"dump").expect("a source");
        let error = all(&mut source, sink).expect_err("too long");
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    }
}

#[test]
fn a_tree_does_not_go_into_a_pipe() {
    let from = folder();
    let mut sink = StreamSink::new(Vec::new(), 2, u64::MAX);
    let error = all(&mut source(from.path()), &mut sink).expect_err("a tree");
    assert!(
        error
            .to_string()
            .starts_with("-: a directory cannot be written to a pipe")
    );
}

#[test]
fn a_stream_is_read_once_and_in_order() {
    let contents = bytes(3 * SLAB, 4);
    let mut source = StreamSource::new(&contents[..], b"dump").expect("a source");
    let mut buffer = Vec::new();
    source.read(1, &mut buffer).expect("a slab");
    for slab in [1, 3] {
        let error = source.read(slab, &mut buffer).expect_err("not this one");
        assert!(
            matches!(error, Error::Gone(gone) if gone == slab),
            "{error}"
        );
    }
    assert!(StreamSource::new(&contents[..], b"a/b").is_err());
}

/// Delivers the slab `slab` of a stream, which has `length` bytes.
fn deliver(sink: &mut dyn Sink, slab: u32, length: usize, last: bool) -> Result<(), Error> {
    let mut buffer = Pool::new(1).take();
    buffer.resize(length, slab as u8);
    let begins = u64::from(slab - 1) * SLAB as u64;
    let label = Label {
        slab,
        length: length as u32,
        last,
        hash: hash::slab(begins, &buffer).part,
    };
    sink.deliver(label, buffer).map(drop)
}

#[test]
fn slabs_that_disagree_about_the_end_of_a_stream_are_refused() {
    // Slab that arrives: its number, its length, and whether it is the last one.
    type Arriving = (u32, usize, bool);
    // The final slab of each list is refused.
    let cases: [(&[Arriving], &str); 6] = [
        (
            &[(2, SLAB, false), (1, 100, true)],
            "slabs after it have arrived",
        ),
        (
            &[(1, 100, true), (2, SLAB, false)],
            "slab 1 is the last one",
        ),
        (&[(1, 100, true), (2, 100, true)], "slab 1 is the last one"),
        (&[(3, 100, true), (2, 100, true)], "slab 3 is the last one"),
        (&[(3, 100, true), (1, 100, false)], "only the last slab"),
        (&[(2, 0, true), (1, SLAB, true)], "slab 2 is the last one"),
    ];
    for (slabs, why) in cases {
        let to = folder();
        let mut file = sink(to.path());
        let mut pipe = StreamSink::new(Vec::new(), 8, u64::MAX);
        for sink in [&mut file as &mut dyn Sink, &mut pipe] {
            let mut source = StreamSource::new(&b""[..], b"dump").expect("a source");
            some(&mut source, sink, 1).expect("the manifest");
            for _ in 0..3 {
                assert!(matches!(sink.next(), Ok(Next::Fetch(_))));
            }
            let (refused, taken) = slabs.split_last().expect("slabs");
            for &(slab, length, last) in taken {
                deliver(sink, slab, length, last).expect("delivered");
            }
            let verified = sink.amount().verified;
            let error = deliver(sink, refused.0, refused.1, refused.2).expect_err("refused");
            assert!(error.to_string().contains(why), "{slabs:?}: {error}");
            assert_eq!(sink.amount().verified, verified);
        }
    }
}

#[test]
fn a_stream_that_ends_below_a_slab_that_has_arrived_is_never_verified() {
    let to = folder();
    let mut sink = sink(to.path());
    let mut source = StreamSource::new(&b""[..], b"dump").expect("a source");
    some(&mut source, &mut sink, 1).expect("the manifest");
    for _ in 0..2 {
        assert!(matches!(sink.next(), Ok(Next::Fetch(_))));
    }
    deliver(&mut sink, 2, SLAB, false).expect("delivered");
    deliver(&mut sink, 1, 100, true).expect_err("slab 2 has arrived");
    let error = sink
        .finish(&Hash::of(&[1; 100]))
        .expect_err("another content");
    assert!(matches!(error, Error::Incomplete { .. }), "{error}");
    assert!(!to.path().join("dump").exists());
}
