//! Records to tables and back: the names, order and units of every column.

use crate::table::{Kind, Same, Schema, Table};
use crate::{
    FlowRecord, LinkSample, ParameterValue, QueueSample, RequestRecord, RunKey, SessionEnd,
    SessionOperation, SessionRecord, Straggling,
};
use std::sync::Arc;
use tailcut_units::{Bytes, Duration, FlowId, HostId, Time};

pub(crate) const FLOWS: &Schema = &[
    ("flow", Kind::Integer),
    ("design", Kind::Text),
    ("src", Kind::Integer),
    ("dst", Kind::Integer),
    ("bytes", Kind::Integer),
    ("start_ns", Kind::Integer),
    ("fct_ns", Kind::Optional),
    ("ideal_fct_ns", Kind::Integer),
    ("retransmissions", Kind::Integer),
    ("timeouts", Kind::Integer),
    ("copies", Kind::Integer),
    ("class", Kind::Text),
    ("handshake_ns", Kind::Optional),
    ("payload_sent_bytes", Kind::Integer),
];

pub(crate) const REQUESTS: &Schema = &[
    ("request", Kind::Integer),
    ("design", Kind::Text),
    ("client", Kind::Integer),
    ("server", Kind::Integer),
    ("bytes", Kind::Integer),
    ("start_ns", Kind::Integer),
    ("latency_ns", Kind::Optional),
    ("copies", Kind::Integer),
    ("winner", Kind::Optional),
    ("sent_bytes", Kind::Integer),
    ("wasted_bytes", Kind::Integer),
    ("service_ns", Kind::Integer),
    ("purged", Kind::Integer),
    ("purge_ns", Kind::Optional),
];

pub(crate) const SESSIONS: &Schema = &[
    ("session", Kind::Integer),
    ("operation", Kind::Text),
    ("client", Kind::Integer),
    ("receiver", Kind::Integer),
    ("bytes", Kind::Integer),
    ("start_ns", Kind::Integer),
    ("completion_ns", Kind::Optional),
    ("symbols", Kind::Integer),
    ("in_vain", Kind::Integer),
    ("late", Kind::Integer),
    ("straggling", Kind::Text),
    ("end", Kind::Text),
    ("missing_bytes", Kind::Optional),
    ("class", Kind::Text),
];

pub(crate) const QUEUES: &Schema = &[
    ("time_ns", Kind::Integer),
    ("port", Kind::Integer),
    ("backlog_bytes", Kind::Integer),
    ("packets", Kind::Integer),
];

pub(crate) const LINKS: &Schema = &[
    ("time_ns", Kind::Integer),
    ("link", Kind::Integer),
    ("bytes", Kind::Integer),
    ("utilisation", Kind::Real),
];

/// The table with what tells its run apart from others, the same in every row: design, load, seed and
/// what the study sweeps.
pub(crate) fn with_run(table: Table, key: &RunKey) -> Table {
    let integer = |value| Same::Integer(i64::try_from(value).unwrap_or(i64::MAX));
    let names_design = table.columns.iter().any(|column| column.name == "design");
    let table = match names_design {
        true => table,
        false => table.same("design", Same::Text(Arc::from(&*key.design))),
    };
    let table = table.same("load", Same::Real(key.load));
    let table = table.same("seed", integer(key.seed));
    key.parameters.iter().fold(table, |table, parameter| {
        let value = match &parameter.value {
            ParameterValue::Integer(value) => integer(*value),
            ParameterValue::Real(value) => Same::Real(Some(*value)),
            ParameterValue::Text(text) => Same::Text(Arc::from(&**text)),
        };
        table.same(parameter.column(), value)
    })
}

pub(crate) fn flows_table(key: &RunKey, names: &[String], flows: &[FlowRecord]) -> Table {
    let design: Arc<str> = Arc::from(&*key.design);
    let flows = || flows.iter();
    Table::default()
        .integer("flow", flows().map(|f| u64::from(f.flow.0)))
        .text("design", flows().map(|_| Arc::clone(&design)))
        .integer("src", flows().map(|f| u64::from(f.src.0)))
        .integer("dst", flows().map(|f| u64::from(f.dst.0)))
        .integer("bytes", flows().map(|f| f.bytes.0))
        .integer("start_ns", flows().map(|f| f.start.as_ns()))
        .optional("fct_ns", flows().map(|f| f.fct.map(Duration::as_ns)))
        .integer("ideal_fct_ns", flows().map(|f| f.ideal_fct.as_ns()))
        .integer(
            "retransmissions",
            flows().map(|f| u64::from(f.retransmissions)),
        )
        .integer("timeouts", flows().map(|f| u64::from(f.timeouts)))
        .integer("copies", flows().map(|f| u64::from(f.copies)))
        .text("class", classes(names, flows().map(|f| f.class)))
        .optional(
            "handshake_ns",
            flows().map(|f| f.handshake.map(Duration::as_ns)),
        )
        .integer("payload_sent_bytes", flows().map(|f| f.payload_sent.0))
}

