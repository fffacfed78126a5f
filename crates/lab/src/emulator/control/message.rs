//! What is asked of a lab, and what it answers.

use crate::emulator::status::Status;
use crate::emulator::tracker::TrackedFlows;
use serde::{Deserialize, Serialize};

/// What is asked of a lab.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// How it is.
    Status,
    /// The way into a host, by its name.
    Enter(String),
    /// The flows that programs have sent, from this place among those that have ended.
    Flows(u64),
    /// Another state for a link, by the names of its ends.
    Link {
        /// The ends, `A-B`.
        link: String,
        /// What changes.
        change: LinkChange,
    },
    /// To end.
    Down,
}

/// What changes of a link, in both directions.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct LinkChange {
    /// Whether it delivers what is sent into it.
    pub is_up: Option<bool>,
    /// Its rate in bits per second.
    pub rate_bps: Option<u64>,
    /// Its propagation delay in nanoseconds.
    pub delay_ns: Option<u64>,
    /// The share of packets that it loses at random, in billionths.
    pub loss_ppb: Option<u32>,
}

/// What a lab answers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// How it is.
    Status(Box<Status>),
    /// Some of the flows.
    Flows(TrackedFlows),
    /// The way into a host: its number. The namespaces come as files beside the message.
    Way {
        /// The host's number.
        host: u32,
        /// Whether the first of the files is of a user namespace.
        has_users: bool,
    },
    /// It is done; in words.
    Done(String),
    /// It is not done; why, in words.
    Refused(String),
}
