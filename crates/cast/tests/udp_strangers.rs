//! Tests of packets from unknown hosts.
//! Such a packet must not cause an allocation, or an answer that is longer than the packet.
#![cfg(target_os = "linux")]

#[path = "strangers/mod.rs"]
mod strangers;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use strangers::{PACKETS, Stranger};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Allocator of the system that also counts allocations.
struct Counting;

// SAFETY: every call is passed to the system's allocator unchanged. The count belongs to one thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's obligations are the same as for this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_packet_of_a_stranger_allocates_nothing() {
    for (name, make) in PACKETS {
        for has_key in [false, true] {
            let mut stranger = Stranger::new(has_key);
            let packets: Vec<Vec<u8>> = (0..500).map(make).collect();
            // The first packets may allocate buffers that are used again later. So they are not counted.
            packets.iter().for_each(|bytes| stranger.speak(bytes));
            let before = ALLOCATIONS.get();
            packets.iter().for_each(|bytes| stranger.speak(bytes));
            let allocated = ALLOCATIONS.get() - before;
            assert_eq!(allocated, 0, "{name}, key: {has_key}");
            assert!(stranger.answered() <= 1_000 * packets[0].len(), "{name}");
        }
    }
}
