//! What a run consists of beside its clock, for a driver of one's own.

use crate::application::Orders;
use crate::config::RunConfig;
use crate::hosts;
use crate::measures::Watch;
use crate::packing::{Packing, hints, message, unpacked};
use crate::recorder::Recorder;
use crate::requests;
use crate::run::{self, RunError, Told};
use crate::simulation::Remains;
use crate::traffic;
use std::sync::Arc;
use tailcut_fabric::topology::Topology;
use tailcut_fabric::{Delivery, Fabric, FaultPlan, Hints, Packet};
use tailcut_record::RunRecord;
use tailcut_transport::{Event, Message, Segment, Transport};
use tailcut_units::{FlowId, HostId, Time};
use tailcut_workload::{Flow, Source};

/// The network, the hosts, the workload and the notes of a run of flows. A driver moves packets and time
/// between them; a driver under virtual time is [`run`](crate::run()).
///
/// Runs with requests or storage sessions have no parts of this kind yet.
pub struct RunParts {
    config: RunConfig,
    topology: Arc<Topology>,
    told: Told,
    /// The network, empty.
    pub fabric: Fabric<Segment, Watch<'static>>,
    /// When its links change, where they do.
    pub faults: Option<FaultPlan>,
    /// The transport of each host.
    pub transports: Vec<Box<dyn Transport>>,
    /// The workload's flows.
    pub source: Box<dyn Source>,
    recorder: Recorder,
    packing: Packing,
}

impl RunParts {
    /// The parts of a run.
    ///
    /// # Errors
    /// A configuration that cannot be run, or one that has requests or storage sessions.
    pub fn new(config: &RunConfig) -> Result<Self, RunError> {
        let has_requests = requests::part_of(config).is_some();
        if has_requests || !config.design.transport.has_packets() {
            return Err(RunError::Requests("a run in parts has flows only"));
        }
        let topology = run::topology(config)?;
        let application = traffic::application(config, &topology).map_err(RunError::Workload)?;
        if application.is_some() {
            return Err(RunError::Requests("a run in parts has flows only"));
        }
        let source = traffic::source(config, &topology).map_err(RunError::Workload)?;
        let told = Told::new(config, &topology)?;
        let faulty = run::in_trouble(config, &topology)?;
        let hosts = hosts::layered(config, &topology)?;
        let transports = (0..topology.hosts()).map(|number| hosts(HostId(number)));
        let transports = transports.collect::<Result<_, RunError>>()?;
        drop(hosts);
        Ok(Self {
            fabric: run::fabric(config, &faulty, None),
            faults: FaultPlan::of(&faulty),
            transports,
            source,
            recorder: run::recorder(config, &topology, &faulty, &told.failures),
            packing: run::packing(config),
            config: config.clone(),
            topology,
            told,
        })
    }

    /// A flow starts: what its sender's host is told.
    pub fn start(&mut self, flow: &Flow) -> Message {
        self.recorder.started(flow);
        message(flow, run::replication(&self.config, flow))
    }

    /// When the last flow so far started.
    pub fn last_start(&self) -> Time {
        self.recorder.last_start()
    }

    /// Flows that have started and not ended.
    pub fn unfinished(&self) -> usize {
        self.recorder.unfinished()
    }

    /// A transport said something of a flow. Gives the flow when its receiver has all of it, or when it was
    /// given up: the source is to be told then.
    pub fn event(&mut self, now: Time, event: Event) -> Option<FlowId> {
        self.recorder.event(now, event)
    }

    /// The packet that carries a segment, and what switches are told of it.
    pub fn packet(&self, segment: &Segment) -> (Packet, Hints) {
        let packet = self.packing.packet(segment);
        (packet, hints(&packet, segment, None))
    }

    /// The segment that a packet brings.
    pub fn segment(&self, delivery: &Delivery<Segment>) -> Segment {
        unpacked(delivery)
    }

    /// Samples queues and links.
    pub fn sample(&mut self, now: Time) {
        self.recorder.sample(now, &self.fabric);
    }

    /// The record of a run that ended at `end`; `host_events` is how many events its hosts had.
    pub fn record(mut self, end: Time, host_events: u64) -> RunRecord {
        for transport in &self.transports {
            for (flow, stats) in transport.unfinished() {
                self.recorder.cut_off(flow, stats);
            }
        }
        let remains = Remains {
            fabric: self.fabric,
            transports: self.transports,
            application: None,
            orders: Orders::default(),
            layer: (),
            recorder: self.recorder,
            host_events,
            end,
        };
        run::record(&self.config, &self.topology, self.told, remains)
    }
}
