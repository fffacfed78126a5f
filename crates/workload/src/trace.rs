//! Traces: a CSV file of exactly the flows to run, for the same run in several simulators.
//!
//! ```text
//! start_ns,src,dst,bytes,path
//! 0,0,12,1460,2
//! 1250.5,3,7,100000,
//! ```
//!
//! The header names the columns, in any order; `path` is optional, and so is its value in a row.
//! `start_ns` may have up to three decimals, that is, whole picoseconds. Empty lines and lines that
//! begin with `#` are skipped; lines may end in CR LF and the file may begin with a byte order
//! mark.

use crate::error::{TextError, quoted};
use crate::flow::{Class, Flow};
use crate::source::Source;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use tailcut_units::{FlowId, HostId, Time};

/// What a trace may refer to, given by the topology that it is to run on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Hosts are numbered from 0 up to, not including, this.
    pub hosts: u32,
    /// Paths are numbered from 0 up to, not including, this.
    pub paths: u16,
}

/// The flows of a trace, sorted by start; flows that start together are in the order of the file.
/// [`Flow::id`] is the number of the flow's row, from zero, in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    flows: Vec<Flow>,
}

/// The columns, in the order in which they are written.
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
    "a header of the columns start_ns, src, dst, bytes and, if wanted, path, each once";

impl Trace {
    /// Reads a trace. Memory is in proportion to the text: one [`Flow`] a row.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and column.
    pub fn parse(text: &[u8], limits: Limits) -> Result<Self, TextError> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut columns: Option<Vec<Column>> = None;
        let mut flows = Vec::new();
        let mut last_line = 1;
        for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
            let number = index + 1;
            let line = core::str::from_utf8(line).map_err(|error| TextError {
                line: number,
                column: String::new(),
                found: format!(
                    "a byte that is not UTF-8 at place {}",
                    error.valid_up_to() + 1
                ),
                allowed: "text in UTF-8".to_string(),
            })?;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            last_line = number;
            match &columns {
                None => columns = Some(header(line, number)?),
                Some(columns) => flows.push(row(line, number, columns, limits, flows.len())?),
            }
        }
        if flows.is_empty() {
            return Err(TextError {
                line: last_line,
                column: String::new(),
                found: match columns {
                    None => "no header and no flows",
                    Some(_) => "a header without any flow",
                }
                .to_string(),
                allowed: format!("{HEADER_ALLOWED}, then at least one flow"),
            });
        }
        flows.sort_by_key(|flow| flow.start);
        Ok(Self { flows })
    }

    /// The flows that start before `until`, the first `most` of them.
    #[must_use]
    pub fn until(mut self, until: Time, most: usize) -> Self {
        let before = self.flows.partition_point(|flow| flow.start < until);
        self.flows.truncate(before.min(most));
        self
    }

    /// Every flow that `source` has without being told of completions, at most `most`, in the order
    /// in which they start.
    pub fn record(source: &mut dyn Source, most: usize) -> Self {
        let flows = core::iter::from_fn(|| source.next()).take(most).collect();
        Self { flows }
    }

    /// The flows, in the order in which they start.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Writes the trace as CSV, in the order of start; reading it gives the same flows, but for
    /// their class, which a trace does not carry, and their numbers, which follow the new order.
    ///
    /// # Errors
    /// Those of `out`.
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

fn header(line: &str, number: usize) -> Result<Vec<Column>, TextError> {
    let error = |found: String| TextError {
        line: number,
        column: String::new(),
        found,
        allowed: HEADER_ALLOWED.to_string(),
    };
    let mut columns = Vec::new();
    for name in line.split(',').map(str::trim) {
        match Column::ALL.into_iter().find(|column| column.name() == name) {
            Some(column) if columns.contains(&column) => {
                return Err(error(format!("the column {} twice", quoted(name))));
            }
            Some(column) => columns.push(column),
            None => return Err(error(format!("the column {}", quoted(name)))),
        }
    }
    let missing = Column::ALL
        .into_iter()
        .find(|&column| column != Column::Path && !columns.contains(&column));
    match missing {
        Some(column) => Err(error(format!("no column `{}`", column.name()))),
        None => Ok(columns),
    }
}

fn row(
    line: &str,
    number: usize,
    columns: &[Column],
    limits: Limits,
    index: usize,
) -> Result<Flow, TextError> {
    let error = |column: &str, found: String, allowed: String| TextError {
        line: number,
        column: column.to_string(),
        found,
        allowed,
    };
    let found = line.split(',').count();
    if found != columns.len() {
        return Err(error(
            "",
            format!("{found} values"),
            format!("{} values, as the header says", columns.len()),
        ));
    }
    let mut flow = Flow {
        id: FlowId(u32::try_from(index).map_err(|_| {
            error(
                "",
                "another flow".to_string(),
                format!("at most {} flows", u64::from(u32::MAX) + 1),
            )
        })?),
        start: Time::ZERO,
        src: HostId(0),
        dst: HostId(0),
        bytes: 0,
        path: None,
        class: Class::Foreground,
    };
    for (&column, value) in columns.iter().zip(line.split(',').map(str::trim)) {
        let wrong = |allowed: String| error(column.name(), quoted(value), allowed);
        let host = || {
            parse_digits(value)
                .filter(|&host| host < u64::from(limits.hosts))
                .map(|host| HostId(host as u32))
                .ok_or_else(|| {
                    wrong(format!(
                        "a host from 0 to {}",
                        limits.hosts.saturating_sub(1)
                    ))
                })
        };
        match column {
            Column::Start => {
                flow.start = parse_ns(value).ok_or_else(|| {
                    wrong(format!(
                        "nanoseconds from 0 to {}, with at most three decimals",
                        Time::MAX.as_ns() - 1
                    ))
                })?;
            }
            Column::Src => flow.src = host()?,
            Column::Dst => flow.dst = host()?,
            Column::Bytes => {
                flow.bytes = parse_digits(value)
                    .filter(|bytes| (1..=MOST_BYTES).contains(bytes))
                    .ok_or_else(|| wrong(format!("a whole number from 1 to {MOST_BYTES}")))?;
            }
            Column::Path if value.is_empty() => {}
            Column::Path => {
                let path = parse_digits(value).filter(|&path| path < u64::from(limits.paths));
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
        return Err(error(
            "dst",
            format!("`{}`, the source itself", flow.dst.0),
            "a host other than src".to_string(),
        ));
    }
    Ok(flow)
}

/// The largest flow of a trace: 1 PB, far from where sums of bytes overflow.
const MOST_BYTES: u64 = 1_000_000_000_000_000;

/// A whole number in plain digits, without a sign.
fn parse_digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// Nanoseconds with up to three decimals; earlier than [`Time::MAX`] by a nanosecond or more.
fn parse_ns(text: &str) -> Option<Time> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    if decimals.len() > 3 {
        return None;
    }
    let scale = 10u64.pow(3 - decimals.len() as u32);
    let ps = parse_digits(whole)?
        .checked_mul(1_000)?
        .checked_add(parse_digits(decimals)? * scale)?;
    (ps <= Time::MAX.as_ps() - 1_000).then_some(Time::from_ps(ps))
}
