//! Prefetches: hints to the processor to load memory into its cache before the memory is read.
//! A prefetch never changes a result. On processors other than x86-64, prefetches do nothing.

/// Size of a cache line in bytes.
const LINE: usize = 64;

/// Prefetches the first cache line of an element of a slice, if the element exists.
#[inline]
pub fn prefetch<T>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        prefetch_line(core::ptr::from_ref(item).cast());
    }
}

/// Prefetches every cache line of an element of a slice, if the element exists.
#[inline]
pub fn prefetch_whole<T>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        let start: *const u8 = core::ptr::from_ref(item).cast();
        for offset in (0..size_of::<T>()).step_by(LINE) {
            prefetch_line(start.wrapping_add(offset));
        }
        // An element that does not begin at the start of a line can end in one line more.
        prefetch_line(start.wrapping_add(size_of::<T>().saturating_sub(1)));
    }
}

#[inline(always)]
fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64.
    // A prefetch changes no registers and no memory, and cannot fault at any address.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_out_of_range_has_no_effect() {
        let items = [[7u8; 200]; 2];
        for index in [0, 1, 2, usize::MAX] {
            prefetch(&items, index);
            prefetch_whole(&items, index);
        }
        prefetch_whole::<u64>(&[], 0);
        assert_eq!(items, [[7; 200]; 2]);
    }
}
