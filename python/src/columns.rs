//! The tables of runs as Arrow columns. Names, order and units are those of `docs/output.md`;
//! before them stand the columns that tell runs apart.

use crate::record::Finished;
use crate::summary;
use crate::swept::Swept;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, Field, Schema};
use std::sync::Arc;
use tailcut_scenario::record::{LinkFailure, RunKey, RunRecord, TopologyLink};
use tailcut_scenario::units::{Duration, Rate, Time};

/// A table that a study has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Runs,
    Flows,
    Requests,
    Sessions,
    Ports,
    Nodes,
    Topology,
    Failures,
    Losses,
    Queues,
    Links,
}

impl Kind {
    const ALL: [(&str, Self); 11] = [
        ("runs", Self::Runs),
        ("flows", Self::Flows),
        ("requests", Self::Requests),
        ("sessions", Self::Sessions),
        ("ports", Self::Ports),
        ("nodes", Self::Nodes),
        ("topology", Self::Topology),
        ("failures", Self::Failures),
        ("losses", Self::Losses),
        ("queues", Self::Queues),
        ("links", Self::Links),
    ];

    /// The table called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, kind)| *kind)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, kind)| *kind == self);
        named.map_or("", |(name, _)| name)
    }

    /// The rows of a run.
    pub fn rows(self, run: &RunRecord) -> usize {
        match self {
            Self::Runs => 1,
            Self::Flows => run.flows.len(),
            Self::Requests => run.requests.len(),
            Self::Sessions => run.sessions.len(),
            Self::Ports => run.ports.len(),
            Self::Nodes => run.nodes.len(),
            Self::Topology => run.topology.len(),
            Self::Failures => troubles(run, false).count(),
            Self::Losses => troubles(run, true).count(),
            Self::Queues => run.queues.len(),
            Self::Links => run.links.len(),
        }
    }

    /// The columns of a run that is the study's number `index`.
    ///
    /// # Errors
    /// None where all columns have as many rows.
    pub fn batch(
        self,
        index: usize,
        run: &Finished,
        swept: &[Swept],
    ) -> Result<RecordBatch, ArrowError> {
        let record = &run.record;
        let rows = self.rows(record);
        let columns = Columns::of(index, &record.key, rows);
        let columns = swept.iter().fold(columns, |columns, swept| {
            swept.column(columns, &record.key, rows)
        });
        let columns = match self {
            Self::Runs => summary::columns(columns, &run.summary),
            Self::Flows => flows(columns, record),
            Self::Requests => requests(columns, record),
            Self::Sessions => sessions(columns, record),
            Self::Ports => ports(columns, record),
            Self::Nodes => nodes(columns, record),
            Self::Topology => topology(columns, record),
            Self::Failures => failures(columns, record),
            Self::Losses => losses(columns, record),
            Self::Queues => queues(columns, record),
            Self::Links => links(columns, record),
        };
        columns.batch()
    }

    /// The columns of this table, whatever the runs.
    pub fn schema(self, swept: &[Swept]) -> Arc<Schema> {
        let empty = Finished::from(RunRecord::new(RunKey::default()));
        let batch = self.batch(0, &empty, swept);
        batch.map_or_else(|_| Arc::new(Schema::empty()), |batch| batch.schema())
    }
}

/// Columns that grow to the right.
pub struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    /// The columns that tell the runs of a study apart.
    fn of(index: usize, key: &RunKey, rows: usize) -> Self {
        let same = |text: &str| std::iter::repeat_n(text.to_owned(), rows).collect::<Vec<_>>();
        let none = Self {
            fields: Vec::new(),
            arrays: Vec::new(),
        };
        none.integer("run", std::iter::repeat_n(index as u64, rows))
            .text("design", same(&key.design))
            .text("topology", same(&key.topology))
            .text("workload", same(&key.workload))
            .optional_real("load", std::iter::repeat_n(key.load, rows))
            .integer("seed", std::iter::repeat_n(key.seed, rows))
    }

    fn push(mut self, name: &str, array: ArrayRef, nullable: bool) -> Self {
        let kind = array.data_type().clone();
        self.fields.push(Field::new(name, kind, nullable));
        self.arrays.push(array);
        self
    }

    pub fn integer(self, name: &str, values: impl Iterator<Item = u64>) -> Self {
        let array: Int64Array = values.map(|value| Some(signed(value))).collect();
        self.push(name, Arc::new(array), false)
    }

    pub fn optional(self, name: &str, values: impl Iterator<Item = Option<u64>>) -> Self {
        let array: Int64Array = values.map(|value| value.map(signed)).collect();
        self.push(name, Arc::new(array), true)
    }

    pub fn real(self, name: &str, values: impl Iterator<Item = f64>) -> Self {
        let array: Float64Array = values.map(Some).collect();
        self.push(name, Arc::new(array), false)
    }

    pub fn optional_real(self, name: &str, values: impl Iterator<Item = Option<f64>>) -> Self {
        let array: Float64Array = values.collect();
        self.push(name, Arc::new(array), true)
    }

    pub fn optional_text(self, name: &str, values: impl Iterator<Item = Option<String>>) -> Self {
        let array: StringArray = values.collect();
        self.push(name, Arc::new(array), true)
    }

    pub fn text<T: AsRef<str>>(self, name: &str, values: impl IntoIterator<Item = T>) -> Self {
        let array = StringArray::from_iter_values(values);
        self.push(name, Arc::new(array), false)
    }

    fn batch(self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.arrays)
    }
}

