//! Custom queue discipline: a FIFO that drops from its front. A full queue drops its oldest packet, not the newest one.
//! The sender therefore detects the loss earlier, by the time that a packet spends in the full queue.
//!
//! Run it with `cargo run --release --example own_queue`.

use std::collections::VecDeque;
use tailcut_scenario::sim::fabric::queue::{
    BuildDiscipline, Dequeued, DropReason, Fate, QueueConfig, QueueDiscipline, Verdict,
};
use tailcut_scenario::sim::fabric::{Packet, PacketId};
use tailcut_scenario::sim::{NamedQueue, Registered};
use tailcut_scenario::units::Time;
use tailcut_scenario::{Scenario, Study, Workers};

#[derive(Debug)]
struct DropFront {
    /// Capacity of the queue, in bytes on the wire.
    limit: u64,
    queued: VecDeque<PacketId>,
    bytes: u64,
}

impl QueueDiscipline for DropFront {
    fn enqueue(&mut self, _now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        self.queued.push_back(id);
        self.bytes += u64::from(packets[id.0 as usize].size);
        let mut verdict = Verdict::from(Fate::Queued);
        // All large packets have the same size, so one dropped packet makes room for the new packet.
        if self.bytes > self.limit
            && let Some(oldest) = self.queued.pop_front()
        {
            self.bytes -= u64::from(packets[oldest.0 as usize].size);
            let dropped = Fate::Dropped(DropReason::QueueFull);
            match oldest == id {
                true => verdict.arrival = dropped,
                false => verdict.displaced = Some((oldest, dropped)),
            }
        }
        verdict
    }

    fn dequeue(&mut self, _now: Time, packets: &mut [Packet]) -> Dequeued {
        let Some(id) = self.queued.pop_front() else {
            return Dequeued::Empty;
        };
        self.bytes -= u64::from(packets[id.0 as usize].size);
        Dequeued::Packet(id)
    }

    fn backlog_packets(&self) -> u32 {
        self.queued.len() as u32
    }

    fn backlog_bytes(&self) -> u64 {
        self.bytes
    }
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limit = 100_000;
    let about = "FIFO that drops from its front";
    NamedQueue::new("drop-front", about, move |_port, _values| {
        QueueConfig::Custom(BuildDiscipline::new(move |_seed| DropFront {
            limit,
            queued: VecDeque::new(),
            bytes: 0,
        }))
    })
    .register()?;

    let scenario = Scenario::from_text(
        r#"
        designs = ["tcp", "tcp:queue.discipline=drop-front"]
        loads = 0.7
        flows = 400
        [topology]
        kind = "leaf-spine"
        leaves = 2
        spines = 2
        hosts = 8
        "#,
    )?;
    for record in Study::of(&scenario)?.run(&Workers::default())? {
        let times = record.flows.iter().filter_map(|flow| flow.fct);
        let mean = times.map(|time| time.as_secs_f64()).sum::<f64>() / record.flows.len() as f64;
        let (design, totals) = (&record.key.design, &record.totals);
        println!("{design}: mean {:.2} ms, {:?}", mean * 1e3, totals.drops);
        assert!(record.flows.iter().all(|flow| flow.fct.is_some()));
    }
    Ok(())
}
