//! Traces: CSV files with the exact flows of a run. With a trace, several simulators can run the same flows.
//!
//! ```text
//! start_ns,src,dst,bytes,path
//! 0,0,12,1460,2
//! 1250.5,3,7,1e5,
//! 2000,4,1,64KiB,
//! ```
//!
//! The header names the columns, in any order. Unknown columns are ignored.
//! The column `path` is optional, and a row may leave it empty. Fields can be in double quotes.
//! `start_ns` may have up to three decimals (whole picoseconds).
//! Numbers may have an exponent, and sizes may have a unit. Empty lines and lines that begin with `#` are ignored.
//! Lines may end in CR LF, and the file may begin with a byte order mark.

use crate::error::{TextError, quoted};
use crate::flow::{Class, Flow};
use crate::number::{exact, size};
use crate::records::{Fields, Records};
use crate::source::Source;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use tailcut_units::{Bytes, FlowId, HostId, Time, quantity};

/// Limits for the host and path numbers in a trace. They depend on the topology of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Number of hosts. The numbers of hosts start at 0.
    pub hosts: u32,
    /// Number of paths. The numbers of paths start at 0.
    pub paths: u16,
}

/// Trace: flows in the order of their starts. Flows with the same start are in the order of the file.
/// [`Flow::id`] is the number of the flow's row in the file, from zero.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    flows: Vec<Flow>,
}

/// Column of a trace. The variants are in the order in which the program writes the columns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Start,
    Src,
    Dst,
    Bytes,
    Path,
}

impl Column {
    const ALL: [Self; 5] = [Self::Start, Self::Src, Self::Dst, Self::Bytes, Self::Path];

    const fn name(self) -> &'static str {
        match self {
            Self::Start => "start_ns",
            Self::Src => "src",
            Self::Dst => "dst",
            Self::Bytes => "bytes",
            Self::Path => "path",
        }
    }
}

const HEADER_ALLOWED: &str =
    "a header with the columns start_ns, src, dst, bytes and, if wanted, path, each once";

impl Trace {
    /// Reads a trace. Each row needs memory for one [`Flow`].
    ///
    /// # Errors
    /// The first error, with its line and column.
    pub fn parse(text: &[u8], limits: Limits) -> Result<Self, TextError> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let text =
            core::str::from_utf8(text).map_err(|error| not_text(text, error.valid_up_to()))?;
        let mut records = Records::new(text);
        let Some((number, fields)) = records.next_record() else {
            return Err(no_flows(records.line, "no header and no flows"));
        };
        let columns = header(fields, number)?;
        let mut flows = Vec::new();
        let mut last_line = number;
        while let Some((number, fields)) = records.next_record() {
            flows.push(row(fields, number, &columns, limits, flows.len())?);
            last_line = number;
        }
        if flows.is_empty() {
            return Err(no_flows(last_line, "a header without any flow"));
        }
        flows.sort_by_key(|flow| flow.start);
        Ok(Self { flows })
    }

    /// Returns the trace with only the first `most` of the flows that start before `until`.
    #[must_use]
    pub fn until(mut self, until: Time, most: usize) -> Self {
        let before = self.flows.partition_point(|flow| flow.start < until);
        self.flows.truncate(before.min(most));
        self
    }

    /// Returns a trace with the first flows of `source`, at most `most`.
    /// The function reports no completions to the source. Only an open loop or a burst therefore returns all its flows.
    pub fn record(source: &mut dyn Source, most: usize) -> Self {
        let flows = core::iter::from_fn(|| source.next()).take(most).collect();
        Self { flows }
    }

    /// Returns the flows, in the order of their starts.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Writes the trace as CSV, in the order of the starts.
    /// A program that reads this file gets the same flows, with two differences.
    /// The file does not contain the class of a flow. The flows get new numbers in the order of the file.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let with_path = self.flows.iter().any(|flow| flow.path.is_some());
        out.write_str("start_ns,src,dst,bytes")?;
        out.write_str(if with_path { ",path\n" } else { "\n" })?;
        for flow in &self.flows {
            let start = flow.start.as_ps();
            write!(out, "{}", start / 1_000)?;
            if start % 1_000 != 0 {
                write!(out, ".{:03}", start % 1_000)?;
            }
            write!(out, ",{},{},{}", flow.src.0, flow.dst.0, flow.bytes)?;
            match flow.path {
                Some(path) => writeln!(out, ",{path}")?,
                None if with_path => out.write_str(",\n")?,
                None => out.write_str("\n")?,
            }
        }
        Ok(())
    }
}