/// What a signed integer cannot hold becomes its maximum, as in files.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn flows(columns: Columns, run: &RunRecord) -> Columns {
    let rows = || run.flows.iter();
    columns
        .integer("flow", rows().map(|f| f.flow.0.into()))
        .integer("src", rows().map(|f| f.src.0.into()))
        .integer("dst", rows().map(|f| f.dst.0.into()))
        .integer("bytes", rows().map(|f| f.bytes.0))
        .integer("start_ns", rows().map(|f| f.start.as_ns()))
        .optional("fct_ns", rows().map(|f| f.fct.map(Duration::as_ns)))
        .integer("ideal_fct_ns", rows().map(|f| f.ideal_fct.as_ns()))
        .integer("retransmissions", rows().map(|f| f.retransmissions.into()))
        .integer("timeouts", rows().map(|f| f.timeouts.into()))
        .integer("copies", rows().map(|f| f.copies.into()))
        .text("class", rows().map(|f| class(run, f.class)))
        .optional(
            "handshake_ns",
            rows().map(|f| f.handshake.map(Duration::as_ns)),
        )
        .integer("payload_sent_bytes", rows().map(|f| f.payload_sent.0))
}

/// The name of a class, given by its number.
fn class(run: &RunRecord, number: u8) -> String {
    let name = run.classes.get(usize::from(number)).cloned();
    name.unwrap_or_else(|| format!("class{number}"))
}

fn requests(columns: Columns, run: &RunRecord) -> Columns {
    let rows = || run.requests.iter();
    columns
        .integer("request", rows().map(|r| r.request.into()))
        .integer("client", rows().map(|r| r.client.0.into()))
        .integer("server", rows().map(|r| r.server.0.into()))
        .integer("bytes", rows().map(|r| r.bytes.0))
        .integer("start_ns", rows().map(|r| r.start.as_ns()))
        .optional("latency_ns", rows().map(|r| r.latency.map(Duration::as_ns)))
        .integer("copies", rows().map(|r| r.copies.into()))
        .optional("winner", rows().map(|r| r.winner.map(u64::from)))
        .integer("sent_bytes", rows().map(|r| r.sent.0))
        .integer("wasted_bytes", rows().map(|r| r.wasted.0))
        .integer("service_ns", rows().map(|r| r.service.as_ns()))
        .integer("purged", rows().map(|r| r.purged.into()))
        .optional("purge_ns", rows().map(|r| r.purge.map(Duration::as_ns)))
}

fn sessions(columns: Columns, run: &RunRecord) -> Columns {
    let rows = || run.sessions.iter();
    columns
        .integer("session", rows().map(|s| s.session.into()))
        .text("operation", rows().map(|s| s.operation.name()))
        .integer("client", rows().map(|s| s.client.0.into()))
        .integer("receiver", rows().map(|s| s.receiver.0.into()))
        .integer("bytes", rows().map(|s| s.bytes.0))
        .integer("start_ns", rows().map(|s| s.start.as_ns()))
        .optional(
            "completion_ns",
            rows().map(|s| s.completion.map(Duration::as_ns)),
        )
        .integer("symbols", rows().map(|s| s.symbols.into()))
        .integer("in_vain", rows().map(|s| s.in_vain.into()))
        .integer("late", rows().map(|s| s.late.into()))
        .text("straggling", rows().map(|s| s.straggling.name()))
        .text("end", rows().map(|s| s.end.name()))
        .optional(
            "missing_bytes",
            rows().map(|s| s.missing.map(|bytes| bytes.0)),
        )
        .text("class", rows().map(|s| class(run, s.class)))
}

