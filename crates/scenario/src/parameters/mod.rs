//! Typed parameters that keys set. The default of a key is the default of its parameter.

mod choices;
mod combined_keys;
mod field;
mod field_value;

pub use field::Field;
pub(crate) use field::field;
pub(crate) use field_value::FieldValue;

use combined_keys::CombinedKeys;
use std::num::NonZeroU32;
use std::sync::LazyLock;
use tailcut_sim::fabric::PortEvents;
use tailcut_sim::fabric::engine::EngineKind;
use tailcut_sim::transport::tcp::{Profile, TcpConfig, TimerSet};
use tailcut_sim::{Measures, Settings};
use tailcut_units::Duration;

/// All parameters that keys set.
#[derive(Clone, Debug)]
pub struct Parameters {
    pub settings: Settings,
    /// Profile of TCP: one name that sets several mechanisms. Keys of single mechanisms override it.
    pub profile: Profile,
    /// Set of TCP's timers under one name. Keys of single timers override the set.
    pub timers: TimerSet,
    /// Values of keys that each change several settings at once.
    pub combined: CombinedKeys,
    pub options: RunOptions,
}

/// Options for the execution of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Interval between two samples of queues and links. `None`: no samples.
    pub sample_every: Option<Duration>,
    pub measures: Measures,
    /// Longest time that the run continues after the last arrival, so that flows can finish.
    pub drain: Duration,
    /// Whether flows keep arriving until the last recorded flow has ended.
    pub continues_load: bool,
    pub engine: EngineKind,
    pub port_events: PortEvents,
    /// Ratio of wall clock to network clock on real hosts: 2 means that the network runs at half speed.
    pub slowdown: NonZeroU32,
}

impl Default for Parameters {
    /// Returns the defaults of all parts, with timers for data centres and 10 s for flows to finish.
    fn default() -> Self {
        Self::of(Profile::default(), TimerSet::default())
    }
}

impl Parameters {
    fn of(profile: Profile, timers: TimerSet) -> Self {
        let settings = Settings {
            tcp: TcpConfig::of(profile, timers),
            ..Settings::default()
        };
        Self {
            combined: CombinedKeys::of(&settings),
            settings,
            profile,
            timers,
            options: RunOptions {
                sample_every: None,
                measures: Measures::default(),
                drain: Duration::from_ms(10_000),
                continues_load: false,
                engine: EngineKind::default(),
                port_events: PortEvents::default(),
                slowdown: NonZeroU32::MIN,
            },
        }
    }

    /// Returns the defaults.
    pub fn defaults() -> &'static Self {
        Self::defaults_of(Profile::default(), TimerSet::default())
    }

    /// Returns the defaults for the given mechanisms and timers of TCP.
    pub fn defaults_of(profile: Profile, timers: TimerSet) -> &'static Self {
        static DEFAULTS: LazyLock<Vec<Parameters>> = LazyLock::new(|| {
            let profiles = [Profile::Rfc, Profile::Linux, Profile::Ns2];
            let sets = [TimerSet::DataCentre, TimerSet::Stock, TimerSet::Ns2];
            let pairs = profiles.iter().flat_map(|one| sets.map(|set| (*one, set)));
            pairs.map(|(one, set)| Parameters::of(one, set)).collect()
        });
        let mut all = DEFAULTS.iter();
        let chosen = all.find(|one| one.profile == profile && one.timers == timers);
        chosen.expect("every profile and every set is in the list")
    }

    /// Returns the settings and the options of runs. Values that depend on several keys are computed here.
    pub fn resolve(self) -> (Settings, RunOptions) {
        let mut settings = self.settings;
        settings.framing.payload = settings.tcp.mss;
        self.combined.resolve(&mut settings);
        (settings, self.options)
    }
}
