//! Idle times of a network cost no steps of the simulator.

use crate::support::{config, fat_tree, queue_of, trace};
use std::sync::atomic::{AtomicU32, Ordering};
use tailcut_sim::fabric::engine::EngineKind;
use tailcut_sim::{RunControl, run};
use tailcut_units::Duration;

/// Counter of the progress reports of a run. A run reports its progress every 65,536 steps.
#[derive(Default)]
struct Reports(AtomicU32);

impl RunControl for Reports {
    fn progress(&self, _share: f64) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn stop(&self) -> bool {
        false
    }
}

#[test]
fn hours_between_two_flows_cost_no_steps_with_samples_every_millisecond() {
    const HOURS: u64 = 30_000;
    let shape = fat_tree(queue_of(100));
    let topology = shape.build().expect("a topology");
    let flows = format!("start_ns,src,dst,bytes\n0,0,15,100000\n{HOURS}000000000,1,14,100000\n");
    let designs = [
        "tcp",
        "hull",
        "pfabric",
        "ndp",
        "scdp",
        "pias",
        "repsyn",
        "dctcp@letflow",
        "tcp@conga",
        "tcp@expeditus",
    ];
    for engine in [EngineKind::Calendar, EngineKind::Heap] {
        for design in designs {
            let case = format!("{design}, {engine:?}");
            let mut config = config(design, "fat-tree", shape.clone(), trace(&flows, &topology));
            config.engine = engine;
            config.sample_every = Some(Duration::from_ms(1));
            let reports = Reports::default();
            let record = run(&config, &reports).expect("a run");
            assert_eq!(
                reports.0.into_inner(),
                0,
                "{case}: the run made too many steps"
            );
            assert!(
                record.totals.events < 10_000,
                "{case}: {}",
                record.totals.events
            );
            let ended = record.flows.iter().filter(|flow| flow.fct.is_some());
            assert_eq!(ended.count(), 2, "{case}");

            // Skipped samples are counted, too. The first sample after the pause covers only one interval.
            let sampling = record.sampling.expect("it was sampled");
            let least = HOURS * 1_000;
            assert!(
                (least..least + 100).contains(&sampling.instants),
                "{case}: {sampling:?}"
            );
            let late = record
                .links
                .iter()
                .filter(|sample| sample.time.as_secs_f64() > 1.0);
            let busiest = late.map(|sample| sample.utilisation).fold(0.0, f64::max);
            assert!((0.05..=1.0).contains(&busiest), "{case}: {busiest}");
        }
    }
}
