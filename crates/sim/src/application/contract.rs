//! What an application is asked and told.

use super::Desk;
use tailcut_record::{RequestRecord, SessionRecord};
use tailcut_transport::{Event, FlowStats, Segment};
use tailcut_units::{FlowId, HostId, Time};

/// Something on top of the transports of a run: a storage service, a training job, a chat. A run has at
/// most one of one's own, on all of its hosts, beside its flows.
///
/// It never sees a clock. It is called at the time that [`Application::next`] said, and whenever a
/// transport has news of a transfer that it began. Each call gets a [`Desk`], which takes its orders.
pub trait Application: Send {
    /// When it does something next by itself; `None`: only when it hears of a transfer.
    fn next(&self) -> Option<Time>;

    /// Whether it will begin something by itself. A run ends when its drain is over after the last
    /// beginning. To be overridden where `next` also says when work goes on that has begun.
    fn begins_more(&self) -> bool {
        self.next().is_some()
    }

    /// The time that `next` said has come: `desk.now()`.
    fn act(&mut self, desk: &mut Desk<'_>);

    /// The transport of `host` has news of a transfer of this application: the receiver's says that
    /// all of it is there (`Completed`), the sender's that it is over or was given up.
    fn event(&mut self, _host: HostId, _event: Event, _desk: &mut Desk<'_>) {}

    /// A segment of one of its transfers reached its host whole. Only called where
    /// [`Application::hears_segments`] says so: most applications do without.
    fn segment_arrived(&mut self, _segment: &Segment, _desk: &mut Desk<'_>) {}

    /// Whether `segment_arrived` is to be called.
    fn hears_segments(&self) -> bool {
        false
    }

    /// Whether events that come as a segment leaves are to be told before the next one does.
    fn hears_departures(&self) -> bool {
        false
    }

    /// How many things it has begun, for the progress that is shown. Flows of its own do not count.
    fn started(&self) -> u64 {
        0
    }

    /// The run ends before one of its transfers does, which has cost its sender `stats`.
    fn cut_off(&mut self, _flow: FlowId, _stats: FlowStats) {}

    /// The run is over. Gives rows for its tables.
    fn finish(self: Box<Self>, _desk: &mut Desk<'_>) -> Outcome {
        Outcome::default()
    }
}

/// What an application leaves in the run's record.
#[derive(Clone, Default, Debug)]
pub struct Outcome {
    /// Rows of the table of sessions.
    pub sessions: Vec<SessionRecord>,
    /// Rows of the table of requests.
    pub requests: Vec<RequestRecord>,
}