fn ports(columns: Columns, run: &RunRecord) -> Columns {
    let rows = || run.ports.iter();
    columns
        .integer("port", rows().map(|p| p.port.into()))
        .text("name", rows().map(|p| &p.name))
        .integer("packets", rows().map(|p| p.packets))
        .integer("bytes", rows().map(|p| p.bytes.0))
        .integer("dropped", rows().map(|p| p.dropped))
        .integer("marked", rows().map(|p| p.marked))
        .integer("max_backlog_bytes", rows().map(|p| p.max_backlog.0))
        .text("port.name", rows().map(|p| link_name(run, p.port)))
}

/// What the link that a port feeds is called; empty where the run does not say.
fn link_name(run: &RunRecord, port: u32) -> String {
    let is_fed = |link: &&TopologyLink| link.port == port;
    // They are in the order of the ports.
    let link = run.topology.get(port as usize).filter(is_fed);
    link.map_or_else(String::new, |link| format!("{}>{}", link.from, link.to))
}

fn nodes(columns: Columns, run: &RunRecord) -> Columns {
    let rows = || run.nodes.iter();
    columns
        .text("kind", rows().map(|n| n.kind.name()))
        .integer("number", rows().map(|n| n.number.into()))
        .text("name", rows().map(|n| &n.name))
        .text("label", rows().map(|n| &n.label))
        .integer("tier", rows().map(|n| n.tier.into()))
}

fn topology(columns: Columns, run: &RunRecord) -> Columns {
    let rows = || run.topology.iter();
    columns
        .integer("port", rows().map(|l| l.port.into()))
        .text("from", rows().map(|l| &l.from))
        .text("to", rows().map(|l| &l.to))
        .integer("from_tier", rows().map(|l| l.from_tier.into()))
        .integer("to_tier", rows().map(|l| l.to_tier.into()))
        .integer("rate_bps", rows().map(|l| l.rate.as_bps()))
        .integer("delay_ns", rows().map(|l| l.delay.as_ns()))
}

fn failures(columns: Columns, run: &RunRecord) -> Columns {
    let rows = || troubles(run, false);
    columns
        .integer("link", rows().map(|f| f.link.into()))
        .optional(
            "rate_bps",
            rows().map(|f| f.trouble.rate().map(Rate::as_bps)),
        )
        .integer("from_ns", rows().map(|f| f.from.as_ns()))
        .optional("until_ns", rows().map(|f| f.until.map(Time::as_ns)))
        .text("link.name", rows().map(|f| link_name(run, f.link)))
}

fn losses(columns: Columns, run: &RunRecord) -> Columns {
    let rows = || troubles(run, true);
    columns
        .integer("link", rows().map(|f| f.link.into()))
        .integer(
            "loss_ppb",
            rows().filter_map(|f| f.trouble.loss()).map(u64::from),
        )
        .integer("from_ns", rows().map(|f| f.from.as_ns()))
        .optional("until_ns", rows().map(|f| f.until.map(Time::as_ns)))
        .text("link.name", rows().map(|f| link_name(run, f.link)))
}

/// Links that lose packets at random, or those that are down or slow.
fn troubles(run: &RunRecord, lossy: bool) -> impl Iterator<Item = &LinkFailure> {
    let failures = run.failures.iter();
    failures.filter(move |failure| failure.trouble.loss().is_some() == lossy)
}

fn queues(columns: Columns, run: &RunRecord) -> Columns {
    let rows = || run.queues.iter();
    columns
        .integer("time_ns", rows().map(|s| s.time.as_ns()))
        .integer("port", rows().map(|s| s.port.into()))
        .integer("backlog_bytes", rows().map(|s| s.backlog.0))
        .integer("packets", rows().map(|s| s.packets.into()))
}

fn links(columns: Columns, run: &RunRecord) -> Columns {
    let rows = || run.links.iter();
    columns
        .integer("time_ns", rows().map(|s| s.time.as_ns()))
        .integer("link", rows().map(|s| s.link.into()))
        .integer("bytes", rows().map(|s| s.bytes.0))
        .real("utilisation", rows().map(|s| s.utilisation))
}
