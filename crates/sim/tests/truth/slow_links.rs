//! Links that a fault slows down. Every value that depends on a link's rate follows the rate.
//! If all links have half of their rate from the start, the network behaves as if it was built with half of the rate.

use crate::determinism::DESIGNS;
use crate::support::{Run, config, queue_of, simulate, trace};
use tailcut_record::{FlowRecord, RunRecord, RunTotals};
use tailcut_sim::fabric::queue::Limit;
use tailcut_sim::fabric::topology::{CoreOversubscription, FatTree, LinkFault, Trouble, Wire};
use tailcut_sim::{DecodeCores, RunConfig, Shape};
use tailcut_units::{Duration, Rate, Time};

const WHOLE: Rate = Rate::from_gbps(10);
const HALF: Rate = Rate::from_gbps(5);

fn fat_tree(rate: Rate) -> Shape {
    let wire = Wire {
        rate,
        delay: Duration::from_us(1),
    };
    Shape::FatTree(FatTree {
        k: 4,
        tiers: 3,
        edge_downlinks: 2,
        host_links: 1,
        core_oversubscription: CoreOversubscription::None,
        host_wire: wire,
        fabric_wire: wire,
        core_wire: wire,
        queue: queue_of(20),
        shared_buffer: None,
    })
}

/// Returns a run with sixty flows between pods. A third of the flows go to one host.
fn run_of(design: &str, rate: Rate) -> RunConfig {
    let flows = (0..60).map(|n| {
        let src = n * 5 % 16;
        let dst = if n % 3 == 0 { 15 } else { (src + 6) % 16 };
        let dst = if dst == src { 1 } else { dst };
        let bytes = if n % 4 == 0 {
            400_000
        } else {
            7_000 + n * 1_000
        };
        format!("{},{src},{dst},{bytes}\n", n * 4_000)
    });
    let csv = format!("start_ns,src,dst,bytes\n{}", flows.collect::<String>());
    let topology = fat_tree(rate).build().expect("a topology");
    let mut config = config(design, "fat-tree", fat_tree(rate), trace(&csv, &topology));
    config.settings.designs.pias.limit = Limit::Packets(20);
    config
}

/// Adds a fault to every link: half of the rate from the start to `until`.
fn slowed(mut config: RunConfig, until: Time) -> RunConfig {
    let links = Run::of(&config).topology.links;
    let pairs = links.iter().map(|link| (link.from, link.to));
    let (pairs, mut seen): (Vec<_>, Vec<_>) = (pairs.collect(), Vec::new());
    for (a, b) in pairs {
        if seen.contains(&(b, a)) {
            continue;
        }
        seen.push((a, b));
        config.faults.push(LinkFault {
            number: None,
            a,
            b,
            trouble: Trouble::Slow(HALF),
            from: Time::ZERO,
            until,
            reconvergence: Duration::ZERO,
        });
    }
    config
}

fn totals(record: &RunRecord) -> RunTotals {
    RunTotals {
        events: 0,
        ..record.totals.clone()
    }
}

/// Compares two records. The ideal times are compared only if `with_ideals` is set.
fn assert_same(a: &RunRecord, b: &RunRecord, with_ideals: bool, case: &str) {
    let flows = |record: &RunRecord| -> Vec<FlowRecord> {
        let mut flows = record.flows.clone();
        if !with_ideals {
            for flow in &mut flows {
                flow.ideal_fct = Duration::ZERO;
            }
        }
        flows
    };
    let totals_of = totals(a);
    let met = totals_of.marks + totals_of.trimmed.packets + totals_of.drops.total().packets;
    assert!(met > 0, "{case}: no queue forms");
    let finished = a.flows.iter().filter(|flow| flow.fct.is_some());
    assert_eq!(finished.count(), 60, "{case}");
    assert_eq!(flows(a), flows(b), "{case}");
    assert_eq!(a.ports, b.ports, "{case}");
    assert_eq!(totals_of, totals(b), "{case}");
}

#[test]
fn a_network_that_is_slow_during_the_whole_run_is_a_network_built_with_these_rates() {
    for design in DESIGNS {
        let native = simulate(&run_of(design, HALF));
        let slow = simulate(&slowed(run_of(design, WHOLE), Time::MAX));
        assert_same(&native, &slow, true, design);
    }
}

/// If a fault has an end, link rates change during the run, and hosts pace their packets at the new rate.
/// Windows and timers stay constant during a run. The user sets them, or they follow from the network at the start.
/// The test of slow links until a later time therefore sets the windows and timers.
#[test]
fn links_that_become_slow_at_time_zero_are_links_built_with_these_rates() {
    for design in DESIGNS {
        let fixed = |rate| {
            let mut config = run_of(design, rate);
            let designs = &mut config.settings.designs;
            designs.pfabric.rto = Some(Duration::from_us(60));
            designs.scdp.initial_window = Some(24);
            designs.scdp.decode_cores = DecodeCores::Count(8);
            designs.scdp_plain.timeout = Some(Duration::from_ms(1));
            config
        };
        let native = simulate(&fixed(HALF));
        let later = Time::ZERO + Duration::from_ms(1_000_000);
        let slow = simulate(&slowed(fixed(WHOLE), later));
        assert_same(&native, &slow, false, design);
    }
}
