//! What a run consists of beside its clock, for a driver of one's own.

use crate::application::Feed;
use crate::config::RunConfig;
use crate::error::RunError;
use crate::measures::Watch;
use crate::packing::{Packing, unpacked};
use crate::run::{self, Told};
use crate::simulation::Remains;
use crate::traffic;
use std::sync::Arc;
use tailcut_fabric::queue::QueueConfig;
use tailcut_fabric::topology::Topology;
use tailcut_fabric::{Delivery, Fabric, FaultPlan, Hints, Observer, Packet};
use tailcut_record::{PackedRun, RunRecord};
use tailcut_transport::{Segment, Transport};
use tailcut_units::{HostId, Time};

/// The network, the hosts, the workload and the notes of a run. A driver moves packets and time between
/// them; a driver under virtual time is [`run`](crate::run()).
///
/// Runs without packets have no parts.
///
/// Packets carry `B`: segments, or whatever hosts of a driver's own send ([`RunParts::around`]).
pub struct RunParts<'a, B: Clone + 'static = Segment> {
    config: RunConfig,
    topology: Arc<Topology>,
    told: Told,
    /// The network, empty.
    pub fabric: Fabric<B, Watch<'a, B>>,
    /// When its links change, where they do.
    pub faults: Option<FaultPlan>,
    /// The transport of each host.
    pub transports: Vec<Box<dyn Transport>>,
    feed: Feed,
    packing: Packing,
}

impl RunParts<'_> {
    /// The parts of a run.
    ///
    /// # Errors
    /// A configuration that cannot be run, or one without packets.
    pub fn new(config: &RunConfig) -> Result<Self, RunError> {
        let topology = run::topology(config)?;
        let plan = config.host_plan(&topology)?;
        let hosts = 0..topology.hosts();
        let transports = hosts.map(|host| plan.boxed(&run::seat(&plan, &topology, host)));
        let transports = transports.collect::<Result<_, _>>();
        let transports = transports.map_err(RunError::Transport)?;
        Self::built(config, topology, None, transports, None)
    }

    /// The packet that carries a segment, and what switches are told of it.
    pub fn packet(&self, segment: &Segment) -> (Packet, Hints) {
        let packet = self.packing.packet(segment);
        (packet, self.packing.hints(&packet, segment))
    }

    /// A packet reached its host: the segment that it brings, for the host's transport.
    pub fn arrived(&mut self, now: Time, delivery: &Delivery<Segment>) -> Segment {
        let segment = unpacked(delivery);
        if self.feed.hears_arrivals() {
            self.feed.arrived(now, &segment, &mut self.fabric);
        }
        segment
    }
}

impl<'a, B: Clone + 'static> RunParts<'a, B> {
    /// The parts of a run whose hosts are the driver's own: they push packets into the network, whose
    /// uplinks queue them by `uplink`, and `transports` carry out what applications order, one for each
    /// host. `watch` looks on at the packets.
    ///
    /// # Errors
    /// A configuration that cannot be run, or one without packets.
    pub fn around(
        config: &RunConfig,
        uplink: &QueueConfig,
        transports: Vec<Box<dyn Transport>>,
        watch: Option<&'a mut dyn Observer<B>>,
    ) -> Result<Self, RunError> {
        let topology = run::topology(config)?;
        Self::built(config, topology, Some(uplink), transports, watch)
    }

    fn built(
        config: &RunConfig,
        topology: Arc<Topology>,
        uplink: Option<&QueueConfig>,
        transports: Vec<Box<dyn Transport>>,
        watch: Option<&'a mut dyn Observer<B>>,
    ) -> Result<Self, RunError> {
        if !config.stack.design.has_packets() {
            return Err(RunError::Requests("a run without packets has no parts"));
        }
        let applications = traffic::applications(config, &topology)?;
        let told = Told::new(config, &topology)?;
        let mut faulty = run::in_trouble(config, &topology)?;
        let recorder = run::recorder(config, &topology, &faulty, &told.failures);
        if let Some(queue) = uplink {
            let changed = Arc::make_mut(&mut faulty);
            let uplinks = changed.uplink_count as usize;
            for link in &mut changed.links[..uplinks] {
                link.config.queue = queue.clone();
            }
        }
        Ok(Self {
            fabric: run::fabric(config, &faulty, watch),
            faults: FaultPlan::of(&faulty),
            transports,
            feed: Feed::new(applications, topology.hosts(), recorder),
            packing: run::packing(config),
            config: config.clone(),
            topology,
            told,
        })
    }

    /// When the applications of the run do something next by themselves, as far as is known: events may
    /// bring an earlier time.
    pub fn next(&self) -> Option<Time> {
        Some(self.feed.due()).filter(|due| *due < Time::MAX)
    }

    /// Whether they begin something more by themselves.
    pub fn begins_more(&self) -> bool {
        self.feed.begins_more()
    }

    /// The applications do what is due at `now`. [`RunParts::carry_out`] hands on what they order.
    pub fn act(&mut self, now: Time) {
        self.feed.act(now, &mut self.fabric);
    }

    /// Carries out the next order at its host, which is to be served next; `None` when all are carried out.
    pub fn carry_out(&mut self, now: Time) -> Option<HostId> {
        let order = self.feed.order()?;
        let host = order.host();
        let transport = &mut self.transports[host.0 as usize];
        self.feed
            .carry_out(now, &order, transport, &mut self.fabric);
        Some(host)
    }

    /// The applications hear the news of a host's transport. To be called after any input to it, and after
    /// each segment that has left it: answers of requests may be handed over as they leave.
    pub fn hear(&mut self, now: Time, host: HostId) {
        let transport = &mut self.transports[host.0 as usize];
        self.feed.hear(now, host, transport, &mut self.fabric);
    }

    /// When the last flow or request so far started.
    pub fn last_start(&self) -> Time {
        self.feed.recorder.last_start()
    }

    /// Flows and requests that have started and not ended.
    pub fn unfinished(&self) -> usize {
        self.feed.recorder.unfinished()
    }

    /// Samples queues and links.
    pub fn sample(&mut self, now: Time) {
        self.feed.recorder.sample(now, &self.fabric);
    }

    /// The record of a run that ended at `end`; `host_events` is how many events its hosts had.
    pub fn record(self, end: Time, host_events: u64) -> RunRecord {
        self.packed(end, host_events).with_flows(Vec::from)
    }

    /// Like [`RunParts::record`], with packed flows.
    pub fn packed(mut self, end: Time, host_events: u64) -> PackedRun {
        for transport in &self.transports {
            self.feed.cut_off(transport);
        }
        let remains = Remains {
            fabric: self.fabric,
            feed: self.feed,
            host_events,
            end,
        };
        run::record(&self.config, &self.topology, self.told, remains)
    }
}
