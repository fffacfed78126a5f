//! Buffer for bytes that arrive in any order. The reader takes them in order.

use super::error::RangesError;
use super::transfer::Sink;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

#[derive(Default)]
struct State {
    waiting: BTreeMap<u64, Bytes>,
    taken: u64,
    /// Result of the download. It is set when the download has ended.
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

/// Input end of the buffer. It accepts bytes in any order.
pub(super) struct Writer(Shared);
/// Output end of the buffer. It returns the bytes in order.
pub(super) struct Reader(Shared);

pub(super) fn reorder_buffer() -> (Writer, Reader) {
    let shared = Shared::default();
    (Writer(shared.clone()), Reader(shared))
}

impl Writer {
    /// Ends the input, because all bytes have arrived or the download failed.
    pub fn end(self, end: Result<(), RangesError>) {
        // The writer is dropped at the end of this function, which wakes the reader.
        self.0.lock().end = Some(end);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        // If there is no result, the download's task was dropped before the download ended.
        if state.end.is_none() {
            let stopped = "the download stopped, because its runtime ended";
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
        state.waiting.insert(from, bytes);
        // Bytes at other positions do not let the reader continue.
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
    /// Returns the number of bytes that the reader has taken.
    pub fn taken(&self) -> u64 {
        self.0.lock().taken
    }

    /// Returns the next bytes, or `None` at the end.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, RangesError>>> {
        let mut state = self.0.lock();
        let taken = state.taken;
        if let Some(next) = state.waiting.first_entry()
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
                // The reader gets the error only once, because an error cannot be cloned.
                let end = std::mem::replace(end, Ok(()));
                Poll::Ready(end.err().map(Err))
            }
        }
    }
}
