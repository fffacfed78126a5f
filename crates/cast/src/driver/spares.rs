//! Spare buffers of large objects. The application returns buffers, and later objects use them again.
//! The reuse saves time: the kernel provides new memory more slowly than a thread copies data into memory.

use std::sync::{Arc, Mutex, PoisonError};

/// Largest number of spare buffers.
/// A transfer of files has at most two slabs of 16 MiB at the same time, so two buffers are enough.
/// The memory limit of the endpoint does not include spare buffers, so more of them could exceed it.
const MOST: usize = 2;
/// Size of the smallest spare buffer in bytes. A smaller buffer would save too little time.
const LEAST_BYTES: usize = 1 << 18;

/// Spare buffers for later objects. Clones share the buffers.
#[derive(Clone, Default, Debug)]
pub(super) struct Spares(Arc<Mutex<Vec<Vec<u8>>>>);

impl Spares {
    /// Keeps a buffer if it is large enough and the list is not full.
    pub(super) fn put(&self, bytes: Vec<u8>) {
        if bytes.capacity() >= LEAST_BYTES {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() < MOST {
                kept.push(bytes);
            }
        }
    }

    /// Returns a buffer of `length` bytes. Its content is undefined.
    pub(super) fn take(&self, length: usize) -> Vec<u8> {
        if length >= LEAST_BYTES {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // The unused bytes of a buffer do not count towards the memory limit.
            // So the buffer may be at most twice as large as needed.
            let fits = |bytes: &Vec<u8>| (length..=2 * length).contains(&bytes.capacity());
            if let Some(at) = kept.iter().position(fits) {
                let mut bytes = kept.swap_remove(at);
                // The capacity is large enough, so `resize` allocates no memory.
                bytes.resize(length, 0);
                return bytes;
            }
        }
        vec![0; length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_for_an_object_that_nearly_fills_it() {
        let spares = Spares::default();
        spares.put(vec![7; LEAST_BYTES]);
        assert_eq!(spares.take(LEAST_BYTES / 4), vec![0; LEAST_BYTES / 4]);
        assert_eq!(spares.take(LEAST_BYTES)[0], 7);
        assert_eq!(spares.take(LEAST_BYTES)[0], 0, "there is no other");
    }

    #[test]
    fn few_are_kept() {
        let spares = Spares::default();
        for _ in 0..5 {
            spares.put(vec![7; LEAST_BYTES]);
        }
        let taken: Vec<u8> = (0..5).map(|_| spares.take(LEAST_BYTES)[0]).collect();
        assert_eq!(taken, [7, 7, 0, 0, 0]);
    }
}
