//! Transfers to several hosts at once: their groups in the network, and their rows.

use super::desk::Groups;
use crate::recorder::Recorder;
use std::collections::BTreeMap;
use tailcut_transport::{Event, FlowStats, Straggler};
use tailcut_units::{FlowId, HostId, Time};

/// A transfer under way.
struct Spread {
    group: HostId,
    /// Each has a row: the first that of the transfer's number, the others those of the numbers after it.
    receivers: Vec<HostId>,
}

/// The transfers to several hosts that are under way, by their numbers.
#[derive(Default)]
pub(crate) struct Spreads(BTreeMap<FlowId, Spread>);

impl Spreads {
    /// One more, to the members of `group`.
    pub fn began(&mut self, flow: FlowId, group: HostId, receivers: Vec<HostId>) {
        self.0.insert(flow, Spread { group, receivers });
    }

    /// Notes what a host's transport says, if it is of such a transfer. A receiver that has everything
    /// leaves the group, and one that the sender gives up is put out of it.
    pub fn note(
        &mut self,
        now: Time,
        host: HostId,
        event: Event,
        recorder: &mut Recorder,
        groups: &mut dyn Groups,
    ) -> bool {
        let first = event.flow();
        let Some(Spread { group, receivers }) = self.0.get(&first) else {
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
                    // The symbols are sent once for all: their cost is in the first receiver's row.
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
