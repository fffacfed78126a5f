//! Flow: one transfer from one host to another.

use core::fmt;
use tailcut_units::{FlowId, HostId, Time};

/// Class of a flow: its role in the experiment. Records use the class to separate measured flows from other flows.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Class {
    /// Flow that the experiment measures.
    #[default]
    Foreground,
    /// Additional load.
    Background,
    /// Member of a group of flows that converge on one receiver.
    Incast,
    /// Flow that measures the network (for example its round-trip time) and adds no load.
    Probe,
}

impl Class {
    /// All classes, in the order of their numbers.
    pub const ALL: [Self; 4] = [
        Self::Foreground,
        Self::Background,
        Self::Incast,
        Self::Probe,
    ];

    /// Returns the name in records and scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Foreground => "foreground",
            Self::Background => "background",
            Self::Incast => "incast",
            Self::Probe => "probe",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One transfer of `bytes` of payload from `src` to `dst` that starts at `start`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Flow {
    /// Number of the flow in its source. [`crate::Merge`] replaces it with a new number.
    pub id: FlowId,
    /// Time when the application starts the flow.
    pub start: Time,
    /// Sending host.
    pub src: HostId,
    /// Receiving host, never `src`.
    pub dst: HostId,
    /// Payload bytes, at least one.
    pub bytes: u64,
    /// Number of the equal-cost path that the flow and its ACKs take. With `None`, the network chooses the path.
    pub path: Option<u16>,
    /// Role of the flow in the experiment.
    pub class: Class,
}
