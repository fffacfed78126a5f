//! A record as bytes, exact to the picosecond: how it comes back from another process.
//!
//! Summaries are JSON, rows are numbers of eight bytes. One description of a row both writes and
//! reads it. The two processes run the same version; bytes of another one are refused.

use serde_json::Value;
use tailcut_scenario::record::{
    FlowRecord, LinkFailure, LinkSample, LinkTrouble, NodeKind, NodeRecord, PortTotals,
    QueueSample, RequestRecord, RunCost, RunRecord, RunSummary, RunTotals, SessionEnd,
    SessionOperation, SessionRecord, Straggling, TopologyLink,
};
use tailcut_scenario::units::{Duration, Rate, Time};

/// What the bytes begin with.
const HEADER: &str = concat!("tailcut ", env!("CARGO_PKG_VERSION"), " record\n");

/// The bytes of a record.
pub fn encode(record: &RunRecord) -> Vec<u8> {
    let mut bytes = HEADER.as_bytes().to_vec();
    let mut rows = Rows::Written(&mut bytes);
    let summary = serde_json::to_string(&record.summary()).expect("a summary has no odd keys");
    let classes = Value::from(record.classes.clone()).to_string();
    let written = rows
        .text(&mut summary.clone())
        .and_then(|()| rows.text(&mut classes.clone()))
        .and_then(|()| body(&mut rows, &mut record.clone()));
    written.expect("there is always room to write");
    bytes
}

/// The record of such bytes.
///
/// # Errors
/// What is wrong with them, in words.
pub fn decode(bytes: &[u8]) -> Result<RunRecord, String> {
    let rest = bytes
        .strip_prefix(HEADER.as_bytes())
        .ok_or_else(|| format!("not a record of tailcut {}", env!("CARGO_PKG_VERSION")))?;
    let mut rows = Rows::Read(rest);
    let (mut summary, mut classes) = (String::new(), String::new());
    rows.text(&mut summary)?;
    rows.text(&mut classes)?;
    let json = |error: serde_json::Error| error.to_string();
    let summary: RunSummary = serde_json::from_str(&summary).map_err(json)?;
    let mut record = of_summary(summary);
    record.classes = serde_json::from_str(&classes).map_err(json)?;
    body(&mut rows, &mut record)?;
    match rows {
        Rows::Read([]) => Ok(record),
        _ => Err("bytes behind the record".to_owned()),
    }
}

/// What a summary tells of a record.
fn of_summary(summary: RunSummary) -> RunRecord {
    RunRecord {
        totals: RunTotals {
            packet_hops: summary.packet_hops,
            events: summary.events,
            sent: summary.sent,
            copied: summary.copied,
            delivered: summary.delivered,
            drops: summary.drops,
            remaining: summary.remaining,
            trimmed: summary.trimmed,
            returned: summary.returned,
            marks: summary.marks,
            simulated: Duration::ZERO,
        },
        cost: RunCost {
            cpu_seconds: summary.cpu_seconds,
            wall_seconds: summary.wall_seconds,
            peak_rss_bytes: summary.peak_rss_bytes,
        },
        sampling: summary.sampling,
        switch_waits: summary.switch_waits,
        host_bursts: summary.host_bursts,
        arrived: summary.arrived,
        offered: summary.offered,
        timers: summary.timers,
        ..RunRecord::new(summary.key)
    }
}

type Outcome = Result<(), String>;

/// Everything that has no place in the summary.
fn body(rows: &mut Rows<'_>, record: &mut RunRecord) -> Outcome {
    rows.span(&mut record.totals.simulated)?;
    rows.each(&mut record.flows, FlowRecord::default, flow)?;
    rows.each(&mut record.requests, RequestRecord::default, request)?;
    rows.each(&mut record.sessions, SessionRecord::default, session)?;
    rows.each(&mut record.ports, PortTotals::default, port)?;
    rows.each(&mut record.nodes, NodeRecord::default, node)?;
    let no_link = || TopologyLink {
        port: 0,
        from: String::new(),
        to: String::new(),
        from_tier: 0,
        to_tier: 0,
        rate: Rate::from_gbps(1),
        delay: Duration::ZERO,
    };
    rows.each(&mut record.topology, no_link, link)?;
    let no_failure = || LinkFailure {
        link: 0,
        trouble: LinkTrouble::Down,
        from: Time::ZERO,
        until: None,
    };
    rows.each(&mut record.failures, no_failure, failure)?;
    rows.each(&mut record.queues, QueueSample::default, queue)?;
    rows.each(&mut record.links, LinkSample::default, sample)
}

