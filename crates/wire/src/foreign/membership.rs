//! Messages about the members of multicast groups: IGMP (RFC 2236, RFC 9776) and MLD (RFC 2710, RFC 9777).

use crate::codec::Reader;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const IGMP_QUERY: u8 = 0x11;
const IGMP_REPORT_V1: u8 = 0x12;
const IGMP_REPORT_V2: u8 = 0x16;
const IGMP_LEAVE: u8 = 0x17;
const IGMP_REPORT_V3: u8 = 0x22;
const MLD_QUERY: u8 = 130;
const MLD_REPORT: u8 = 131;
const MLD_DONE: u8 = 132;
const MLD_REPORT_V2: u8 = 143;

/// IGMP or MLD message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Membership<'a> {
    /// Query: a router requests reports about the members of groups.
    Query {
        /// Group that the query is about. `None` means all groups.
        group: Option<IpAddr>,
    },
    /// Report: a host reports its memberships.
    Report(Records<'a>),
}

/// Record about one group in a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Multicast group.
    pub group: IpAddr,
    /// Change of the membership.
    pub change: Change,
}

/// Change of a membership in a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The host is a member. It may receive packets from only some senders.
    Join,
    /// The host is not a member any more.
    Leave,
    /// The record does not show whether the host is a member.
    Neither,
}

/// Records of a report. The iterator stops at a record that is cut short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Records<'a> {
    first: Option<Record>,
    rest: &'a [u8],
    left: u16,
    is_ipv6: bool,
}

impl Records<'_> {
    const fn one(group: IpAddr, change: Change) -> Self {
        Self {
            first: Some(Record { group, change }),
            rest: &[],
            left: 0,
            is_ipv6: false,
        }
    }
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        if let Some(record) = self.first.take() {
            return Some(record);
        }
        self.left = self.left.checked_sub(1)?;
        let read = read_record(self.rest, self.is_ipv6);
        let Some((record, rest)) = read else {
            self.left = 0;
            return None;
        };
        self.rest = rest;
        Some(record)
    }
}

fn read_record(bytes: &[u8], is_ipv6: bool) -> Option<(Record, &[u8])> {
    let mut reader = Reader::new(bytes);
    let [kind, auxiliary] = reader.take().ok()?;
    let sources = reader.u16().ok()?;
    let (group, address) = match is_ipv6 {
        true => (Ipv6Addr::from(reader.take::<16>().ok()?).into(), 16),
        false => (Ipv4Addr::from(reader.take::<4>().ok()?).into(), 4),
    };
    let length = 4 + address * (1 + usize::from(sources)) + 4 * usize::from(auxiliary);
    let rest = bytes.get(length..)?;
    let change = match (kind, sources) {
        // Kinds 2 and 4: the host receives from all senders except the listed ones.
        // Kinds 1 and 3: the host receives only from the listed senders, so an empty list ends the membership.
        // Kind 5: the host also receives from additional senders.
        (2 | 4, _) => Change::Join,
        (1 | 3 | 5, 1..) => Change::Join,
        (1 | 3, 0) => Change::Leave,
        _ => Change::Neither,
    };
    Some((Record { group, change }, rest))
}

/// Decodes an IGMP message. Returns `None` if the type is unknown or the message is too short.
pub(super) fn igmp(message: &[u8]) -> Option<Membership<'_>> {
    let mut reader = Reader::new(message);
    let kind = reader.u8().ok()?;
    reader.take::<3>().ok()?;
    let group = reader.take::<4>().ok()?;
    let [_, _, high, low] = group;
    let address = IpAddr::from(Ipv4Addr::from(group));
    Some(match kind {
        IGMP_QUERY => Membership::Query {
            group: (!address.is_unspecified()).then_some(address),
        },
        IGMP_REPORT_V1 | IGMP_REPORT_V2 => Membership::Report(Records::one(address, Change::Join)),
        IGMP_LEAVE => Membership::Report(Records::one(address, Change::Leave)),
        IGMP_REPORT_V3 => Membership::Report(Records {
            first: None,
            rest: message.get(8..)?,
            left: u16::from_be_bytes([high, low]),
            is_ipv6: false,
        }),
        _ => return None,
    })
}

/// Decodes an MLD message. Returns `None` for any other ICMPv6 message, or if the message is too short.
pub(super) fn mld(message: &[u8]) -> Option<Membership<'_>> {
    let mut reader = Reader::new(message);
    let kind = reader.u8().ok()?;
    reader.take::<5>().ok()?;
    let left = reader.u16().ok()?;
    if kind == MLD_REPORT_V2 {
        return Some(Membership::Report(Records {
            first: None,
            rest: message.get(8..)?,
            left,
            is_ipv6: true,
        }));
    }
    if ![MLD_QUERY, MLD_REPORT, MLD_DONE].contains(&kind) {
        return None;
    }
    let group = IpAddr::from(Ipv6Addr::from(reader.take::<16>().ok()?));
    Some(match kind {
        MLD_QUERY => Membership::Query {
            group: (!group.is_unspecified()).then_some(group),
        },
        MLD_REPORT => Membership::Report(Records::one(group, Change::Join)),
        _ => Membership::Report(Records::one(group, Change::Leave)),
    })
}
