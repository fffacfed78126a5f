//! Thread that reads the slabs of a source in the order of the requests.
//! A slow pipe or disk blocks only this thread, and not the thread that runs the transfer.

use super::message::{Footer, seal_slab};
use crate::files::{Buffer, Error, Hash, Label, Pool, Source};
use std::io;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, Thread};

/// Slab with its label and footer, as an object that can be sent.
/// The buffer of the object returns to the pool after the transfer of the object.
#[derive(Debug)]
pub(super) struct SlabObject(Buffer);

impl AsRef<[u8]> for SlabObject {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Request to the reading thread.
enum ReadRequest {
    /// Read the slab with this number. The second field is the footer of the message.
    Slab(u32, Footer),
    /// Compute the root of all data.
    Root,
    /// Hash slabs that no receiver requests, while the thread is idle. The root needs their hashes.
    Ahead,
}

/// Result of the reading thread.
pub(super) enum Read {
    Slab(Label, SlabObject),
    Root(Hash),
    Failed(Error),
}

/// Handle of the reading thread. When the handle is dropped, the thread ends after its current read.
pub(super) struct Reader {
    requests: Sender<ReadRequest>,
    results: Receiver<Read>,
}

impl Reader {
    /// Starts the thread. It wakes the calling thread after each read.
    /// At most `buffers` slabs are in memory at the same time.
    pub(super) fn start(source: Box<dyn Source>, buffers: usize) -> io::Result<Self> {
        let (requests, queue) = mpsc::channel();
        let (out, results) = mpsc::channel();
        let wakes = thread::current();
        let pool = Pool::new(buffers);
        let work = move || work(source, &pool, &queue, &out, &wakes);
        thread::Builder::new()
            .name("cast reader".to_owned())
            .spawn(work)?;
        Ok(Self { requests, results })
    }

    // In the next three functions, the result of `send` can be ignored.
    // If the thread ends early, it reports a failure first.
    pub(super) fn slab(&self, slab: u32, footer: Footer) {
        let _ = self.requests.send(ReadRequest::Slab(slab, footer));
    }

    pub(super) fn root(&self) {
        let _ = self.requests.send(ReadRequest::Root);
    }

    pub(super) fn ahead(&self) {
        let _ = self.requests.send(ReadRequest::Ahead);
    }

    pub(super) fn next(&self) -> Option<Read> {
        self.results.try_recv().ok()
    }
}

fn work(
    mut source: Box<dyn Source>,
    pool: &Pool,
    queue: &Receiver<ReadRequest>,
    out: &Sender<Read>,
    wakes: &Thread,
) {
    let mut scratch = Vec::new();
    let mut ahead = false;
    loop {
        let ask = match ahead {
            false => queue.recv().ok(),
            true => match queue.try_recv() {
                Ok(ask) => Some(ask),
                Err(TryRecvError::Disconnected) => None,
                Err(TryRecvError::Empty) => {
                    match source.hash_ahead(&mut scratch) {
                        Ok(more) => ahead = more,
                        // The error is ignored here. A later request for the root returns the same error.
                        Err(_) => ahead = false,
                    }
                    continue;
                }
            },
        };
        let read = match ask {
            None => return,
            Some(ReadRequest::Ahead) => {
                ahead = true;
                continue;
            }
            Some(ReadRequest::Root) => source.root().map(Read::Root),
            Some(ReadRequest::Slab(slab, footer)) => {
                let mut buffer = pool.take();
                source.read(slab, &mut buffer).map(|label| {
                    seal_slab(&mut buffer, &label, footer);
                    Read::Slab(label, SlabObject(buffer))
                })
            }
        };
        let result = read.unwrap_or_else(Read::Failed);
        let over = out.send(result).is_err();
        wakes.unpark();
        if over {
            return;
        }
    }
}
