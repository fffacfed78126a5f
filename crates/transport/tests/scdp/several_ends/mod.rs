//! Tests of SCDP with several receivers or several senders.

mod read;
mod write;

use crate::hub::{Fate, Hub, message};
use crate::scdp_parts::{T, header};
use std::collections::BTreeSet;
use std::ops::RangeBounds;
use tailcut_transport::scdp::{DecodeSpeed, Host, ModelCodec, ScdpConfig, ScdpHeader, ScdpKind};
use tailcut_transport::{
    Condition, Event, FlowStats, Part, Receipt, Segment, Share, Straggler, StragglerPolicy,
    Stragglers,
};
use tailcut_units::{Duration, FlowId, HostId, Rate, Time};

/// Size of the object in bytes: 7 blocks of 98 symbols.
const OBJECT: u64 = 686 * T;

fn hub(count: u32) -> Hub<Host<ModelCodec>> {
    let host = |id| {
        let codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), u64::from(id));
        Host::new(HostId(id), ScdpConfig::default(), codec).expect("a valid configuration")
    };
    Hub::new((0..count).map(host).collect())
}

const fn patient(policy: StragglerPolicy) -> Stragglers {
    Stragglers {
        after: Duration::from_ms(10),
        policy,
    }
}

/// Host 0 writes `bytes` to all other hosts.
fn write(hub: &mut Hub<Host<ModelCodec>>, bytes: u64, policy: StragglerPolicy) -> HostId {
    let receivers: Vec<HostId> = (1..hub.hosts.len() as u32).map(HostId).collect();
    let group = hub.form_group(&receivers);
    hub.take_part(
        0,
        Part::Spread {
            message: message(0, group, bytes),
            receivers: &receivers,
            stragglers: patient(policy),
        },
    );
    group
}

/// Host 0 reads `bytes` from all other hosts. Host n sends flow n.
fn read(hub: &mut Hub<Host<ModelCodec>>, bytes: u64) {
    let port = 2_000;
    hub.take_part(
        0,
        Part::Collect {
            flow: FlowId(0),
            port,
        },
    );
    let of = hub.hosts.len() as u16 - 1;
    for index in 0..of {
        hub.take_part(
            usize::from(index) + 1,
            Part::Share {
                message: message(u32::from(index) + 1, HostId(0), bytes),
                port,
                share: Share { index, of },
            },
        );
    }
}

fn is_symbol(segment: &Segment) -> bool {
    header(segment).kind == ScdpKind::Symbol
}

/// Returns the blocks and identifiers of the symbols that `host` sent.
fn symbols(hub: &Hub<Host<ModelCodec>>, host: usize) -> Vec<(u32, u32)> {
    let of_host = hub.sent.iter().filter(|(_, from, _)| *from == host);
    of_host
        .filter(|(_, _, segment)| is_symbol(segment))
        .map(|(_, _, segment)| (header(segment).block, header(segment).esi))
        .collect()
}

/// Returns a fault that trims symbols for one host, if their header satisfies a condition.
fn trimmed_for(
    host: usize,
    is_such: impl Fn(ScdpHeader) -> bool,
) -> impl FnMut(Time, usize, &Segment) -> Fate {
    move |_, to, segment| {
        if to == host && is_symbol(segment) && is_such(header(segment)) {
            Fate::Trim
        } else {
            Fate::Deliver
        }
    }
}

fn receipt(hub: &Hub<Host<ModelCodec>>, host: usize) -> Receipt {
    let found = hub.events.iter().find_map(|(_, at, event)| match event {
        Event::Received(_, receipt) if *at == host => Some(*receipt),
        _ => None,
    });
    found.expect("a receipt")
}

fn stragglers(hub: &Hub<Host<ModelCodec>>) -> Vec<Straggler> {
    let found = hub.events.iter().filter_map(|(_, _, event)| match event {
        Event::Straggling(_, straggler) => Some(*straggler),
        _ => None,
    });
    found.collect()
}

fn all_released(hub: &Hub<Host<ModelCodec>>) {
    for (number, host) in hub.hosts.iter().enumerate() {
        assert_eq!(host.open_sessions(), 0, "at host {number}");
    }
}

/// Returns a fault that loses all segments to and from host 3 during a time.
fn host_3_silent(during: impl RangeBounds<Time>) -> impl FnMut(Time, usize, &Segment) -> Fate {
    move |at, to, segment| {
        let of_host_3 = to == 3 || segment.tuple.src == HostId(3);
        if of_host_3 && during.contains(&at) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    }
}

/// Time at which host 3 fails, in the tests of a failed receiver.
const DEATH: Time = Time::from_ns(200_000);
