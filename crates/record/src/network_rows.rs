//! The network to tables and back: its ports, nodes, links, and links in trouble.

use crate::rows::Row;
use crate::table::{Kind, Schema, Table};
use crate::{LinkFailure, LinkTrouble, NodeKind, NodeRecord, PortTotals, TopologyLink};
use std::collections::HashMap;
use std::sync::Arc;
use tailcut_units::{Bytes, Duration, Rate, Time};

pub(crate) const PORTS: &Schema = &[
    ("port", Kind::Integer),
    ("name", Kind::Text),
    ("packets", Kind::Integer),
    ("bytes", Kind::Integer),
    ("dropped", Kind::Integer),
    ("marked", Kind::Integer),
    ("max_backlog_bytes", Kind::Integer),
];

pub(crate) const NODES: &Schema = &[
    ("kind", Kind::Text),
    ("number", Kind::Integer),
    ("name", Kind::Text),
    ("label", Kind::Text),
    ("tier", Kind::Integer),
];

pub(crate) const TOPOLOGY: &Schema = &[
    ("port", Kind::Integer),
    ("from", Kind::Text),
    ("to", Kind::Text),
    ("from_tier", Kind::Integer),
    ("to_tier", Kind::Integer),
    ("rate_bps", Kind::Integer),
    ("delay_ns", Kind::Integer),
];

pub(crate) const LOSSES: &Schema = &[
    ("link", Kind::Integer),
    ("loss_ppb", Kind::Integer),
    ("from_ns", Kind::Integer),
    ("until_ns", Kind::Optional),
];

pub(crate) const FAILURES: &Schema = &[
    ("link", Kind::Integer),
    ("rate_bps", Kind::Optional),
    ("from_ns", Kind::Integer),
    ("until_ns", Kind::Optional),
];

/// What links are called, by the ports that feed them: `leaf[0]>spine[1]`.
pub(crate) struct LinkNames(HashMap<u32, Arc<str>>);

impl LinkNames {
    pub fn of(links: &[TopologyLink]) -> Self {
        let named = |link: &TopologyLink| (link.port, format!("{}>{}", link.from, link.to).into());
        Self(links.iter().map(named).collect())
    }

    /// The table with a column of names; as it is where no name is known.
    fn column(&self, table: Table, name: &'static str, ports: impl Iterator<Item = u32>) -> Table {
        if self.0.is_empty() {
            return table;
        }
        let none: Arc<str> = Arc::from("");
        let name_of = |port| Arc::clone(self.0.get(&port).unwrap_or(&none));
        table.text(name, ports.map(name_of))
    }
}

/// Ports, with the names of the links that they feed behind all else.
pub(crate) fn ports_table(ports: &[PortTotals], links: &LinkNames) -> Table {
    let table = Table::default()
        .integer("port", ports.iter().map(|p| u64::from(p.port)))
        .text("name", ports.iter().map(|p| Arc::from(&*p.name)))
        .integer("packets", ports.iter().map(|p| p.packets))
        .integer("bytes", ports.iter().map(|p| p.bytes.0))
        .integer("dropped", ports.iter().map(|p| p.dropped))
        .integer("marked", ports.iter().map(|p| p.marked))
        .integer("max_backlog_bytes", ports.iter().map(|p| p.max_backlog.0));
    links.column(table, "port.name", ports.iter().map(|p| p.port))
}

pub(crate) fn ports_from(table: &Table) -> Result<Vec<PortTotals>, String> {
    let names = table.texts(1);
    (0..table.rows())
        .map(|index| {
            let row = Row { table, index };
            Ok(PortTotals {
                port: row.u32(0)?,
                name: names[index].to_string(),
                packets: row.u64(2)?,
                bytes: Bytes(row.u64(3)?),
                dropped: row.u64(4)?,
                marked: row.u64(5)?,
                max_backlog: Bytes(row.u64(6)?),
            })
        })
        .collect()
}

pub(crate) fn nodes_table(nodes: &[NodeRecord]) -> Table {
    Table::default()
        .text("kind", nodes.iter().map(|n| Arc::from(n.kind.name())))
        .integer("number", nodes.iter().map(|n| u64::from(n.number)))
        .text("name", nodes.iter().map(|n| Arc::from(&*n.name)))
        .text("label", nodes.iter().map(|n| Arc::from(&*n.label)))
        .integer("tier", nodes.iter().map(|n| u64::from(n.tier)))
}

