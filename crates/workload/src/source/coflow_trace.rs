//! Coflows of a file in the format of the Coflow-Benchmark, which Varys and Sincronia also read:
//!
//! ```text
//! 150 526
//! 1 0 1 22 1 65:1.0
//! 2 10833 2 104 132 1 140:48.0
//! ```
//!
//! The first line has the number of locations and the number of coflows. Each further line is a coflow.
//! The line has the coflow's name, its arrival in ms, and the number of mappers and their locations.
//! After the mappers, the line has the number of reducers. Each reducer has its location and its MB (2^20 bytes).
//!
//! All mappers of a coflow send the same share to a reducer. Location n is host n.
//! If a mapper and a reducer have the same location, their data does not enter the network.
//! A coflow is left out if none of its data enters the network.

use super::interface::{Numbering, Source};
use crate::coflow::{Coflow, CoflowKind, Coflows};
use crate::error::{TextError, quoted};
use crate::flow::{Class, Flow};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use tailcut_units::{FlowId, HostId, Time};

/// One coflow of a file.
#[derive(Clone, PartialEq, Debug)]
struct Listed {
    start: Time,
    /// Source, destination and bytes of each flow. There is at least one flow.
    flows: Vec<(HostId, HostId, u64)>,
}

/// Coflows of a file, in the order of their arrivals.
#[derive(Clone, PartialEq, Debug)]
pub struct CoflowTrace {
    coflows: Vec<Listed>,
}

/// Bytes in a megabyte of the file.
const MEGABYTE: f64 = 1_048_576.0;
/// Largest amount of data that a reducer receives, in MB: 1 TB.
const MOST_MEGABYTES: f64 = 1e6;
/// Largest number of flows of a coflow.
const MOST_FLOWS: usize = 1_000_000;

/// Reader of the values of one line.
struct Fields<'a> {
    line: usize,
    fields: core::str::SplitAsciiWhitespace<'a>,
}

impl<'a> Fields<'a> {
    fn next(&mut self, column: &str) -> Result<&'a str, TextError> {
        let missing = || {
            TextError::new(
                self.line,
                column,
                "the end of the line".to_string(),
                "a value",
            )
        };
        self.fields.next().ok_or_else(missing)
    }

    fn whole(&mut self, column: &str, most: u64) -> Result<u64, TextError> {
        let text = self.next(column)?;
        let number = text.parse::<u64>().ok().filter(|number| *number <= most);
        number.ok_or_else(|| {
            let allowed = format!("a whole number from 0 to {most}");
            TextError::new(self.line, column, quoted(text), allowed)
        })
    }
}

impl CoflowTrace {
    /// Reads the coflows of a network with `hosts` hosts.
    /// All sizes are multiplied by `scale`, which must be above zero.
    ///
    /// # Errors
    /// The first error, with its line and the name of the value.
    pub fn parse(text: &str, hosts: u32, scale: f64) -> Result<Self, TextError> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let Some((line, head)) = lines.next() else {
            let allowed = "a line with the numbers of locations and coflows";
            return Err(TextError::new(1, "", "no lines".to_string(), allowed));
        };
        let mut fields = Fields {
            line,
            fields: head.split_ascii_whitespace(),
        };
        fields.whole("locations", u64::from(hosts))?;
        let count = fields.whole("coflows", u64::from(u32::MAX))?;
        let mut coflows = Vec::new();
        let (mut read, mut last) = (0u64, line);
        for (line, text) in lines {
            last = line;
            read += 1;
            let coflow = coflow(line, text, hosts, scale)?;
            coflows.extend((!coflow.flows.is_empty()).then_some(coflow));
        }
        if read != count || coflows.is_empty() {
            let found = format!(
                "{read} coflows, and {} with data for the network",
                coflows.len()
            );
            let allowed = format!("{count} coflows, as the first line says, and at least one");
            return Err(TextError::new(last, "", found, allowed));
        }
        coflows.sort_by_key(|coflow: &Listed| coflow.start);
        Ok(Self { coflows })
    }

    /// Returns the trace with only the first `most` of the coflows that arrive before `until`.
    #[must_use]
    pub fn until(mut self, until: Time, most: usize) -> Self {
        let before = self.coflows.partition_point(|coflow| coflow.start < until);
        self.coflows.truncate(before.min(most));
        self
    }

    /// Returns the number of coflows.
    pub const fn len(&self) -> usize {
        self.coflows.len()
    }

    /// Returns the number of flows of all coflows.
    pub fn flow_count(&self) -> u64 {
        self.coflows
            .iter()
            .map(|coflow| coflow.flows.len() as u64)
            .sum()
    }

    /// Returns whether there are no coflows.
    pub const fn is_empty(&self) -> bool {
        self.coflows.is_empty()
    }

    /// Returns the arrival of the last coflow.
    pub fn last_start(&self) -> Time {
        self.coflows
            .last()
            .map_or(Time::ZERO, |coflow| coflow.start)
    }
}

