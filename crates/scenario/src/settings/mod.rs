//! The typed parameters that keys set. What they hold by default is the default of their keys.

mod choices;
mod field;
mod held;
mod joint;

pub use field::Field;
pub(crate) use field::field;
pub(crate) use held::Held;

use joint::Joint;
use std::sync::LazyLock;
use tailcut_sim::fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_sim::fabric::topology::{SingleSwitch, Wire};
use tailcut_sim::transport::tcp::TcpConfig;
use tailcut_sim::{RunConfig, Shape, TopologySpec, WorkloadSpec};
use tailcut_units::{Duration, Rate};

/// The fields that keys set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Those of a run, whose design, network and workload stand for nothing.
    pub run: RunConfig,
    /// What several keys set together of the run.
    pub joint: Joint,
}

impl Default for Settings {
    /// The defaults of the parts, but for TCP, which is that of a data centre, and for the time that flows
    /// have to finish: studies wait for 10 s.
    fn default() -> Self {
        let run = RunConfig {
            tcp: TcpConfig::data_centre(),
            drain: Duration::from_ms(10_000),
            ..of_nothing()
        };
        let joint = Joint::of(&run);
        Self { run, joint }
    }
}

impl Settings {
    /// The defaults.
    pub fn usual() -> &'static Self {
        static USUAL: LazyLock<Settings> = LazyLock::new(Settings::default);
        &USUAL
    }

    /// The run with these parameters, still of no design, network and workload.
    pub fn into_run(self) -> RunConfig {
        let Self { mut run, joint } = self;
        run.framing.payload = run.tcp.mss;
        joint.settle(&mut run);
        run
    }
}

/// A run in which nothing happens.
fn of_nothing() -> RunConfig {
    let design = "tcp".parse().expect("a design");
    let shape = Shape::SingleSwitch(SingleSwitch {
        hosts: 1,
        host_wire: Wire {
            rate: Rate::from_gbps(1),
            delay: Duration::ZERO,
        },
        queue: QueueConfig::DropTail(DropTail {
            limit: Limit::Packets(1),
            mark_above: None,
        }),
        shared_buffer: None,
    });
    let name = String::new();
    let workload = WorkloadSpec {
        name: name.clone(),
        load: None,
        parts: Vec::new(),
    };
    RunConfig::new(design, TopologySpec { name, shape }, workload)
}
