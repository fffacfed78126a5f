//! The typed parameters that keys set. What they hold by default is the default of their keys.

mod choices;
mod field;
mod held;
mod joint;

pub use field::Field;
pub(crate) use field::field;
pub(crate) use held::Held;

use joint::Joint;
use std::num::NonZeroU32;
use std::sync::LazyLock;
use tailcut_sim::fabric::PortEvents;
use tailcut_sim::fabric::engine::EngineKind;
use tailcut_sim::transport::tcp::TcpConfig;
use tailcut_sim::{Measures, Settings};
use tailcut_units::Duration;

/// The fields that keys set.
#[derive(Clone, Debug)]
pub struct Parameters {
    pub settings: Settings,
    /// What several keys set together of the settings.
    pub joint: Joint,
    pub course: Course,
}

/// How runs go.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// How often queues and links are sampled; `None`: never.
    pub sample_every: Option<Duration>,
    pub measures: Measures,
    /// How long flows have to finish after the last arrival.
    pub drain: Duration,
    pub engine: EngineKind,
    pub port_events: PortEvents,
    /// How many times slower than the wall's the network's clock goes on real hosts.
    pub slowdown: NonZeroU32,
}

impl Default for Parameters {
    /// The defaults of the parts, but for TCP, which is that of a data centre; 10 s for flows to finish.
    fn default() -> Self {
        let settings = Settings {
            tcp: TcpConfig::data_centre(),
            ..Settings::default()
        };
        Self {
            joint: Joint::of(&settings),
            settings,
            course: Course {
                sample_every: None,
                measures: Measures::default(),
                drain: Duration::from_ms(10_000),
                engine: EngineKind::default(),
                port_events: PortEvents::default(),
                slowdown: NonZeroU32::MIN,
            },
        }
    }
}

impl Parameters {
    /// The defaults.
    pub fn usual() -> &'static Self {
        static USUAL: LazyLock<Parameters> = LazyLock::new(Parameters::default);
        &USUAL
    }

    /// The settings and how runs go.
    pub fn settle(self) -> (Settings, Course) {
        let mut settings = self.settings;
        settings.framing.payload = settings.tcp.mss;
        self.joint.settle(&mut settings);
        (settings, self.course)
    }
}