fn coflow(line: usize, text: &str, hosts: u32, scale: f64) -> Result<Listed, TextError> {
    let mut fields = Fields {
        line,
        fields: text.split_ascii_whitespace(),
    };
    let location = |column: &str, text: &str| {
        let host = text.parse::<u32>().ok().filter(|host| *host < hosts);
        host.map(HostId).ok_or_else(|| {
            let allowed = format!("a location from 0 to {}", hosts.saturating_sub(1));
            TextError::new(line, column, quoted(text), allowed)
        })
    };
    fields.next("coflow")?;
    let latest = Time::MAX.as_ns() / 1_000_000 - 1;
    let arrival = fields.whole("arrival", latest)?;
    let mut mappers = Vec::new();
    for _ in 0..fields.whole("mappers", u64::from(hosts))? {
        mappers.push(location("mapper", fields.next("mapper")?)?);
    }
    let mut reducers = Vec::new();
    for _ in 0..fields.whole("reducers", u64::from(hosts))? {
        let text = fields.next("reducer")?;
        let wrong = || {
            let allowed = format!("LOCATION:MB with MB from 0 to {MOST_MEGABYTES}");
            TextError::new(line, "reducer", quoted(text), allowed)
        };
        let (host, megabytes) = text.split_once(':').ok_or_else(wrong)?;
        let megabytes = megabytes.parse::<f64>().ok();
        let megabytes = megabytes.filter(|size| (0.0..=MOST_MEGABYTES).contains(size));
        let of_mapper =
            megabytes.ok_or_else(wrong)? * MEGABYTE * scale / mappers.len().max(1) as f64;
        // A flow has at least one byte, and at most a petabyte.
        let bytes = libm::round(of_mapper).clamp(1.0, 1e15) as u64;
        reducers.push((location("reducer", host)?, bytes));
    }
    if let Some(text) = fields.fields.next() {
        return Err(TextError::new(
            line,
            "",
            quoted(text),
            "the end of the line",
        ));
    }
    if !(1..=MOST_FLOWS).contains(&(mappers.len() * reducers.len())) {
        let found = format!("{} mappers and {} reducers", mappers.len(), reducers.len());
        let allowed = format!("at least one of each, and at most {MOST_FLOWS} pairs of them");
        return Err(TextError::new(line, "", found, allowed));
    }
    let mut flows = Vec::with_capacity(mappers.len() * reducers.len());
    for &(reducer, bytes) in &reducers {
        let others = mappers.iter().filter(|mapper| **mapper != reducer);
        flows.extend(others.map(|&mapper| (mapper, reducer, bytes)));
    }
    Ok(Listed {
        start: Time::from_ns(arrival * 1_000_000),
        flows,
    })
}

/// Source of the flows of a [`CoflowTrace`]. All flows of a coflow start when the coflow arrives.
#[derive(Debug)]
pub struct CoflowSource {
    trace: Arc<CoflowTrace>,
    class: Class,
    /// Position of the next flow: the index of its coflow in the trace, and its own index in the coflow.
    next: (usize, usize),
    /// Coflow of each flow that has not ended.
    running: BTreeMap<FlowId, u32>,
    coflows: Coflows,
    numbering: Numbering,
}

impl CoflowSource {
    /// Creates a source of the flows of `trace`. Several sources may share the trace.
    pub fn new(trace: impl Into<Arc<CoflowTrace>>, class: Class) -> Self {
        Self {
            trace: trace.into(),
            class,
            next: (0, 0),
            running: BTreeMap::new(),
            coflows: Coflows::default(),
            numbering: Numbering::default(),
        }
    }
}

impl Source for CoflowSource {
    fn peek(&self) -> Option<Time> {
        let listed = self.trace.coflows.get(self.next.0)?;
        self.numbering.has_more().then_some(listed.start)
    }

    fn next(&mut self) -> Option<Flow> {
        self.peek()?;
        let (number, place) = self.next;
        let listed = self.trace.coflows.get(number)?;
        if place == 0 {
            self.coflows.begin(Coflow {
                kind: CoflowKind::Listed,
                start: listed.start,
                receiver: None,
                flows: listed.flows.len() as u32,
                bytes: listed.flows.iter().map(|(.., bytes)| bytes).sum(),
                end: None,
                class: self.class,
            });
        }
        let &(src, dst, bytes) = listed.flows.get(place)?;
        self.next = match place + 1 < listed.flows.len() {
            true => (number, place + 1),
            false => (number + 1, 0),
        };
        let flow = Flow {
            id: self.numbering.take(),
            start: listed.start,
            src,
            dst,
            bytes,
            path: None,
            class: self.class,
        };
        self.running.insert(flow.id, number as u32);
        Some(flow)
    }

    fn completed(&mut self, now: Time, flow: FlowId) {
        if let Some(number) = self.running.remove(&flow) {
            self.coflows.flow_ended(now, number, false);
        }
    }

    fn failed(&mut self, now: Time, flow: FlowId) {
        if let Some(number) = self.running.remove(&flow) {
            self.coflows.flow_ended(now, number, true);
        }
    }

    fn coflows(&self) -> Vec<Coflow> {
        self.coflows.all().to_vec()
    }
}
