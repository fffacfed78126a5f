//! Transfers to several hosts: their groups in the network, and their rows.

use super::desk::Groups;
use crate::recorder::Recorder;
use std::collections::BTreeMap;
use tailcut_transport::{Event, FlowStats, Straggler};
use tailcut_units::{FlowId, HostId, Time};

/// Transfer to several hosts, in progress.
struct MulticastTransfer {
    group: HostId,
    /// Receivers. The row of the first receiver has the number of the transfer.
    /// The rows of all other receivers have the next numbers.
    receivers: Vec<HostId>,
}

/// Transfers in progress to several hosts, by number.
#[derive(Default)]
pub(crate) struct MulticastTransfers(BTreeMap<FlowId, MulticastTransfer>);

impl MulticastTransfers {
    /// Adds a transfer to the members of `group`.
    pub fn began(&mut self, flow: FlowId, group: HostId, receivers: Vec<HostId>) {
        self.0.insert(flow, MulticastTransfer { group, receivers });
    }

    /// Records an event of a host's transport, if the event belongs to a transfer to several hosts.
    /// A receiver that has all data leaves the group. A receiver that the sender drops is removed from the group.
    pub fn record_event(
        &mut self,
        now: Time,
        host: HostId,
        event: Event,
        recorder: &mut Recorder,
        groups: &mut dyn Groups,
    ) -> bool {
        let first = event.flow();
        let Some(MulticastTransfer { group, receivers }) = self.0.get(&first) else {
            return false;
        };
        match event {
            Event::Completed(_) => {
                if let Some(place) = receivers.iter().position(|receiver| *receiver == host) {
                    let row = FlowId(first.0 + place as u32);
                    recorder.event(now, Event::Completed(row));
                    groups.leave_group(now, *group, host, host);
                }
            }
            Event::Straggling(_, Straggler { receiver, dropped }) => {
                if dropped {
                    groups.leave_group(now, *group, receiver, host);
                }
            }
            Event::Closed(_, mut stats) | Event::Failed(_, mut stats) => {
                for row in first.0..first.0 + receivers.len() as u32 {
                    recorder.event(now, Event::Closed(FlowId(row), stats));
                    // The sender sends each symbol once for all receivers.
                    // Only the row of the first receiver has the cost of the transfer.
                    stats = FlowStats::default();
                }
                groups.dissolve_group(*group);
                self.0.remove(&first);
            }
            Event::Established(_)
            | Event::Arrived(..)
            | Event::Block(..)
            | Event::Opened(..)
            | Event::Received(..)
            | Event::Late(_)
            | Event::Copy(..) => {}
        }
        true
    }
}
