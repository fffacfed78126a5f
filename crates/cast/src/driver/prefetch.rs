//! A hint to the processor: memory that is about to be written is fetched meanwhile. Slabs do not fit into its
//! caches, so that each symbol would have to wait for memory.

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// These bytes are about to be written.
#[inline]
pub(super) fn to_write(bytes: &[u8]) {
    each_line(bytes, |line| {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: a prefetch reads and writes nothing that a program can see, and never faults, whatever the
        // address. This one is that of a byte of a slice.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_ET0>(std::ptr::from_ref(line).cast());
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = line;
    });
}

/// A byte of each line.
#[inline]
fn each_line(bytes: &[u8], mut hint: impl FnMut(&u8)) {
    bytes.iter().step_by(LINE).for_each(&mut hint);
    bytes.last().into_iter().for_each(hint);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_reaches_each_line_and_changes_nothing() {
        for length in [0, 1, 63, 64, 65, 1_424] {
            let bytes = vec![7; length];
            let mut lines = 0;
            each_line(&bytes, |_| lines += 1);
            assert_eq!(lines, length.div_ceil(LINE) + usize::from(length > 0));
            to_write(&bytes);
            assert_eq!(bytes, vec![7; length]);
        }
    }
}
