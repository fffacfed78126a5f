//! Interface of applications.

use super::Desk;
use tailcut_record::{CoflowRecord, RequestRecord, SessionRecord};
use tailcut_transport::{Event, FlowStats, Segment};
use tailcut_units::{FlowId, HostId, Time};

/// Application on top of the transports of a run, such as a storage service or a training job.
/// A run can have one custom application, on all of its hosts, in addition to its flows.
///
/// An application has no clock. Each call receives a [`Desk`], which accepts orders.
/// The simulator calls the application at the time of [`Application::next`], and at each event of its transfers.
pub trait Application: Send {
    /// Returns the time of the application's next action.
    /// `None` means that the application acts only on events of transfers.
    fn next(&self) -> Option<Time>;

    /// Returns whether the application will start transfers without an event.
    /// The drain of a run begins after the last start of a transfer.
    /// Override this method if `next` also returns times of work that is already in progress.
    fn begins_more(&self) -> bool {
        self.next().is_some()
    }

    /// Acts at the time that [`Application::next`] returned. `desk.now()` is this time.
    fn act(&mut self, desk: &mut Desk<'_>);

    /// Handles an event of one of the application's transfers from the transport of `host`.
    /// The receiver reports `Completed` when it has all data. The sender reports the end or failure of the transfer.
    fn event(&mut self, _host: HostId, _event: Event, _desk: &mut Desk<'_>) {}

    /// Handles a complete segment of one of the application's transfers, when the segment reaches its host.
    /// The simulator calls this method only if [`Application::wants_segments`] returns true.
    /// Most applications do not need segments.
    fn segment_arrived(&mut self, _segment: &Segment, _desk: &mut Desk<'_>) {}

    /// Returns whether the simulator must call `segment_arrived`.
    fn wants_segments(&self) -> bool {
        false
    }

    /// Returns whether the application must receive the events of a departing segment before the next segment departs.
    fn wants_departures(&self) -> bool {
        false
    }

    /// Returns the number of operations that the application has started, for the progress display.
    /// The number excludes flows with their own rows.
    fn started(&self) -> u64 {
        0
    }

    /// Reports that the run ends while one of the application's transfers is unfinished.
    /// `stats` contains the costs of the sender so far.
    fn cut_off(&mut self, _flow: FlowId, _stats: FlowStats) {}

    /// Ends the application at the end of the run. Returns rows for the tables.
    fn finish(self: Box<Self>, _desk: &mut Desk<'_>) -> Outcome {
        Outcome::default()
    }
}

/// Results of an application for the record of a run.
#[derive(Clone, Default, Debug)]
pub struct Outcome {
    /// Rows of the table of sessions.
    pub sessions: Vec<SessionRecord>,
    /// Rows of the table of requests.
    pub requests: Vec<RequestRecord>,
    /// Rows of the table of coflows.
    pub coflows: Vec<CoflowRecord>,
}