/// The names of classes, given by their numbers.
fn classes(names: &[String], numbers: impl Iterator<Item = u8>) -> impl Iterator<Item = Arc<str>> {
    let names: Vec<Arc<str>> = names.iter().map(|name| Arc::from(&**name)).collect();
    numbers.map(move |class| match names.get(usize::from(class)) {
        Some(name) => Arc::clone(name),
        None => Arc::from(format!("class{class}")),
    })
}

/// The number of the class called `name`; one that `classes` lacks is added to it.
fn class_number(name: &str, classes: &mut Vec<String>) -> Result<u8, String> {
    let known = classes.iter().position(|class| class == name);
    let number = known.unwrap_or_else(|| {
        classes.push(name.to_owned());
        classes.len() - 1
    });
    u8::try_from(number).map_err(|_| "more than 256 classes".to_owned())
}

pub(crate) fn sessions_table(names: &[String], sessions: &[SessionRecord]) -> Table {
    let rows = || sessions.iter();
    let text = |name: &'static str| Arc::<str>::from(name);
    Table::default()
        .integer("session", rows().map(|s| u64::from(s.session)))
        .text("operation", rows().map(|s| text(s.operation.name())))
        .integer("client", rows().map(|s| u64::from(s.client.0)))
        .integer("receiver", rows().map(|s| u64::from(s.receiver.0)))
        .integer("bytes", rows().map(|s| s.bytes.0))
        .integer("start_ns", rows().map(|s| s.start.as_ns()))
        .optional(
            "completion_ns",
            rows().map(|s| s.completion.map(Duration::as_ns)),
        )
        .integer("symbols", rows().map(|s| u64::from(s.symbols)))
        .integer("in_vain", rows().map(|s| u64::from(s.in_vain)))
        .integer("late", rows().map(|s| u64::from(s.late)))
        .text("straggling", rows().map(|s| text(s.straggling.name())))
        .text("end", rows().map(|s| text(s.end.name())))
        .optional("missing_bytes", rows().map(|s| s.missing.map(|b| b.0)))
        .text("class", classes(names, rows().map(|s| s.class)))
}

/// The sessions of a table of [`SESSIONS`]; a class that `classes` lacks is added to it.
pub(crate) fn sessions_from(
    table: &Table,
    classes: &mut Vec<String>,
) -> Result<Vec<SessionRecord>, String> {
    let operations = [SessionOperation::Write, SessionOperation::Read];
    let unknown = |index: usize, name: &str| format!("row {index}: \"{name}\" is unknown");
    (0..table.rows())
        .map(|index| {
            let row = Row { table, index };
            let [operation, straggling, end, class] =
                [1, 10, 11, 13].map(|at| &*table.texts(at)[index]);
            Ok(SessionRecord {
                session: row.u32(0)?,
                operation: operations
                    .into_iter()
                    .find(|known| known.name() == operation)
                    .ok_or_else(|| unknown(index, operation))?,
                client: HostId(row.u32(2)?),
                receiver: HostId(row.u32(3)?),
                bytes: Bytes(row.u64(4)?),
                start: Time::from_ns(row.u64(5)?),
                completion: row.optional(6)?.map(Duration::from_ns),
                symbols: row.u32(7)?,
                in_vain: row.u32(8)?,
                late: row.u32(9)?,
                straggling: Straggling::ALL
                    .into_iter()
                    .find(|known| known.name() == straggling)
                    .ok_or_else(|| unknown(index, straggling))?,
                end: SessionEnd::ALL
                    .into_iter()
                    .find(|known| known.name() == end)
                    .ok_or_else(|| unknown(index, end))?,
                missing: row.optional(12)?.map(Bytes),
                class: class_number(class, classes)?,
            })
        })
        .collect()
}

/// The flows of a table of [`FLOWS`]; a class that `classes` lacks is added to it.
pub(crate) fn flows_from(
    table: &Table,
    classes: &mut Vec<String>,
) -> Result<Vec<FlowRecord>, String> {
    let row = |index: usize| Row { table, index };
    let class_names = table.texts(11);
    (0..table.rows())
        .map(|index| {
            let row = row(index);
            Ok(FlowRecord {
                flow: FlowId(row.u32(0)?),
                src: HostId(row.u32(2)?),
                dst: HostId(row.u32(3)?),
                bytes: Bytes(row.u64(4)?),
                start: Time::from_ns(row.u64(5)?),
                fct: row.optional(6)?.map(Duration::from_ns),
                ideal_fct: Duration::from_ns(row.u64(7)?),
                retransmissions: row.u32(8)?,
                timeouts: row.u32(9)?,
                copies: row.u32(10)?,
                class: class_number(&class_names[index], classes)?,
                handshake: row.optional(12)?.map(Duration::from_ns),
                payload_sent: Bytes(row.u64(13)?),
            })
        })
        .collect()
}