pub(crate) fn nodes_from(table: &Table) -> Result<Vec<NodeRecord>, String> {
    let (kinds, names, labels) = (table.texts(0), table.texts(2), table.texts(3));
    (0..table.rows())
        .map(|index| {
            let row = Row { table, index };
            let kind = NodeKind::ALL
                .into_iter()
                .find(|kind| kind.name() == &*kinds[index]);
            let unknown = || format!("row {index}: kind is {}, unknown", kinds[index]);
            Ok(NodeRecord {
                kind: kind.ok_or_else(unknown)?,
                number: row.u32(1)?,
                name: names[index].to_string(),
                label: labels[index].to_string(),
                tier: row.u8(4)?,
            })
        })
        .collect()
}

pub(crate) fn topology_table(links: &[TopologyLink]) -> Table {
    Table::default()
        .integer("port", links.iter().map(|l| u64::from(l.port)))
        .text("from", links.iter().map(|l| Arc::from(&*l.from)))
        .text("to", links.iter().map(|l| Arc::from(&*l.to)))
        .integer("from_tier", links.iter().map(|l| u64::from(l.from_tier)))
        .integer("to_tier", links.iter().map(|l| u64::from(l.to_tier)))
        .integer("rate_bps", links.iter().map(|l| l.rate.as_bps()))
        .integer("delay_ns", links.iter().map(|l| l.delay.as_ns()))
}

pub(crate) fn topology_from(table: &Table) -> Result<Vec<TopologyLink>, String> {
    let (from, to) = (table.texts(1), table.texts(2));
    (0..table.rows())
        .map(|index| {
            let row = Row { table, index };
            let rate = Rate::from_bps(row.u64(5)?);
            Ok(TopologyLink {
                port: row.u32(0)?,
                from: from[index].to_string(),
                to: to[index].to_string(),
                from_tier: row.u8(3)?,
                to_tier: row.u8(4)?,
                rate: rate.ok_or_else(|| format!("row {index}: rate_bps is 0, out of range"))?,
                delay: Duration::from_ns(row.u64(6)?),
            })
        })
        .collect()
}

/// Failures, with the names of their links behind all else.
pub(crate) fn failures_table(failures: &[LinkFailure], links: &LinkNames) -> Table {
    let table = Table::default()
        .integer("link", failures.iter().map(|f| u64::from(f.link)))
        .optional(
            "rate_bps",
            failures.iter().map(|f| f.trouble.rate().map(Rate::as_bps)),
        )
        .integer("from_ns", failures.iter().map(|f| f.from.as_ns()))
        .optional(
            "until_ns",
            failures.iter().map(|f| f.until.map(Time::as_ns)),
        );
    links.column(table, "link.name", failures.iter().map(|f| f.link))
}

pub(crate) fn failures_from(table: &Table) -> Result<Vec<LinkFailure>, String> {
    (0..table.rows())
        .map(|index| {
            let row = Row { table, index };
            let rate = |bps| {
                Rate::from_bps(bps)
                    .ok_or_else(|| format!("row {index}: rate_bps is 0, out of range"))
            };
            let slow = row.optional(1)?.map(rate).transpose()?;
            Ok(LinkFailure {
                link: row.u32(0)?,
                trouble: slow.map_or(LinkTrouble::Down, LinkTrouble::Slow),
                from: Time::from_ns(row.u64(2)?),
                until: row.optional(3)?.map(Time::from_ns),
            })
        })
        .collect()
}

/// Links that lose packets at random have a table of their own.
pub(crate) fn losses_table(failures: &[LinkFailure], links: &LinkNames) -> Table {
    let losses = failures.iter().filter_map(|f| f.trouble.loss());
    let table = Table::default()
        .integer("link", failures.iter().map(|f| u64::from(f.link)))
        .integer("loss_ppb", losses.map(u64::from))
        .integer("from_ns", failures.iter().map(|f| f.from.as_ns()))
        .optional(
            "until_ns",
            failures.iter().map(|f| f.until.map(Time::as_ns)),
        );
    links.column(table, "link.name", failures.iter().map(|f| f.link))
}

pub(crate) fn losses_from(table: &Table) -> Result<Vec<LinkFailure>, String> {
    (0..table.rows())
        .map(|index| {
            let row = Row { table, index };
            Ok(LinkFailure {
                link: row.u32(0)?,
                trouble: LinkTrouble::Lossy(row.u32(1)?),
                from: Time::from_ns(row.u64(2)?),
                until: row.optional(3)?.map(Time::from_ns),
            })
        })
        .collect()
}