fn flow(rows: &mut Rows<'_>, row: &mut FlowRecord) -> Outcome {
    let FlowRecord {
        flow,
        src,
        dst,
        bytes,
        start,
        fct,
        ideal_fct,
        handshake,
        payload_sent,
        retransmissions,
        timeouts,
        copies,
        class,
    } = row;
    rows.small(&mut flow.0)?;
    rows.small(&mut src.0)?;
    rows.small(&mut dst.0)?;
    rows.number(&mut bytes.0)?;
    rows.time(start)?;
    rows.maybe(fct, Rows::span)?;
    rows.span(ideal_fct)?;
    rows.maybe(handshake, Rows::span)?;
    rows.number(&mut payload_sent.0)?;
    rows.small(retransmissions)?;
    rows.small(timeouts)?;
    rows.small(copies)?;
    rows.byte(class)
}

fn request(rows: &mut Rows<'_>, row: &mut RequestRecord) -> Outcome {
    let RequestRecord {
        request,
        client,
        server,
        bytes,
        start,
        latency,
        copies,
        winner,
        sent,
        wasted,
        service,
        purged,
        purge,
    } = row;
    rows.small(request)?;
    rows.small(&mut client.0)?;
    rows.small(&mut server.0)?;
    rows.number(&mut bytes.0)?;
    rows.time(start)?;
    rows.maybe(latency, Rows::span)?;
    rows.small(copies)?;
    rows.maybe(winner, Rows::small)?;
    rows.number(&mut sent.0)?;
    rows.number(&mut wasted.0)?;
    rows.span(service)?;
    rows.small(purged)?;
    rows.maybe(purge, Rows::span)
}

fn session(rows: &mut Rows<'_>, row: &mut SessionRecord) -> Outcome {
    let SessionRecord {
        session,
        operation,
        client,
        receiver,
        bytes,
        start,
        completion,
        symbols,
        in_vain,
        late,
        straggling,
        end,
        missing,
        class,
    } = row;
    rows.small(session)?;
    rows.one_of(
        operation,
        &[SessionOperation::Write, SessionOperation::Read],
    )?;
    rows.small(&mut client.0)?;
    rows.small(&mut receiver.0)?;
    rows.number(&mut bytes.0)?;
    rows.time(start)?;
    rows.maybe(completion, Rows::span)?;
    rows.small(symbols)?;
    rows.small(in_vain)?;
    rows.small(late)?;
    let straggled = [Straggling::No, Straggling::Reported, Straggling::LeftOut];
    rows.one_of(straggling, &straggled)?;
    rows.one_of(
        end,
        &[SessionEnd::Open, SessionEnd::Whole, SessionEnd::Failed],
    )?;
    rows.maybe(missing, |rows, bytes| rows.number(&mut bytes.0))?;
    rows.byte(class)
}

fn port(rows: &mut Rows<'_>, row: &mut PortTotals) -> Outcome {
    let PortTotals {
        port,
        name,
        packets,
        bytes,
        dropped,
        marked,
        max_backlog,
    } = row;
    rows.small(port)?;
    rows.text(name)?;
    rows.number(packets)?;
    rows.number(&mut bytes.0)?;
    rows.number(dropped)?;
    rows.number(marked)?;
    rows.number(&mut max_backlog.0)
}

fn node(rows: &mut Rows<'_>, row: &mut NodeRecord) -> Outcome {
    let NodeRecord {
        kind,
        number,
        name,
        label,
        tier,
    } = row;
    rows.one_of(kind, &NodeKind::ALL)?;
    rows.small(number)?;
    rows.text(name)?;
    rows.text(label)?;
    rows.byte(tier)
}

fn link(rows: &mut Rows<'_>, row: &mut TopologyLink) -> Outcome {
    let TopologyLink {
        port,
        from,
        to,
        from_tier,
        to_tier,
        rate,
        delay,
    } = row;
    rows.small(port)?;
    rows.text(from)?;
    rows.text(to)?;
    rows.byte(from_tier)?;
    rows.byte(to_tier)?;
    rows.rate(rate)?;
    rows.span(delay)
}

fn failure(rows: &mut Rows<'_>, row: &mut LinkFailure) -> Outcome {
    let LinkFailure {
        link,
        trouble,
        from,
        until,
    } = row;
    rows.small(link)?;
    let mut bps = trouble.rate().map(Rate::as_bps);
    rows.maybe(&mut bps, Rows::number)?;
    let mut loss = trouble.loss();
    rows.maybe(&mut loss, Rows::small)?;
    *trouble = match (bps.and_then(Rate::from_bps), loss) {
        (Some(rate), _) => LinkTrouble::Slow(rate),
        (None, Some(loss)) => LinkTrouble::Lossy(loss),
        (None, None) => LinkTrouble::Down,
    };
    rows.time(from)?;
    rows.maybe(until, Rows::time)
}

