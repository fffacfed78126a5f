//! Bytes that came before their turn, until the reader takes them in order.

use super::error::RangesError;
use super::transfer::Sink;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

#[derive(Default)]
struct State {
    held: BTreeMap<u64, Bytes>,
    taken: u64,
    /// How the writer has ended.
    end: Option<Result<(), RangesError>>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<State>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end that bytes go into, in any order.
pub(super) struct Writer(Shared);
/// The end that they come out of, in order.
pub(super) struct Reader(Shared);

pub(super) fn spool() -> (Writer, Reader) {
    let shared = Shared::default();
    (Writer(shared.clone()), Reader(shared))
}

impl Writer {
    /// Everything is there, or nothing more comes.
    pub fn end(self, end: Result<(), RangesError>) {
        self.0.lock().end = Some(end);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if state.end.is_none() {
            let stopped = "the download was stopped, as its runtime ends";
            state.end = Some(Err(RangesError::Body(stopped.into())));
        }
        if let Some(reader) = state.reader.take() {
            reader.wake();
        }
    }
}

impl Sink for Writer {
    fn put(&mut self, from: u64, bytes: Bytes) -> io::Result<()> {
        let mut state = self.0.lock();
        let is_next = from == state.taken;
        state.held.insert(from, bytes);
        if is_next && let Some(reader) = state.reader.take() {
            reader.wake();
        }
        Ok(())
    }

    fn taken(&mut self, cx: &mut Context<'_>) -> u64 {
        let mut state = self.0.lock();
        state.writer = Some(cx.waker().clone());
        state.taken
    }
}

impl Reader {
    /// Bytes that were taken.
    pub fn taken(&self) -> u64 {
        self.0.lock().taken
    }

    /// The next bytes; `None` at the end.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, RangesError>>> {
        let mut state = self.0.lock();
        let taken = state.taken;
        if let Some(next) = state.held.first_entry()
            && *next.key() == taken
        {
            let bytes = next.remove();
            state.taken += bytes.len() as u64;
            if let Some(writer) = state.writer.take() {
                writer.wake();
            }
            return Poll::Ready(Some(Ok(bytes)));
        }
        match &mut state.end {
            None => {
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
            Some(end) => {
                let end = std::mem::replace(end, Ok(()));
                Poll::Ready(end.err().map(Err))
            }
        }
    }
}