fn not_text(text: &[u8], valid: usize) -> TextError {
    let before = &text[..valid];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let place = before
        .rsplit(|&byte| byte == b'\n')
        .next()
        .map_or(0, <[u8]>::len)
        + 1;
    let found = format!("a byte that is not UTF-8 at place {place}");
    TextError::new(line, "", found, "text in UTF-8")
}

fn no_flows(line: usize, found: &str) -> TextError {
    let allowed = format!("{HEADER_ALLOWED}, then at least one flow");
    TextError::new(line, "", found.to_string(), allowed)
}

/// Returns the column of each field. `None` means that the column is ignored.
fn header(names: Fields<'_>, number: usize) -> Result<Vec<Option<Column>>, TextError> {
    let wrong = |found: String| TextError::new(number, "", found, HEADER_ALLOWED);
    let mut columns = Vec::new();
    for name in names.iter() {
        let column = Column::ALL.into_iter().find(|column| column.name() == name);
        if column.is_some() && columns.contains(&column) {
            return Err(wrong(format!("the column {} twice", quoted(name))));
        }
        columns.push(column);
    }
    let missing = Column::ALL
        .into_iter()
        .find(|&column| column != Column::Path && !columns.contains(&Some(column)));
    match missing {
        Some(column) => Err(wrong(format!("no column `{}`", column.name()))),
        None => Ok(columns),
    }
}

fn row(
    fields: Fields<'_>,
    number: usize,
    columns: &[Option<Column>],
    limits: Limits,
    index: usize,
) -> Result<Flow, TextError> {
    let found = fields.len();
    if found != columns.len() {
        let allowed = format!("{} values, as the header says", columns.len());
        return Err(TextError::new(
            number,
            "",
            format!("{found} values"),
            allowed,
        ));
    }
    let too_many = |_| {
        let allowed = format!("at most {} flows", u64::from(u32::MAX) + 1);
        TextError::new(number, "", "another flow".to_string(), allowed)
    };
    let mut flow = Flow {
        id: FlowId(u32::try_from(index).map_err(too_many)?),
        start: Time::ZERO,
        src: HostId(0),
        dst: HostId(0),
        bytes: 0,
        path: None,
        class: Class::Foreground,
    };
    for (column, value) in columns.iter().zip(fields.iter()) {
        let Some(column) = *column else { continue };
        let wrong = |allowed: String| TextError::new(number, column.name(), quoted(value), allowed);
        let host = || {
            let host = exact(value, 0).filter(|&host| host < u64::from(limits.hosts));
            let last = limits.hosts.saturating_sub(1);
            host.map(|host| HostId(host as u32))
                .ok_or_else(|| wrong(format!("a host from 0 to {last}")))
        };
        match column {
            Column::Start => {
                let latest = Time::MAX.as_ps() - 1_000;
                let start = exact(value, 3).filter(|&ps| ps <= latest);
                flow.start = start.map(Time::from_ps).ok_or_else(|| {
                    wrong(format!(
                        "nanoseconds from 0 to {}, with at most three decimals",
                        Time::MAX.as_ns() - 1
                    ))
                })?;
            }
            Column::Src => flow.src = host()?,
            Column::Dst => flow.dst = host()?,
            Column::Bytes => {
                let bytes = size(value).filter(|bytes| (1..=MOST_BYTES).contains(bytes));
                flow.bytes = bytes
                    .ok_or_else(|| wrong(quantity::allowed(&(Bytes(1)..=Bytes(MOST_BYTES)))))?;
            }
            Column::Path if value.is_empty() => {}
            Column::Path => {
                let path = exact(value, 0).filter(|&path| path < u64::from(limits.paths));
                flow.path = Some(path.ok_or_else(|| {
                    wrong(match limits.paths {
                        0 => "nothing: this topology has no paths to choose from".to_string(),
                        paths => format!("a path from 0 to {}, or nothing", paths - 1),
                    })
                })? as u16);
            }
        }
    }
    if flow.src == flow.dst {
        let found = format!("`{}`, the source itself", flow.dst.0);
        return Err(TextError::new(
            number,
            "dst",
            found,
            "a host other than src",
        ));
    }
    Ok(flow)
}

/// Largest flow of a trace: 1 PB. With this limit, sums of bytes do not overflow.
const MOST_BYTES: u64 = 1_000_000_000_000_000;
