//! Tests of the memory that load balancers need, measured at the allocator.

mod common;

use common::{drop_tail, fat_tree, wire};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use tailcut_fabric::load_balancer::{
    CongaConfig, ExpeditusConfig, ExpeditusDeckConfig, LoadBalancerConfig,
};
use tailcut_fabric::queue::Limit;
use tailcut_fabric::{Fabric, FabricConfig};

thread_local! {
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

/// Allocator of the system, with a counter of the bytes that each thread has allocated.
struct Counting;

// SAFETY: all calls are passed to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.with(|live| live.set(live.get() + layout.size() as i64));
        // SAFETY: the caller gives the same guarantees.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.with(|live| live.set(live.get() - layout.size() as i64));
        // SAFETY: the caller gives the same guarantees.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Returns how many bytes per port a network needs for a load balancer, in addition to a network with ECMP.
fn bytes_a_port(k: u32, load_balancer: LoadBalancerConfig) -> f64 {
    let queue = drop_tail(Limit::Packets(100), None);
    let topology = fat_tree(k, wire(1, 100), wire(1, 100), queue);
    let held = |load_balancer| {
        let config = FabricConfig {
            load_balancer,
            ..FabricConfig::default()
        };
        let before = LIVE.with(Cell::get);
        let fabric: Fabric<()> = Fabric::new(&topology, &config);
        let held = LIVE.with(Cell::get) - before;
        drop(fabric);
        held
    };
    let more = held(load_balancer) - held(LoadBalancerConfig::Ecmp);
    more as f64 / topology.links.len() as f64
}

/// Returns the factor by which the memory per port grows from 4 pods to 16 pods.
fn growth(load_balancer: LoadBalancerConfig) -> f64 {
    let by_size = [4, 8, 16].map(|k| bytes_a_port(k, load_balancer.clone()));
    assert!(by_size[0] > 0.0);
    by_size[2] / by_size[0]
}

#[test]
fn expeditus_takes_the_same_memory_a_port_in_a_network_of_any_size() {
    for form in [
        LoadBalancerConfig::Expeditus(ExpeditusConfig::default()),
        LoadBalancerConfig::ExpeditusDeck(ExpeditusDeckConfig::default()),
    ] {
        let growth = growth(form.clone());
        // Memory that is needed only once per network has a smaller share in larger networks.
        assert!(growth <= 1.0, "{growth} {form:?}");
    }
}

#[test]
fn congas_tables_grow_with_the_number_of_leaves() {
    // The two networks have 8 and 128 leaves.
    let growth = growth(LoadBalancerConfig::Conga(CongaConfig::default()));
    assert!(growth > 4.0, "{growth}");
}
