//! Components of a run without its clock, for custom drivers.

use crate::application::ApplicationRunner;
use crate::config::RunConfig;
use crate::error::RunError;
use crate::measures::Watch;
use crate::packing::{Packing, unpacked};
use crate::run::{self, PlannedRecord};
use crate::simulation::FinishedRun;
use crate::traffic;
use std::sync::Arc;
use tailcut_fabric::queue::QueueConfig;
use tailcut_fabric::topology::Topology;
use tailcut_fabric::{Delivery, Fabric, FaultPlan, Hints, LinkError, Observer, Packet};
use tailcut_record::{PackedRun, RunRecord};
use tailcut_transport::{Segment, Transport};
use tailcut_units::{HostId, Time};

/// Network, hosts, workload and recorder of a run. A driver moves packets and time between the four components.
/// The driver under virtual time is [`run`](crate::run()).
///
/// A run without packets has no `RunParts`.
///
/// `B` is the content of the packets: segments, or the data of a driver's own hosts ([`RunParts::around`]).
pub struct RunParts<'a, B: Clone + 'static = Segment> {
    config: RunConfig,
    topology: Arc<Topology>,
    faulty: Arc<Topology>,
    planned: PlannedRecord,
    /// Network. At the start it contains no packets.
    pub fabric: Fabric<B, Watch<'a, B>>,
    /// Times at which links change. `None` if no link changes.
    pub faults: Option<FaultPlan>,
    /// Transport of each host.
    pub transports: Vec<Box<dyn Transport>>,
    runner: ApplicationRunner,
    packing: Packing,
}

impl RunParts<'_> {
    /// Creates the components of a run.
    ///
    /// # Errors
    /// The configuration cannot be executed, or the run has no packets.
    pub fn new(config: &RunConfig) -> Result<Self, RunError> {
        let topology = Arc::new(config.network()?);
        let faulty = config.with_faults(&topology)?;
        let plan = config.host_plan(&faulty)?;
        let hosts = 0..topology.hosts();
        let transports = hosts.map(|host| plan.boxed(&run::seat(&plan, &faulty, host)));
        let transports = transports.collect::<Result<_, _>>();
        let transports = transports.map_err(RunError::Transport)?;
        Self::built(config, topology, None, transports, None)
    }

    /// Returns the packet that carries a segment, and the hints for switches.
    pub fn packet(&self, segment: &Segment) -> (Packet, Hints) {
        let packet = self.packing.packet(segment);
        (packet, self.packing.hints(&packet, segment))
    }

    /// Handles a packet that reached its host. Returns the segment for the host's transport.
    /// The caller passes the segment on.
    pub fn arrived(&mut self, now: Time, delivery: &Delivery<Segment>) -> Segment {
        let segment = unpacked(delivery);
        if self.runner.wants_arrivals() {
            self.runner.arrived(now, &segment, &mut self.fabric);
        }
        segment
    }
}

impl<'a, B: Clone + 'static> RunParts<'a, B> {
    /// Creates the components of a run with the driver's own hosts. The driver sends packets into the network.
    /// `uplink` is the queue of the hosts' uplinks. `watch` observes the packets.
    /// `transports` contains one transport per host. The transports execute the orders of applications.
    ///
    /// # Errors
    /// The configuration cannot be executed, or the run has no packets.
    pub fn around(
        config: &RunConfig,
        uplink: &QueueConfig,
        transports: Vec<Box<dyn Transport>>,
        watch: Option<&'a mut dyn Observer<B>>,
    ) -> Result<Self, RunError> {
        let topology = Arc::new(config.network()?);
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
            return Err(RunError::Requests(
                "a run without packets has no network components",
            ));
        }
        let applications = traffic::applications(config, &topology)?;
        let planned = PlannedRecord::new(config, &topology)?;
        let mut faulty = config.with_faults(&topology)?;
        let recorder = run::recorder(config, &topology, &faulty, &planned.failures);
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
            runner: ApplicationRunner::new(applications, topology.hosts(), recorder),
            packing: run::packing(config),
            config: config.clone(),
            topology,
            faulty,
            planned,
        })
    }

    /// Sets links and hosts to their state at `now`. The driver calls this function at the time of the next fault.
    /// The driver serves the returned hosts immediately, because the rate of their links has changed.
    ///
    /// # Errors
    /// A fault changes a rate that cannot change.
    pub fn change_links(&mut self, now: Time) -> Result<Vec<HostId>, LinkError> {
        let Some(faults) = &mut self.faults else {
            return Ok(Vec::new());
        };
        let hosts = faults.apply(now, &mut self.fabric)?;
        for &host in &hosts {
            if let Some(rate) = self.fabric.host_rate(host) {
                let overhead = self.packing.framing.full_overhead();
                self.transports[host.0 as usize].set_line_rate(now, rate, overhead);
            }
        }
        Ok(hosts)
    }

    /// Returns the time of the applications' next action, if it is known. Events can cause an earlier action.
    pub fn next(&self) -> Option<Time> {
        Some(self.runner.due()).filter(|due| *due < Time::MAX)
    }

    /// Returns whether the applications will start more transfers without an event.
    pub fn begins_more(&self) -> bool {
        self.runner.begins_more()
    }

    /// Performs the actions of the applications that are due at `now`.
    /// After the actions, [`RunParts::carry_out`] executes the orders of the applications.
    pub fn act(&mut self, now: Time) {
        self.runner.act(now, &mut self.fabric);
    }

    /// Executes the next order at its host.
    /// Returns the host, or `None` if there are no more orders. The driver must serve this host next.
    pub fn carry_out(&mut self, now: Time) -> Option<HostId> {
        let order = self.runner.order()?;
        let host = order.host();
        let transport = &mut self.transports[host.0 as usize];
        self.runner
            .carry_out(now, &order, transport, &mut self.fabric);
        Some(host)
    }

    /// Passes the events of a host's transport to the applications.
    /// The driver calls this function after any input to the transport, and after each segment that it sends.
    /// An answer to a request can be complete as soon as its last segment is sent.
    pub fn deliver_events(&mut self, now: Time, host: HostId) {
        let transport = &mut self.transports[host.0 as usize];
        self.runner
            .deliver_events(now, host, transport, &mut self.fabric);
    }

    /// Returns the start of the last flow or request so far.
    pub fn last_start(&self) -> Time {
        self.runner.recorder.last_start()
    }

    /// Returns the number of flows and requests that have started and not ended.
    pub fn unfinished(&self) -> usize {
        self.runner.recorder.unfinished()
    }

    /// Samples queues and links.
    pub fn sample(&mut self, now: Time) {
        self.runner.recorder.sample(now, &self.fabric);
    }

    /// Returns the record of a run that ended at `end`. `host_events` is the number of events of its hosts.
    pub fn record(self, end: Time, host_events: u64) -> RunRecord {
        self.packed(end, host_events).with_flows(Vec::from)
    }

    /// Returns the record like [`RunParts::record`], but with flows in packed form.
    pub fn packed(mut self, end: Time, host_events: u64) -> PackedRun {
        for transport in &self.transports {
            self.runner.cut_off(transport);
        }
        let finished = FinishedRun {
            fabric: self.fabric,
            runner: self.runner,
            host_events,
            end,
        };
        let networks = [&self.topology, &self.faulty];
        run::record(&self.config, networks, self.planned, finished)
    }
}
