//! Names and rows of a run's tables.

use crate::cell::{Value, words};
use crate::failure::{Failure, Loss};
use crate::flow::ListedFlow;
use crate::row::{Heading, Row};
use crate::table::{AT_ONCE, Column, Data, Table};
use crate::{FlowRows, ParameterValue, RunKey, RunRecord, TopologyLink, link_numbers};
use std::collections::HashMap;
use std::sync::Arc;

/// Columns with the names of links. They follow the columns of the row type.
pub(crate) const LINK_NAMES: [&str; 2] = ["port.name", "link.name"];

/// Kind of a run's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableKind {
    /// Table of the flows: [`RunRecord::flows`], followed by [`RunRecord::load_only`].
    Flows,
    /// Table of the requests: [`RunRecord::requests`].
    Requests,
    /// Table of the sessions: [`RunRecord::sessions`].
    Sessions,
    /// Table of the coflows: [`RunRecord::coflows`].
    Coflows,
    /// Table of the ports: [`RunRecord::ports`].
    Ports,
    /// Table of the nodes: [`RunRecord::nodes`].
    Nodes,
    /// Table of the topology: [`RunRecord::topology`].
    Topology,
    /// Table of slow links and links that are down, from [`RunRecord::failures`].
    Failures,
    /// Table of links that lose packets at random, from [`RunRecord::failures`].
    Losses,
    /// Table of queue samples: [`RunRecord::queues`].
    Queues,
    /// Table of link samples: [`RunRecord::links`].
    Links,
}

words! {
    TableKind: Flows = "flows", Requests = "requests", Sessions = "sessions", Coflows = "coflows",
    Ports = "ports", Nodes = "nodes", Topology = "topology", Failures = "failures", Losses = "losses",
    Queues = "queues", Links = "links"
}

/// Rows of a table, in pieces of at most 131,072 rows.
pub struct Pieces<'a> {
    /// Number of rows.
    pub rows: usize,
    columns: &'static [Heading],
    pieces: Box<dyn Iterator<Item = Table> + 'a>,
    /// Name of the last column. It contains the name of the link whose number is in the first column.
    link: Option<&'static str>,
    names: HashMap<i64, String>,
}

impl TableKind {
    /// Returns this table of a run. In tables about links, the last column contains the names of the links.
    /// A name is empty if the run does not contain the topology.
    pub fn of<F: FlowRows>(self, run: &RunRecord<F>) -> Pieces<'_> {
        let failures = run.failures.iter();
        let pieces = match self {
            Self::Flows => {
                let counted = run.flows.rows().map(ListedFlow::counted);
                let load_only = run.load_only.rows().map(ListedFlow::load_only);
                let count = run.flows.count() + run.load_only.count();
                Pieces::new(run, count, counted.chain(load_only))
            }
            Self::Requests => Pieces::of(run, run.requests.iter().cloned()),
            Self::Sessions => Pieces::of(run, run.sessions.iter().cloned()),
            Self::Coflows => Pieces::of(run, run.coflows.iter().cloned()),
            Self::Ports => Pieces::of(run, run.ports.iter().cloned()),
            Self::Nodes => Pieces::of(run, run.nodes.iter().cloned()),
            Self::Topology => Pieces::of(run, run.topology.iter().cloned()),
            Self::Failures => Pieces::of(run, failures.filter_map(Failure::of)),
            Self::Losses => Pieces::of(run, failures.filter_map(Loss::of)),
            Self::Queues => Pieces::of(run, run.queues.iter().cloned()),
            Self::Links => Pieces::of(run, run.links.iter().cloned()),
        };
        match self {
            Self::Ports => pieces.with_links(LINK_NAMES[0], &run.topology),
            Self::Failures | Self::Losses => pieces.with_links(LINK_NAMES[1], &run.topology),
            _ => pieces,
        }
    }

    /// Adds the columns of the run's key to a table: design, load, seed and the swept keys.
    /// All rows have the same values.
    pub(crate) fn complete(self, run: &RunKey, mut table: Table) -> Table {
        let rows = table.rows();
        // The documentation determines the position of `design`.
        // In tables of some kinds, `design` is the second column.
        // In all other tables, the column `design` follows the columns of the row.
        let design = match self {
            Self::Flows | Self::Requests => 1,
            _ => table.columns.len(),
        };
        table
            .columns
            .insert(design, Column::same("design", &run.design, rows));
        table.columns.push(Column::same("load", &run.load, rows));
        table.columns.push(Column::same("seed", &run.seed, rows));
        table.columns.extend(run.parameters.iter().map(|parameter| {
            let name = parameter.column();
            match &parameter.value {
                ParameterValue::Integer(value) => Column::same(name, value, rows),
                ParameterValue::Real(value) => Column::same(name, &Some(*value), rows),
                ParameterValue::Text(text) => Column::same(name, text, rows),
            }
        }));
        table
    }
}

impl<'a> Pieces<'a> {
    fn of<F, R: Row + 'a>(run: &RunRecord<F>, rows: impl Iterator<Item = R> + Clone + 'a) -> Self {
        Self::new(run, rows.clone().count(), rows)
    }

    fn new<F, R: Row + 'a>(
        run: &RunRecord<F>,
        count: usize,
        rows: impl Iterator<Item = R> + 'a,
    ) -> Self {
        let classes: Vec<Arc<str>> = run
            .classes
            .iter()
            .map(|name| name.as_str().into())
            .collect();
        let mut rows = rows.peekable();
        let pieces = std::iter::from_fn(move || {
            rows.peek()?;
            let mut piece = Table::of(R::COLUMNS);
            let some = rows.by_ref().take(AT_ONCE);
            some.for_each(|row| piece.push(&row, &classes));
            Some(piece)
        });
        Self {
            rows: count,
            columns: R::COLUMNS,
            pieces: Box::new(pieces),
            link: None,
            names: HashMap::new(),
        }
    }

    fn with_links(self, column: &'static str, links: &[TopologyLink]) -> Self {
        let named = |(link, number): (&TopologyLink, String)| {
            (
                link.port.into(),
                format!("{}>{}{number}", link.from, link.to),
            )
        };
        Self {
            link: Some(column),
            names: links.iter().zip(link_numbers(links)).map(named).collect(),
            ..self
        }
    }

    /// Returns the table without rows.
    pub fn empty(&self) -> Table {
        self.with_names(Table::of(self.columns))
    }

    fn with_names(&self, mut piece: Table) -> Table {
        let Some(column) = self.link else {
            return piece;
        };
        let mut column = Column::same(column, &String::new(), 0);
        if let Some(Data::Integer(links)) = piece.columns.first().map(|first| &first.data) {
            for link in links.iter().flatten() {
                let name = self.names.get(link).map_or("", String::as_str);
                column.data.push(Value::Text(name), &[]);
            }
        }
        piece.columns.push(column);
        piece
    }
}

impl Iterator for Pieces<'_> {
    type Item = Table;

    fn next(&mut self) -> Option<Table> {
        let piece = self.pieces.next()?;
        Some(self.with_names(piece))
    }
}
