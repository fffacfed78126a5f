//! Pool with a fixed number of buffers for slabs.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Pool of buffers for slabs. Clones share the same buffers.
#[derive(Clone, Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Debug)]
struct State {
    /// Number of buffers that were not created yet.
    unmade: usize,
    free: Vec<Vec<u8>>,
}

/// Buffer of a pool. It returns to the pool when it is dropped.
/// A buffer still contains the bytes of its last use, so a slab of the same length needs no initialization.
/// The user must set the length first.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    pool: Arc<Shared>,
}

impl Pool {
    /// Creates a pool of `buffers` buffers, at least one. A buffer has no memory before its first use.
    /// Later it keeps enough memory for its largest slab.
    pub fn new(buffers: usize) -> Self {
        let state = State {
            unmade: buffers.max(1),
            free: Vec::new(),
        };
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                returned: Condvar::new(),
            }),
        }
    }

    /// Returns a buffer. Waits if no buffer is free.
    pub fn take(&self) -> Buffer {
        let mut state = self.shared.state();
        loop {
            match state.take() {
                Some(bytes) => return self.buffer(bytes),
                None => {
                    let waited = self.shared.returned.wait(state);
                    state = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Returns a buffer, or `None` if no buffer is free now.
    pub fn try_take(&self) -> Option<Buffer> {
        let bytes = self.shared.state().take()?;
        Some(self.buffer(bytes))
    }

    fn buffer(&self, bytes: Vec<u8>) -> Buffer {
        Buffer {
            bytes,
            pool: Arc::clone(&self.shared),
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self) -> Option<Vec<u8>> {
        if let Some(bytes) = self.free.pop() {
            return Some(bytes);
        }
        self.unmade = self.unmade.checked_sub(1)?;
        Some(Vec::new())
    }
}

impl Deref for Buffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        self.pool.state().free.push(bytes);
        // Only one of the waiting threads can get this buffer.
        self.pool.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_gives_no_more_than_it_has_and_takes_back_what_is_dropped() {
        let pool = Pool::new(2);
        let mut one = pool.take();
        one.extend([1, 2, 3]);
        let two = pool.take();
        assert!(pool.try_take().is_none());
        drop(one);
        let again = pool.try_take().expect("a buffer");
        // If this is the buffer of `one`, it must still contain its bytes.
        assert_eq!(again.capacity() >= 3, again.len() == 3);
        drop((two, again));
    }

    #[test]
    fn who_waits_for_a_buffer_gets_the_next_one_that_comes_back() {
        let pool = Pool::new(1);
        let only = pool.take();
        let waiting = pool.clone();
        let waits = std::thread::spawn(move || waiting.take().len());
        drop(only);
        assert_eq!(waits.join().expect("a thread"), 0);
    }
}
