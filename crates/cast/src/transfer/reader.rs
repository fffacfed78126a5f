//! A thread that reads slabs of a source in the order in which they are asked for. A pipe or a disk may
//! keep it waiting; the thread that runs the transfer does not wait.

use super::message::seal_slab;
use crate::files::{Buffer, Error, Hash, Label, Pool, Source};
use std::io;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, Thread};

/// A slab with its label and footer, as it is sent; its buffer is used again once it has arrived.
#[derive(Debug)]
pub(super) struct SlabObject(Buffer);

impl AsRef<[u8]> for SlabObject {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// What is asked of the thread.
enum Ask {
    /// A slab, for receivers who know this number.
    Slab(u32, u64),
    Root,
    /// Slabs that nobody asks for have to be hashed for the root: do that meanwhile.
    Ahead,
}

/// What the thread has read.
pub(super) enum Read {
    Slab(Label, SlabObject),
    Root(Hash),
    Failed(Error),
}

/// The thread's other end. The thread ends when this is dropped and what it reads comes.
pub(super) struct Reader {
    asks: Sender<Ask>,
    results: Receiver<Read>,
}

impl Reader {
    /// Starts the thread, which wakes the one that calls this. At most `buffers` slabs are in memory at once.
    pub(super) fn start(source: Box<dyn Source>, buffers: usize) -> io::Result<Self> {
        let (asks, queue) = mpsc::channel();
        let (out, results) = mpsc::channel();
        let wakes = thread::current();
        let pool = Pool::new(buffers);
        let work = move || work(source, &pool, &queue, &out, &wakes);
        thread::Builder::new()
            .name("cast reader".to_owned())
            .spawn(work)?;
        Ok(Self { asks, results })
    }

    // The thread ends only after it has told of a failure.
    pub(super) fn slab(&self, slab: u32, number: u64) {
        let _ = self.asks.send(Ask::Slab(slab, number));
    }

    pub(super) fn root(&self) {
        let _ = self.asks.send(Ask::Root);
    }

    pub(super) fn ahead(&self) {
        let _ = self.asks.send(Ask::Ahead);
    }

    pub(super) fn next(&self) -> Option<Read> {
        self.results.try_recv().ok()
    }
}

fn work(
    mut source: Box<dyn Source>,
    pool: &Pool,
    queue: &Receiver<Ask>,
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
                        // It is told when the root is asked for.
                        Err(_) => ahead = false,
                    }
                    continue;
                }
            },
        };
        let read = match ask {
            None => return,
            Some(Ask::Ahead) => {
                ahead = true;
                continue;
            }
            Some(Ask::Root) => source.root().map(Read::Root),
            Some(Ask::Slab(slab, number)) => {
                let mut buffer = pool.take();
                source.read(slab, &mut buffer).map(|label| {
                    seal_slab(&mut buffer, &label, number);
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
