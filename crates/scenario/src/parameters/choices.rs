//! Choices: the words that keys accept, and the parameter for each word.

use super::field_value::FieldValue;
use crate::value::{Kind, Value};
use tailcut_sim::EcmpHash;
use tailcut_sim::fabric::PortEvents;
use tailcut_sim::fabric::engine::EngineKind;
use tailcut_sim::fabric::queue::{Compare, Placement, Sharing, Victim};
use tailcut_sim::requests::{CancelScope, Discipline, Preemption, Split};
use tailcut_sim::transport::StragglerPolicy;
use tailcut_sim::transport::tcp::{LossRecovery, Profile, TimerSet, WindowUse};
use tailcut_sim::workload::WorkTimes;

/// Implements [`FieldValue`] for choices. The words have the order of the reference page.
macro_rules! choices {
    ($($choice:ty { $($word:literal => $field:expr),* })*) => {
        $(impl FieldValue for $choice {
            const KIND: Option<Kind> = Some(Kind::Choice);
            const WORDS: &'static [&'static str] = &[$($word),*];

            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    $(Value::Word($word) => Some($field),)*
                    _ => None,
                }
            }

            fn value(&self, _: Kind, _: &[&'static str]) -> Option<Value> {
                let words = [$(($word, $field)),*];
                let word = words.into_iter().find(|(_, field)| field == self);
                word.map(|(word, _)| Value::Word(word))
            }
        })*
    };
}

choices! {
    Sharing { "shared" => Self::Shared, "by-class" => Self::PerClass }
    Compare { "before" => Self::Before, "after" => Self::After }
    Placement { "series" => Self::Series, "parallel" => Self::Parallel }
    Victim { "arrival" => Self::Arrival, "coin" => Self::Coin }
    EcmpHash { "mixed" => Self::Mixed, "crc32" => Self::Crc32, "xor" => Self::Xor }
    WorkTimes { "fixed" => Self::Fixed, "exponential" => Self::Exponential }
    Discipline { "fifo" => Self::Fifo, "processor-sharing" => Self::ProcessorSharing }
    Preemption { "resume" => Self::Resume, "chunk" => Self::Unit, "never" => Self::Never }
    Split { "meet" => Self::Meet, "ranges" => Self::Ranges }
    CancelScope { "running" => Self::Running, "queued" => Self::Queued }
    EngineKind { "calendar" => Self::Calendar, "heap" => Self::Heap }
    Profile { "rfc" => Self::Rfc, "linux" => Self::Linux, "ns2" => Self::Ns2 }
    TimerSet { "data-centre" => Self::DataCentre, "stock" => Self::Stock, "ns2" => Self::Ns2 }
    LossRecovery { "rfc6675" => Self::Rfc6675, "rack" => Self::Rack }
    WindowUse { "full" => Self::Full, "half" => Self::Half }
    PortEvents { "one" => Self::OneWherePossible, "two" => Self::Two }
    // The size of the quorum is a separate key, so this value is only a placeholder.
    StragglerPolicy { "wait" => Self::Wait, "drop" => Self::Drop, "quorum" => Self::Quorum(1) }
}
