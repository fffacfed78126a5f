//! The applications of a run as one.

use super::{Application, Desk, Outcome};
use crate::recorder::LEG;
use tailcut_transport::copies::copy_of_flow;
use tailcut_transport::{Event, FlowStats, Segment};
use tailcut_units::{FlowId, HostId, Time};

/// Whose a flow is, which its number tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A flow of the workload.
    Flow,
    /// A transfer of a storage session or of an application of one's own.
    Transfer,
    /// A copy of a request.
    Copy,
}

impl Kind {
    const fn of(flow: FlowId) -> Self {
        if flow.0 & LEG != 0 {
            Self::Transfer
        } else if copy_of_flow(flow).is_some() {
            Self::Copy
        } else {
            Self::Flow
        }
    }
}

/// One of the applications.
struct Member {
    kind: Kind,
    /// Whether the news of its transfers go to the records first. Others write there themselves.
    is_noted: bool,
    application: Box<dyn Application>,
}

/// The applications of a run, at most one for each kind of flows. At one instant the first of them comes
/// first.
#[derive(Default)]
pub(crate) struct Together {
    members: Vec<Member>,
}

impl Together {
    /// One more, which comes after the others.
    pub fn add(&mut self, kind: Kind, is_noted: bool, application: Box<dyn Application>) {
        self.members.push(Member {
            kind,
            is_noted,
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

impl Application for Together {
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
            if !desk.note_spread(host, event) && member.is_noted {
                let now = desk.now();
                desk.recorder().event(now, event);
            }
            member.application.event(host, event, desk);
        }
    }

    fn segment_arrived(&mut self, segment: &Segment, desk: &mut Desk<'_>) {
        if let Some(member) = self.owner(segment.flow)
            && member.application.hears_segments()
        {
            member.application.segment_arrived(segment, desk);
        }
    }

    fn hears_segments(&self) -> bool {
        self.all().any(Application::hears_segments)
    }

    fn hears_departures(&self) -> bool {
        self.all().any(Application::hears_departures)
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
            let Outcome { sessions, requests } = member.application.finish(desk);
            outcome.sessions.extend(sessions);
            outcome.requests.extend(requests);
        }
        outcome
    }
}