fn queue(rows: &mut Rows<'_>, row: &mut QueueSample) -> Outcome {
    let QueueSample {
        time,
        port,
        backlog,
        packets,
    } = row;
    rows.time(time)?;
    rows.small(port)?;
    rows.number(&mut backlog.0)?;
    rows.small(packets)
}

fn sample(rows: &mut Rows<'_>, row: &mut LinkSample) -> Outcome {
    let LinkSample {
        time,
        link,
        bytes,
        utilisation,
    } = row;
    rows.time(time)?;
    rows.small(link)?;
    rows.number(&mut bytes.0)?;
    let mut bits = utilisation.to_bits();
    rows.number(&mut bits)?;
    *utilisation = f64::from_bits(bits);
    Ok(())
}

/// Bytes that are being written, or read.
enum Rows<'a> {
    Written(&'a mut Vec<u8>),
    Read(&'a [u8]),
}

impl Rows<'_> {
    fn number(&mut self, value: &mut u64) -> Outcome {
        match self {
            Self::Written(bytes) => bytes.extend(value.to_le_bytes()),
            Self::Read(bytes) => {
                let (first, rest) = bytes.split_first_chunk().ok_or("a record cut short")?;
                (*value, *bytes) = (u64::from_le_bytes(*first), rest);
            }
        }
        Ok(())
    }

    fn small(&mut self, value: &mut u32) -> Outcome {
        let mut number = u64::from(*value);
        self.number(&mut number)?;
        *value = u32::try_from(number).map_err(|_| "a number out of range")?;
        Ok(())
    }

    fn byte(&mut self, value: &mut u8) -> Outcome {
        let mut number = u64::from(*value);
        self.number(&mut number)?;
        *value = u8::try_from(number).map_err(|_| "a number out of range")?;
        Ok(())
    }

    fn time(&mut self, value: &mut Time) -> Outcome {
        let mut ps = value.as_ps();
        self.number(&mut ps)?;
        *value = Time::from_ps(ps);
        Ok(())
    }

    fn span(&mut self, value: &mut Duration) -> Outcome {
        let mut ps = value.as_ps();
        self.number(&mut ps)?;
        *value = Duration::from_ps(ps);
        Ok(())
    }

    fn rate(&mut self, value: &mut Rate) -> Outcome {
        let mut bps = value.as_bps();
        self.number(&mut bps)?;
        *value = Rate::from_bps(bps).ok_or("a rate of 0")?;
        Ok(())
    }

    fn maybe<T: Default>(
        &mut self,
        value: &mut Option<T>,
        of: impl FnOnce(&mut Self, &mut T) -> Outcome,
    ) -> Outcome {
        let mut is_there = u64::from(value.is_some());
        self.number(&mut is_there)?;
        match is_there {
            0 => *value = None,
            _ => of(self, value.get_or_insert_default())?,
        }
        Ok(())
    }

    fn one_of<T: Copy + PartialEq>(&mut self, value: &mut T, all: &[T]) -> Outcome {
        let place = all.iter().position(|one| one == value).unwrap_or(all.len());
        let mut place = place as u64;
        self.number(&mut place)?;
        let found = usize::try_from(place).ok().and_then(|place| all.get(place));
        *value = *found.ok_or("a value out of range")?;
        Ok(())
    }

    fn text(&mut self, value: &mut String) -> Outcome {
        let mut length = value.len() as u64;
        self.number(&mut length)?;
        match self {
            Self::Written(bytes) => bytes.extend(value.as_bytes()),
            Self::Read(bytes) => {
                let length = usize::try_from(length).map_err(|_| "a record cut short")?;
                let (text, rest) = bytes.split_at_checked(length).ok_or("a record cut short")?;
                let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
                (*value, *bytes) = (text.to_owned(), rest);
            }
        }
        Ok(())
    }

    fn each<T>(
        &mut self,
        values: &mut Vec<T>,
        empty: impl Fn() -> T,
        row: impl Fn(&mut Self, &mut T) -> Outcome,
    ) -> Outcome {
        let mut count = values.len() as u64;
        self.number(&mut count)?;
        match self {
            Self::Written(_) => values.iter_mut().try_for_each(|value| row(self, value)),
            Self::Read(_) => (0..count).try_for_each(|_| {
                let mut value = empty();
                row(self, &mut value)?;
                values.push(value);
                Ok(())
            }),
        }
    }
}
