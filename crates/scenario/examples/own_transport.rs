//! Custom transport: it sends every packet once, at the rate of the link, and retransmits nothing.
//!
//! Run it with `cargo run --release --example own_transport`.

use std::collections::{BTreeMap, VecDeque};
use tailcut_scenario::sim::transport::{Event, FlowStats, Header, Message, Segment, Transport};
use tailcut_scenario::sim::{Design, HostSeat, Hosts, Registered};
use tailcut_scenario::units::{FiveTuple, FlowId, HostId, Protocol, Time};
use tailcut_scenario::{Scenario, Study, Workers};

#[derive(Default)]
struct Blast {
    host: HostId,
    mss: u64,
    /// Messages with bytes left to send, and the counters of each.
    sending: VecDeque<(Message, FlowStats)>,
    /// Bytes received, by flow.
    received: BTreeMap<FlowId, u64>,
    events: VecDeque<Event>,
}

impl Transport for Blast {
    fn submit(&mut self, _now: Time, message: Message) {
        self.sending.push_back((message, FlowStats::default()));
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Segment> {
        let (message, stats) = self.sending.front_mut()?;
        let message = *message;
        let payload = self.mss.min(message.bytes - stats.payload_sent);
        stats.payload_sent += payload;
        if stats.payload_sent == message.bytes {
            self.events.push_back(Event::Closed(message.flow, *stats));
            self.sending.pop_front();
        }
        let tuple = FiveTuple {
            src: self.host,
            dst: message.dst,
            src_port: 1_024 + (message.flow.0 % 60_000) as u16,
            dst_port: 7,
            protocol: Protocol::Udp,
        };
        // The receiver needs the size of the flow to detect the flow's end.
        let header = Header::Own([message.bytes, 0, 0, 0]);
        Some(Segment::new(tuple, message.flow, payload as u32, header))
    }

    fn on_segment(&mut self, _now: Time, segment: Segment) {
        let Header::Own([bytes, ..]) = segment.header else {
            return;
        };
        let received = self.received.entry(segment.flow).or_default();
        *received += u64::from(segment.payload);
        if *received == bytes {
            self.events.push_back(Event::Completed(segment.flow));
        }
    }

    fn has_transmit(&self) -> bool {
        !self.sending.is_empty()
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
    fn on_timeout(&mut self, _now: Time) {}
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        let open = self.sending.iter();
        open.map(|(message, stats)| (message.flow, *stats))
            .collect()
    }
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = |seat: &HostSeat<'_>| {
        let mut blast = Blast::default();
        (blast.host, blast.mss) = (seat.host, seat.framing.payload.into());
        Ok(blast)
    };
    Design {
        name: "blast",
        summary: "every packet at the link's rate, and none again",
        handshake: false,
        hosts: Hosts::own(move |_run| Ok(host)),
        ..Design::over_tcp()
    }
    .register()?;
    let scenario = Scenario::from_text("designs = [\"tcp\", \"blast\"]\nloads = 0.2\nflows = 200")?
        .with("queue.limit", "100MB")?;
    for record in Study::of(&scenario)?.run(&Workers::default())? {
        let done = record.flows.iter().flat_map(|flow| flow.fct).count();
        println!("{}: {done} flows", record.key.design);
        assert_eq!(done, record.flows.len(), "no packet is dropped");
    }
    Ok(())
}
