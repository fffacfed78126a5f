//! Check that the queues of switch ports are large enough for a packet.
//! If they were too small, no flow would finish, so the check runs before the simulation.

use crate::switches::SwitchPlan;
use tailcut_fabric::queue::{Limit, PortBuffer, QueueConfig, Sharing};
use tailcut_fabric::topology::{Node, Topology};
use tailcut_transport::ConfigError;

/// Capacity of a port's queue.
struct Room {
    /// Limit of one class. It applies to all waiting packets, or only to waiting data.
    limit: Limit,
    /// Number of classes that each have this capacity. 1 if all classes share the capacity.
    parts: u8,
    /// Limit of the waiting headers in bytes. `None`: the number of waiting headers has no limit.
    headers: Option<u64>,
    /// ECN threshold.
    mark_above: Option<Limit>,
}

impl Room {
    /// Returns the capacity of `queue`. A custom queue has the capacity of the network's queue.
    fn of(queue: &QueueConfig, port: &PortBuffer) -> Self {
        let shared = |limit, mark_above| Self {
            limit,
            parts: 1,
            headers: None,
            mark_above,
        };
        match queue {
            QueueConfig::DropTail(queue) => shared(queue.limit, queue.mark_above),
            QueueConfig::PushOut(queue) => shared(queue.limit, queue.mark_above),
            QueueConfig::PFabric(queue) => shared(queue.limit, None),
            QueueConfig::Custom(_) => shared(port.limit, None),
            QueueConfig::Priority(queue) => Self {
                parts: parts(queue.sharing, queue.classes),
                ..shared(queue.limit, queue.mark_above)
            },
            QueueConfig::Trimming(queue) => Self {
                parts: parts(queue.sharing, queue.classes),
                headers: Some(queue.header_limit_bytes),
                ..shared(queue.data_limit, None)
            },
        }
    }
}

const fn parts(sharing: Sharing, classes: u8) -> u8 {
    match sharing {
        Sharing::PerClass => classes,
        Sharing::Shared | Sharing::LastApart => 1,
    }
}

impl SwitchPlan {
    /// Checks that each queue and each shared buffer of a network has room for a full packet.
    /// A queue of headers must have room for a header.
    ///
    /// # Errors
    /// A limit that is too small, with its key.
    pub fn check_room(&self, topology: &Topology) -> Result<(), ConfigError> {
        self.each_queue(topology, |room, _| self.check_queue(room))?;
        for link in &topology.links {
            if let Node::Switch(switch) = link.from
                && topology.switches[switch as usize].shared_buffer.is_some()
                && (self.port)(&self.buffer(&link.config)).queue.is_none()
            {
                self.check_shared_buffer(topology, switch)?;
            }
        }
        Ok(())
    }

    /// Checks that full packets can reach the ECN threshold of each queue.
    ///
    /// # Errors
    /// A threshold that is not below the capacity of its queue.
    pub fn check_threshold(&self, topology: &Topology) -> Result<(), ConfigError> {
        self.each_queue(topology, |room, marks| {
            let whole = self.bytes(room.limit).saturating_mul(u64::from(room.parts));
            let threshold = room.mark_above.filter(|_| marks);
            let Some(threshold) = threshold.filter(|one| self.bytes(*one) >= whole) else {
                return Ok(());
            };
            let full = self.full_packet;
            Err(ConfigError {
                key: "queue.mark_above",
                found: shown(threshold),
                allowed: format!(
                    "less than the room of the queue, {whole} B for packets of {full} B, or no packet is marked"
                )
                .into(),
            })
        })
    }

    /// Calls `check` for the queue of every switch port. A port that equals the previous port is skipped.
    /// `check` receives the capacity of the queue, and whether the port marks at the threshold.
    fn each_queue(
        &self,
        topology: &Topology,
        check: impl Fn(&Room, bool) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        let mut checked: Option<PortBuffer> = None;
        for link in &topology.links {
            let buffer = self.buffer(&link.config);
            if matches!(link.from, Node::Host(_)) || checked.replace(buffer) == Some(buffer) {
                continue;
            }
            let setup = (self.port)(&buffer);
            let queue = setup.queue.as_ref().unwrap_or(&link.config.queue);
            let marks = setup.phantom.is_none() && (self.marks || setup.queue.is_some());
            check(&Room::of(queue, &buffer), marks)?;
        }
        Ok(())
    }

    fn check_queue(&self, room: &Room) -> Result<(), ConfigError> {
        let full = u64::from(self.full_packet);
        if self.bytes(room.limit) < full {
            let found = match room.parts {
                1 => shown(room.limit),
                parts => format!("{} for each of {parts} classes", shown(room.limit)),
            };
            return Err(self.too_small(self.room_key, found));
        }
        if let Some(headers) = room.headers.filter(|bytes| *bytes < u64::from(self.header)) {
            return Err(ConfigError {
                key: "scdp.header_queue",
                found: format!("{headers} B"),
                allowed: format!("at least one header, {} B", self.header).into(),
            });
        }
        Ok(())
    }

    fn check_shared_buffer(&self, topology: &Topology, switch: u32) -> Result<(), ConfigError> {
        let Some(buffer) = topology.switches[switch as usize].shared_buffer else {
            return Ok(());
        };
        let full = u64::from(self.full_packet);
        if buffer.capacity.0 < full {
            let found = format!("{} B", buffer.capacity.0);
            return Err(self.too_small("shared_buffer.capacity", found));
        }
        if buffer.alpha * (buffer.capacity.0 as f64) < full as f64 {
            let found = format!("{} of {} B", buffer.alpha, buffer.capacity.0);
            return Err(self.too_small("shared_buffer.alpha", found));
        }
        Ok(())
    }

    /// Returns a limit in bytes. If the limit is a number of packets, each packet counts as a full packet.
    fn bytes(&self, limit: Limit) -> u64 {
        match limit {
            Limit::Packets(packets) => u64::from(packets) * u64::from(self.full_packet),
            Limit::Bytes(bytes) => bytes,
        }
    }

    fn too_small(&self, key: &'static str, found: String) -> ConfigError {
        let full = self.full_packet;
        ConfigError {
            key,
            found,
            allowed: format!(
                "at least one full packet, {full} B with its headers (tcp.mss, framing)"
            )
            .into(),
        }
    }
}

fn shown(limit: Limit) -> String {
    match limit {
        Limit::Packets(1) => "1 packet".to_owned(),
        Limit::Packets(packets) => format!("{packets} packets"),
        Limit::Bytes(bytes) => format!("{bytes} B"),
    }
}
