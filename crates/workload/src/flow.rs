//! A flow: one transfer from one host to another.

use core::fmt;
use tailcut_units::{FlowId, HostId, Time};

/// What a flow is to the experiment, so that records can tell the measured flows from the rest.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Class {
    /// The flows that the experiment is about.
    #[default]
    Foreground,
    /// Load beside them.
    Background,
    /// A member of a group that converges on one receiver.
    Incast,
    /// A flow that measures the network (say, its round-trip time) rather than loading it.
    Probe,
}

impl Class {
    /// Every class, in the order of their numbers.
    pub const ALL: [Self; 4] = [
        Self::Foreground,
        Self::Background,
        Self::Incast,
        Self::Probe,
    ];

    /// The name in records and scenarios.
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

/// One transfer: `bytes` of payload from `src` to `dst`, which starts at `start`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Flow {
    /// The number of the flow within its source (see [`crate::Merge`], which renumbers).
    pub id: FlowId,
    /// When the application hands the flow to its transport.
    pub start: Time,
    /// The sending host.
    pub src: HostId,
    /// The receiving host, never `src`.
    pub dst: HostId,
    /// Payload bytes, at least one.
    pub bytes: u64,
    /// The equal-cost path that the flow and its ACKs are pinned to; `None` leaves it to the
    /// network.
    pub path: Option<u16>,
    /// What the flow is to the experiment.
    pub class: Class,
}
