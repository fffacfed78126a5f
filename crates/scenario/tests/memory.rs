//! Memory of an ended flow: only its packed row remains, in every design.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use tailcut_scenario::sim::{self, Unattended};
use tailcut_scenario::{Scenario, Study};

/// Number of bytes that are allocated now, and the largest number so far.
static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: all memory comes from the system's allocator. This type only counts sizes.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller meets the contract of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller meets the contract of the system's allocator.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Network of eight hosts in two racks, as a section of a scenario.
const NETWORK: &str = "[topology]\nkind = \"leaf-spine\"\nhosts = 4\nleaves = 2\nspines = 2\n";

/// Returns the number of flows in a run, and the largest amount of memory in bytes that the run allocates.
/// `flows` is the number of flows in each part of the workload.
fn most(design: &str, workload: &str, flows: usize) -> (usize, usize) {
    // At this load few flows overlap, and few connections wait in a closing state.
    let text = format!(
        "designs = [\"{design}\"]\nseeds = 1\nloads = 0.001\nduration = \"100s\"\nflows = {flows}\n\
         {NETWORK}{workload}"
    );
    let scenario = Scenario::from_text(&text).expect("a scenario");
    let study = Study::of(&scenario).expect("a study");
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let run = sim::run_packed(&study.runs[0], &Unattended, &mut ()).expect("a run");
    let most = MOST.load(Ordering::Relaxed) - before;
    let is_over = run.flows.iter().all(|flow| flow.fct.is_some());
    assert!(is_over, "{design}: all flows of the run have ended");
    (run.flows.len(), most)
}

#[test]
fn a_flow_that_has_ended_leaves_its_packed_row() {
    let small = "[[workload]]\nsizes = \"fixed:2KB\"\n";
    let mixed = "[[workload]]\nsizes = \"fixed:2KB\"\n[[workload]]\nkind = \"closed\"\n\
                 sizes = \"fixed:3KB\"\nthink = \"1ms\"\n";
    let cases = [
        ("dctcp", small),
        ("dctcp", mixed),
        ("repsyn", small),
        ("pfabric", small),
        ("ndp", small),
        ("scdp", small),
    ];
    for (design, workload) in cases {
        let [few, many] = [10_000, 100_000].map(|flows| most(design, workload, flows));
        let flows = (many.0 - few.0) as f64;
        let each = (many.1 as f64 - few.1 as f64) / flows;
        // A flow's row takes about 26 B, and its entry in the index takes 8 B.
        // The rows and the index have spare capacity, and the index is copied when it grows.
        assert!(each < 72.0, "{design}: {each} B for each flow");
    }
}
