//! Choices: the words of keys, and what each stands for.

use super::held::Held;
use crate::value::{Kind, Value};
use tailcut_sim::EcmpHash;
use tailcut_sim::fabric::PortEvents;
use tailcut_sim::fabric::engine::EngineKind;
use tailcut_sim::fabric::queue::{Compare, Placement, Sharing, Victim};
use tailcut_sim::requests::{CancelScope, Discipline, Preemption, Split};
use tailcut_sim::transport::StragglerPolicy;
use tailcut_sim::workload::WorkTimes;

/// The words of choices, in the order of the reference.
macro_rules! choices {
    ($($choice:ty { $($word:literal => $held:expr),* })*) => {
        $(impl Held for $choice {
            const KIND: Option<Kind> = Some(Kind::Choice);
            const WORDS: &'static [&'static str] = &[$($word),*];

            fn of(value: &Value) -> Option<Self> {
                match value {
                    $(Value::Word($word) => Some($held),)*
                    _ => None,
                }
            }

            fn value(&self, _: Kind, _: &[&'static str]) -> Option<Value> {
                let words = [$(($word, $held)),*];
                let word = words.into_iter().find(|(_, held)| held == self);
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
    PortEvents { "one" => Self::OneWherePossible, "two" => Self::Two }
    // How many a quorum is has a key of its own.
    StragglerPolicy { "wait" => Self::Wait, "drop" => Self::Drop, "quorum" => Self::Quorum(1) }
}
