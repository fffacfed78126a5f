//! Buffers of large objects. The application returns them, and later objects use them again. To get new
//! memory from the kernel takes more time than to copy the data into it.

use std::sync::{Arc, Mutex, PoisonError};

/// Largest number of buffers that are kept. A transfer of files has at most two slabs of 16 MiB on
/// their way at a time, so two buffers serve the largest slabs. The memory limit of the endpoint does not
/// count kept buffers, so more of them would exceed the limit unnoticed.
const MOST: usize = 2;
/// Smallest buffer that is kept, in bytes. A smaller buffer would save too little time.
const LEAST_BYTES: usize = 1 << 18;

/// Buffers for later objects. Clones share them.
#[derive(Clone, Default, Debug)]
pub(super) struct Spares(Arc<Mutex<Vec<Vec<u8>>>>);

impl Spares {
    /// Keeps a buffer if it is large enough and the list has space.
    pub(super) fn put(&self, bytes: Vec<u8>) {
        if bytes.capacity() >= LEAST_BYTES {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() < MOST {
                kept.push(bytes);
            }
        }
    }

    /// Returns a buffer of `length` bytes with any content.
    pub(super) fn take(&self, length: usize) -> Vec<u8> {
        if length >= LEAST_BYTES {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // A buffer may be at most twice as large as needed, because its unused bytes do not
            // count towards the memory limit.
            let fits = |bytes: &Vec<u8>| (length..=2 * length).contains(&bytes.capacity());
            if let Some(at) = kept.iter().position(fits) {
                let mut bytes = kept.swap_remove(at);
                // The capacity suffices, so `resize` asks for no memory.
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