pub(crate) fn requests_table(key: &RunKey, requests: &[RequestRecord]) -> Table {
    let design: Arc<str> = Arc::from(&*key.design);
    let requests = || requests.iter();
    Table::default()
        .integer("request", requests().map(|r| u64::from(r.request)))
        .text("design", requests().map(|_| Arc::clone(&design)))
        .integer("client", requests().map(|r| u64::from(r.client.0)))
        .integer("server", requests().map(|r| u64::from(r.server.0)))
        .integer("bytes", requests().map(|r| r.bytes.0))
        .integer("start_ns", requests().map(|r| r.start.as_ns()))
        .optional(
            "latency_ns",
            requests().map(|r| r.latency.map(Duration::as_ns)),
        )
        .integer("copies", requests().map(|r| u64::from(r.copies)))
        .optional("winner", requests().map(|r| r.winner.map(u64::from)))
        .integer("sent_bytes", requests().map(|r| r.sent.0))
        .integer("wasted_bytes", requests().map(|r| r.wasted.0))
        .integer("service_ns", requests().map(|r| r.service.as_ns()))
        .integer("purged", requests().map(|r| u64::from(r.purged)))
        .optional("purge_ns", requests().map(|r| r.purge.map(Duration::as_ns)))
}

pub(crate) fn requests_from(table: &Table) -> Result<Vec<RequestRecord>, String> {
    (0..table.rows())
        .map(|index| {
            let row = Row { table, index };
            let winner = row.optional(8)?.map(u32::try_from).transpose();
            Ok(RequestRecord {
                request: row.u32(0)?,
                client: HostId(row.u32(2)?),
                server: HostId(row.u32(3)?),
                bytes: Bytes(row.u64(4)?),
                start: Time::from_ns(row.u64(5)?),
                latency: row.optional(6)?.map(Duration::from_ns),
                copies: row.u32(7)?,
                winner: winner.map_err(|_| format!("row {index}: winner out of range"))?,
                sent: Bytes(row.u64(9)?),
                wasted: Bytes(row.u64(10)?),
                service: Duration::from_ns(row.u64(11)?),
                purged: row.u32(12)?,
                purge: row.optional(13)?.map(Duration::from_ns),
            })
        })
        .collect()
}

pub(crate) fn queues_table(samples: &[QueueSample]) -> Table {
    Table::default()
        .integer("time_ns", samples.iter().map(|s| s.time.as_ns()))
        .integer("port", samples.iter().map(|s| u64::from(s.port)))
        .integer("backlog_bytes", samples.iter().map(|s| s.backlog.0))
        .integer("packets", samples.iter().map(|s| u64::from(s.packets)))
}

pub(crate) fn queues_from(table: &Table) -> Result<Vec<QueueSample>, String> {
    (0..table.rows())
        .map(|index| {
            let row = Row { table, index };
            Ok(QueueSample {
                time: Time::from_ns(row.u64(0)?),
                port: row.u32(1)?,
                backlog: Bytes(row.u64(2)?),
                packets: row.u32(3)?,
            })
        })
        .collect()
}

pub(crate) fn links_table(samples: &[LinkSample]) -> Table {
    Table::default()
        .integer("time_ns", samples.iter().map(|s| s.time.as_ns()))
        .integer("link", samples.iter().map(|s| u64::from(s.link)))
        .integer("bytes", samples.iter().map(|s| s.bytes.0))
        .real("utilisation", samples.iter().map(|s| s.utilisation))
}

pub(crate) fn links_from(table: &Table) -> Result<Vec<LinkSample>, String> {
    let utilisation = table.reals(3);
    (0..table.rows())
        .map(|index| {
            let row = Row { table, index };
            Ok(LinkSample {
                time: Time::from_ns(row.u64(0)?),
                link: row.u32(1)?,
                bytes: Bytes(row.u64(2)?),
                utilisation: utilisation[index],
            })
        })
        .collect()
}

/// One row of a table, read with its ranges checked.
pub(crate) struct Row<'a> {
    pub table: &'a Table,
    pub index: usize,
}

impl Row<'_> {
    pub fn u64(&self, column: usize) -> Result<u64, String> {
        let value = self.table.integers(column)[self.index];
        u64::try_from(value).map_err(|_| self.out_of_range(column, value))
    }

    pub fn u32(&self, column: usize) -> Result<u32, String> {
        let value = self.table.integers(column)[self.index];
        u32::try_from(value).map_err(|_| self.out_of_range(column, value))
    }

    pub fn u8(&self, column: usize) -> Result<u8, String> {
        let value = self.table.integers(column)[self.index];
        u8::try_from(value).map_err(|_| self.out_of_range(column, value))
    }

    pub fn optional(&self, column: usize) -> Result<Option<u64>, String> {
        self.table.optionals(column)[self.index]
            .map(|value| u64::try_from(value).map_err(|_| self.out_of_range(column, value)))
            .transpose()
    }

    fn out_of_range(&self, column: usize, value: i64) -> String {
        let name = &self.table.columns[column].name;
        format!("row {}: {name} is {value}, out of range", self.index)
    }
}
