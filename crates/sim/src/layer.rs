//! What applications do beside sending the workload's flows: a layer over the hosts' transports.

use crate::extent::Started;
use tailcut_record::RunRecord;
use tailcut_transport::Segment;
use tailcut_units::{HostId, Time};

/// Packets that take others along at switches: by keys, 0 for none.
#[derive(Clone, Copy)]
pub(crate) struct PurgeKeys {
    /// The key of a segment.
    pub of: fn(&Segment) -> u64,
    /// The key of the segments that one takes along.
    pub purged_by: fn(&Segment) -> u64,
}

/// What the event loop asks of such a layer. `()` is none, and costs nothing.
pub(crate) trait Layer<T>: Sized {
    /// Which packets take others with them at switches; `None` where none do.
    const PURGE_KEYS: Option<PurgeKeys> = None;

    /// When an application starts something next, as far as is known.
    fn peek(&self) -> Option<Time> {
        None
    }

    /// Starts what is due. Gives the host where, which is served next.
    fn start(&mut self, _now: Time) -> Option<HostId> {
        None
    }

    /// After any input to a host, before its NIC is served: reads what happened to its transport, and lets
    /// its application act.
    fn serve(&mut self, _now: Time, _host: HostId, _transport: &mut T) {}

    /// After a host's NIC was served.
    fn sent(&mut self, _transport: &mut T) {}

    /// `now` is at or past `next_timeout` of a host; it is served next.
    fn on_timeout(&mut self, _now: Time, _host: HostId) {}

    /// When `on_timeout` wants to be called for a host, if ever.
    fn next_timeout(&self, _host: HostId) -> Option<Time> {
        None
    }

    /// When the last thing so far started.
    fn last_start(&self) -> Time {
        Time::ZERO
    }

    /// What has started beside flows and sessions.
    fn started(&self) -> Started {
        Started::default()
    }

    /// Writes what has become of it into the run's record.
    fn finish(self, _transports: &[T], _record: &mut RunRecord) {}
}

impl<T> Layer<T> for () {}
