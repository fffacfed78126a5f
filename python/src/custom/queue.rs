//! Queue discipline that is written in Python. The queue itself is a FIFO in Rust.
//! Python decides which packets are dropped and marked.

use super::{Failure, Slot, named_copy, reports_to};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;
use tailcut_scenario::sim::fabric::queue::{
    BuildDiscipline, Dequeued, DropReason, Fate, QueueConfig, QueueDiscipline, Verdict,
};
use tailcut_scenario::sim::fabric::{Ecn, Packet, PacketId};
use tailcut_scenario::sim::{Design, NameError, PortBuffer, Ports, Registered};
use tailcut_scenario::units::Time;

#[derive(Debug)]
struct Queue {
    /// Method of the object; `None` if the object could not be created.
    enqueue: Option<Py<PyAny>>,
    /// Method `dequeue` of the object, if the class has one.
    dequeue: Option<Py<PyAny>>,
    limit: u64,
    /// Queued bytes up to which a packet is queued without a call of `enqueue`. `None`: every packet causes a call.
    ask_above: Option<u64>,
    queued: VecDeque<(PacketId, Time)>,
    bytes: u64,
    failure: Arc<Failure>,
}

/// Decision of the Python class about a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    Queue,
    Mark,
    Drop,
    DropFront,
}

impl Decision {
    fn of(decision: &Bound<'_, PyAny>) -> PyResult<Self> {
        if decision.is_none() {
            return Ok(Self::Queue);
        }
        if let Ok(takes_it) = decision.cast::<pyo3::types::PyBool>() {
            return Ok(if takes_it.is_true() {
                Self::Queue
            } else {
                Self::Drop
            });
        }
        match decision.extract::<u8>() {
            Ok(0) => Ok(Self::Queue),
            Ok(1) => Ok(Self::Mark),
            Ok(2) => Ok(Self::Drop),
            Ok(3) => Ok(Self::DropFront),
            _ => Err(PyValueError::new_err(format!(
                "a queue returned {}; allowed: tailcut.QUEUE, MARK, DROP, DROP_FRONT, True, False, None",
                decision.repr()?
            ))),
        }
    }
}

impl Queue {
    fn new(slot: &Slot, rate_bps: u64, seed: u64) -> Self {
        let failure = reports_to();
        let made = failure.catch(|py| {
            let part = slot.make(py, &[("rate_bps", rate_bps), ("seed", seed)])?;
            let limit = part.getattr("limit")?.extract::<Option<u64>>()?;
            let ask_above = part.getattr("ask_above")?.extract::<Option<u64>>()?;
            let base = py.import("tailcut")?.getattr("Queue")?.getattr("dequeue")?;
            let asks = !part.get_type().getattr("dequeue")?.is(&base);
            let dequeue = if asks {
                Some(part.getattr("dequeue")?.unbind())
            } else {
                None
            };
            let enqueue = part.getattr("enqueue")?.unbind();
            Ok((enqueue, dequeue, limit, ask_above))
        });
        let (enqueue, dequeue, limit, ask_above) = match made {
            Some((enqueue, dequeue, limit, ask_above)) => {
                (Some(enqueue), dequeue, limit, ask_above)
            }
            None => (None, None, None, None),
        };
        Self {
            enqueue,
            dequeue,
            limit: limit.unwrap_or(u64::MAX),
            ask_above,
            queued: VecDeque::new(),
            bytes: 0,
            failure,
        }
    }

    fn take(&mut self, packets: &[Packet]) -> Option<(PacketId, Time)> {
        let first = self.queued.pop_front()?;
        self.bytes -= size(first.0, packets);
        Some(first)
    }
}

fn size(id: PacketId, packets: &[Packet]) -> u64 {
    packets[id.0 as usize].size.into()
}

/// Marks a packet, if the packet's transport supports marks.
fn mark(id: PacketId, packets: &mut [Packet]) -> Fate {
    let packet = &mut packets[id.0 as usize];
    if !packet.ecn.is_markable() {
        return Fate::Queued;
    }
    packet.ecn = Ecn::Marked;
    Fate::Marked
}

impl QueueDiscipline for Queue {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        const FULL: Fate = Fate::Dropped(DropReason::QueueFull);
        let length = size(id, packets);
        if self.bytes + length > self.limit {
            return FULL.into();
        }
        let markable = packets[id.0 as usize].ecn.is_markable();
        let arguments = (now.as_ns(), self.bytes, length, markable);
        let decision = match self.ask_above {
            Some(ask_above) if self.bytes <= ask_above => Some(Decision::Queue),
            _ => self.enqueue.as_ref().and_then(|enqueue| {
                self.failure
                    .catch(|py| Decision::of(enqueue.call1(py, arguments)?.bind(py)))
            }),
        };
        let mut verdict = Verdict::from(Fate::Queued);
        match decision.unwrap_or(Decision::Drop) {
            Decision::Drop => return FULL.into(),
            Decision::Mark => verdict.arrival = mark(id, packets),
            Decision::DropFront => match self.take(packets) {
                Some((oldest, _)) => verdict.displaced = Some((oldest, FULL)),
                None => return FULL.into(),
            },
            Decision::Queue => {}
        }
        self.queued.push_back((id, now));
        self.bytes += length;
        verdict
    }

    fn dequeue(&mut self, now: Time, packets: &mut [Packet]) -> Dequeued {
        let backlog = self.bytes;
        let Some((id, since)) = self.take(packets) else {
            return Dequeued::Empty;
        };
        let Some(dequeue) = &self.dequeue else {
            return Dequeued::Packet(id);
        };
        let arguments = (
            now.as_ns(),
            backlog,
            size(id, packets),
            now.since(since).as_ns(),
        );
        let decision = self
            .failure
            .catch(|py| Decision::of(dequeue.call1(py, arguments)?.bind(py)));
        match decision.unwrap_or(Decision::Queue) {
            Decision::Queue => Dequeued::Packet(id),
            Decision::Mark => {
                mark(id, packets);
                Dequeued::Packet(id)
            }
            Decision::Drop | Decision::DropFront => Dequeued::Drop(id, DropReason::ActiveQueue),
        }
    }

    fn backlog_packets(&self) -> u32 {
        self.queued.len() as u32
    }

    fn backlog_bytes(&self) -> u64 {
        self.bytes
    }

    fn remove(
        &mut self,
        packets: &[Packet],
        matches: &mut dyn FnMut(PacketId) -> bool,
        removed: &mut Vec<PacketId>,
    ) {
        let bytes = &mut self.bytes;
        self.queued.retain(|&(id, _)| {
            let goes = matches(id);
            if goes {
                *bytes -= size(id, packets);
                removed.push(id);
            }
            !goes
        });
    }
}

pub fn register(slot: &'static Slot, about: &'static str, like: &Design) -> Result<(), NameError> {
    Design {
        ports: Ports::own("its queue is in Python", move |_, _| {
            move |port: &PortBuffer| {
                let rate = port.rate.as_bps();
                QueueConfig::Custom(BuildDiscipline::new(move |seed| {
                    Queue::new(slot, rate, seed)
                }))
            }
        }),
        ..named_copy(slot, about, like)
    }
    .register()
}
