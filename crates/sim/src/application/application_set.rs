//! Combination of all applications of a run into one.

use super::{Application, Desk, Outcome};
use crate::recorder::SESSION_FLOW;
use tailcut_transport::copies::copy_of_flow;
use tailcut_transport::{Event, FlowStats, Segment};
use tailcut_units::{FlowId, HostId, Time};

/// Kind of application to which a flow belongs. The flow's number determines the kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Flow of the workload.
    Flow,
    /// Transfer of a storage session or of a custom application.
    Transfer,
    /// Copy of a request.
    Copy,
}

impl Kind {
    const fn of(flow: FlowId) -> Self {
        if flow.0 & SESSION_FLOW != 0 {
            Self::Transfer
        } else if copy_of_flow(flow).is_some() {
            Self::Copy
        } else {
            Self::Flow
        }
    }
}

/// Application in the combination.
struct Member {
    kind: Kind,
    /// Whether this set records the events of the member's transfers. Some members record their events themselves.
    records_events: bool,
    application: Box<dyn Application>,
}

/// Applications of a run, at most one for each kind of flow.
/// Applications that act at the same instant act in the order in which they were added.
#[derive(Default)]
pub(crate) struct ApplicationSet {
    members: Vec<Member>,
    /// Whether a member is [`LoadOnly`](super::LoadOnly).
    pub has_load_only: bool,
}

impl ApplicationSet {
    /// Adds an application after all earlier applications.
    pub fn add(&mut self, kind: Kind, records_events: bool, application: Box<dyn Application>) {
        self.members.push(Member {
            kind,
            records_events,
            application,
        });
    }

    fn all(&self) -> impl Iterator<Item = &dyn Application> {
        self.members.iter().map(|member| &*member.application)
    }

    fn owner(&mut self, flow: FlowId) -> Option<&mut Member> {
        let kind = Kind::of(flow);
        self.members.iter_mut().find(|member| member.kind == kind)
    }
}

impl Application for ApplicationSet {
    fn next(&self) -> Option<Time> {
        self.all().filter_map(Application::next).min()
    }

    fn begins_more(&self) -> bool {
        self.all().any(Application::begins_more)
    }

    fn act(&mut self, desk: &mut Desk<'_>) {
        let mut members = self.members.iter_mut();
        let is_due = |member: &&mut Member| {
            let next = member.application.next();
            next.is_some_and(|next| next <= desk.now())
        };
        if let Some(member) = members.find(is_due) {
            member.application.act(desk);
        }
    }

    fn event(&mut self, host: HostId, event: Event, desk: &mut Desk<'_>) {
        if let Some(member) = self.owner(event.flow()) {
            if !desk.record_multicast(host, event) && member.records_events {
                let now = desk.now();
                desk.recorder().event(now, event);
            }
            member.application.event(host, event, desk);
        }
    }

    fn segment_arrived(&mut self, segment: &Segment, desk: &mut Desk<'_>) {
        if let Some(member) = self.owner(segment.flow)
            && member.application.wants_segments()
        {
            member.application.segment_arrived(segment, desk);
        }
    }

    fn wants_segments(&self) -> bool {
        self.all().any(Application::wants_segments)
    }

    fn wants_departures(&self) -> bool {
        self.all().any(Application::wants_departures)
    }

    fn started(&self) -> u64 {
        self.all().map(Application::started).sum()
    }

    fn cut_off(&mut self, flow: FlowId, stats: FlowStats) {
        if let Some(member) = self.owner(flow) {
            member.application.cut_off(flow, stats);
        }
    }

    fn finish(self: Box<Self>, desk: &mut Desk<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        for member in self.members {
            let Outcome {
                sessions,
                requests,
                coflows,
            } = member.application.finish(desk);
            outcome.sessions.extend(sessions);
            outcome.requests.extend(requests);
            outcome.coflows.extend(coflows);
        }
        outcome
    }
}
