//! Requests to a running lab, and its replies.

use crate::emulator::status::Status;
use crate::emulator::tracker::TrackedFlows;
use serde::{Deserialize, Serialize};

/// Request to a lab.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Return the status of the lab.
    Status,
    /// Return the namespaces of the host with this name.
    Enter(String),
    /// Return the flows that programs have sent, from this index in the list of ended flows.
    Flows(u64),
    /// Change the properties of a link.
    Link {
        /// Names of the link's two nodes, `A-B`.
        link: String,
        /// New properties of the link.
        change: LinkChange,
    },
    /// End the lab and all programs on its hosts.
    Down,
}

/// New properties of a link, in both directions. `None` means no change.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct LinkChange {
    /// Whether the link delivers packets.
    pub is_up: Option<bool>,
    /// Rate of the link in bits per second.
    pub rate_bps: Option<u64>,
    /// Propagation delay of the link in nanoseconds.
    pub delay_ns: Option<u64>,
    /// Share of packets that the link loses at random, in billionths.
    pub loss_ppb: Option<u32>,
}

/// Reply of a lab to a request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// Status of the lab.
    Status(Box<Status>),
    /// Part of the flows that programs have sent.
    Flows(TrackedFlows),
    /// Access to a host. The message also transfers the namespaces as file descriptors.
    #[serde(rename = "way")]
    Access {
        /// Number of the host.
        host: u32,
        /// Whether the first namespace is a user namespace.
        has_users: bool,
    },
    /// The request was successful. The text is for the user.
    Done(String),
    /// The request failed. The text gives the reason to the user.
    Refused(String),
}
