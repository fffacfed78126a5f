//! Effect of retransmission timers on the slowest flows, and on differences between mean completion times.

use crate::caveat::Caveat;
use crate::format::list;
use crate::format::{Quantity, percent_digits};
use crate::group::Group;
use crate::headline::{headline_group, noun_of};
use crate::run::Run;
use crate::study::Study;
use crate::table::{Cell, Table};
use crate::waited_timer::WaitedTimer;
use tailcut_record::{Timer, Timers, quantile_rank};

/// Number of flows that waited for a timer, among the slowest hundredth of the flows and among all flows.
#[derive(Clone, Copy, Default, Debug)]
struct TimerCounts {
    tail: usize,
    tail_initial: usize,
    tail_least: usize,
    all: usize,
    all_waited: usize,
}

impl TimerCounts {
    fn of(runs: &[&Run], group: &Group) -> Self {
        let flows = runs.iter().flat_map(|run| group.members(run));
        let flows = flows.filter(|flow| group.has(flow));
        let mut flows: Vec<(f64, WaitedTimer)> =
            flows.map(|flow| (flow.fct_us, flow.waited)).collect();
        flows.sort_unstable_by(|(a, _), (b, _)| a.total_cmp(b));
        // The tail consists of the flows beyond the 99th percentile.
        // The tail always contains at least the slowest flow.
        let beyond = quantile_rank(flows.len(), 0.99).map_or(0, |rank| rank + 1);
        let tail = &flows[beyond.min(flows.len().saturating_sub(1))..];
        let count = |flows: &[(f64, WaitedTimer)], wanted| {
            flows.iter().filter(|(_, waited)| *waited == wanted).count()
        };
        Self {
            tail: tail.len(),
            tail_initial: count(tail, WaitedTimer::Initial),
            tail_least: count(tail, WaitedTimer::Least),
            all: flows.len(),
            all_waited: flows.len() - count(&flows, WaitedTimer::No),
        }
    }

    fn share_of_tail(&self) -> f64 {
        (self.tail_initial + self.tail_least) as f64 / self.tail.max(1) as f64
    }

    fn share_of_all(&self) -> f64 {
        self.all_waited as f64 / self.all.max(1) as f64
    }

    /// Returns the timers for which flows of the tail waited, with their values, as texts.
    fn timers(&self, timers: &Timers) -> Vec<String> {
        let named = |timer: &Option<Timer>, count: usize| {
            let timer = timer.as_ref().filter(|_| count > 0)?;
            let span = Quantity::Time.tick(timer.ns as f64 / 1e3);
            Some(format!("{} = {span}", timer.key))
        };
        let all = [
            named(&timers.least, self.tail_least),
            named(&timers.initial, self.tail_initial),
        ];
        all.into_iter().flatten().collect()
    }
}

fn percent(share: f64) -> String {
    format!("{} %", percent_digits(share * 100.0))
}

/// Returns sentences with the share of the tail that waited for a timer, by design.
/// Further sentences warn about settings of a design that distort its result.
pub(crate) fn sentences(study: &Study, setting: usize, group: &Group) -> Vec<String> {
    let cells = study.cells();
    let Some(cell) = cells.get(setting) else {
        return Vec::new();
    };
    let mut waiting = Vec::new();
    let mut largest: f64 = 0.0;
    let mut known = false;
    for (design, runs) in &cell.designs {
        let Some(timers) = runs.first().map(|run| &run.summary.timers) else {
            continue;
        };
        known |= timers.least.is_some();
        let counts = TimerCounts::of(runs, group);
        if counts.share_of_tail() > 0.0 {
            largest = largest.max(counts.share_of_tail());
            let share = format!("{} with {design}", percent(counts.share_of_tail()));
            waiting.push((share, counts.timers(timers)));
        }
    }
    let mut sentences = Vec::new();
    let noun = noun_of(group);
    if known && !waiting.is_empty() {
        let wait = match group.is_of_flows() {
            true => "wait for a retransmission timer",
            false => "take as long as a retransmission timer or longer",
        };
        let warning = match largest > 0.5 {
            true => ": the p99 measures the timer",
            false => "",
        };
        // The sentence is short if all designs wait for the same timers.
        let (_, first) = &waiting[0];
        let (each, all) = match waiting.iter().all(|(_, timers)| timers == first) {
            true => (false, format!(" ({})", list(first))),
            false => (true, String::new()),
        };
        let designs = waiting.iter().map(|(share, timers)| match each {
            true => format!("{share} ({})", list(timers)),
            false => share.clone(),
        });
        sentences.push(format!(
            "Timers: of the slowest 1 % of {noun}, {} {wait}{all}{warning}.{}",
            list(&designs.collect::<Vec<_>>()),
            Caveat::Timers.see()
        ));
    }
    let runs = cell
        .designs
        .iter()
        .flat_map(|(design, runs)| runs.iter().map(move |run| (*design, *run)));
    sentences.extend(codec_sentence(runs.clone()));
    sentences.extend(chunk_sentence(runs.clone()));
    sentences.extend(gap_sentences(runs));
    sentences
}

/// Returns a warning for each design whose flowlet gap is outside its range.
fn gap_sentences<'a>(runs: impl Iterator<Item = (&'a str, &'a Run)>) -> Vec<String> {
    let mut warned: Vec<&str> = Vec::new();
    let mut sentences = Vec::new();
    for (design, run) in runs {
        let Some(gap) = &run.summary.timers.gap else {
            continue;
        };
        if warned.contains(&design) {
            continue;
        }
        warned.push(design);
        let [span, least, most] =
            [gap.ns, gap.least_ns, gap.most_ns].map(|ns| Quantity::Time.tick(ns as f64 / 1e3));
        let (than, effect) = match gap.ns < gap.least_ns {
            true => (
                format!("shorter than a round trip in the empty network, {least}"),
                "flows change their path within a window, and packets overtake each other",
            ),
            false => (
                format!("longer than a round trip while all queues are full, {most}"),
                "flows hardly ever pause for a gap, and stay on their paths",
            ),
        };
        sentences.push(format!(
            "Flowlets: {} of {design} is {span}, {than}: {effect}.{}",
            gap.key,
            Caveat::Flowlets.see()
        ));
    }
    sentences
}

fn chunk_sentence<'a>(runs: impl Iterator<Item = (&'a str, &'a Run)>) -> Option<String> {
    let mut coarse = runs.filter_map(|(design, run)| Some((design, run.summary.timers.chunk?)));
    let (design, chunk) = coarse.next()?;
    Some(format!(
        "Chunks: {} of the objects are no larger than servers.chunk, {}, so that {design} cannot add up the bytes of \
         several copies.{}",
        percent(chunk.requests as f64 / chunk.of as f64),
        Quantity::Bytes.tick(chunk.bytes as f64),
        Caveat::Chunks.see()
    ))
}

fn codec_sentence<'a>(runs: impl Iterator<Item = (&'a str, &'a Run)>) -> Option<String> {
    let mut slow = runs.filter_map(|(design, run)| Some((design, run.summary.timers.codec?)));
    let (design, codec) = slow.next()?;
    Some(format!(
        "Codec: {design} decodes a block that lacks a symbol at {} (scdp.decode_rate), slower than the {} of a host.{}",
        Quantity::Rate.tick(codec.decodes_bps as f64),
        Quantity::Rate.tick(codec.host_bps as f64),
        Caveat::Codec.see()
    ))
}

/// Returns the table of the share of each design's flows that waited for a timer.
/// Returns `None` if no flow waited, or if the runs do not contain this information.
pub(crate) fn table(study: &Study) -> Option<Table> {
    let analysis = study.analysis();
    let mut rows = Vec::new();
    let mut any = false;
    for (setting, cell) in study.cells().iter().enumerate() {
        let group = headline_group(analysis, setting);
        for (design, runs) in &cell.designs {
            let Some(timers) = runs.first().map(|run| &run.summary.timers) else {
                continue;
            };
            let counts = TimerCounts::of(runs, &group);
            any |= counts.all_waited > 0;
            let share = |share: f64| Cell::new(percent(share), share);
            let of_tail = |count: usize| share(count as f64 / counts.tail.max(1) as f64);
            let value = |timer: &Option<Timer>| {
                let ns = timer.as_ref().map(|timer| timer.ns);
                let text = timer.as_ref().map(|timer| {
                    let span = Quantity::Time.tick(timer.ns as f64 / 1e3);
                    format!("{} = {span}", timer.key)
                });
                Cell::new(text.unwrap_or_else(|| "–".to_owned()), ns)
            };
            let mut row = analysis.setting_cells(setting);
            row.extend([
                Cell::text(*design),
                of_tail(counts.tail_least),
                value(&timers.least),
                of_tail(counts.tail_initial),
                value(&timers.initial),
                share(counts.share_of_all()),
            ]);
            rows.push(row);
        }
    }
    let columns = [
        "design",
        "of the tail, least RTO",
        "least RTO",
        "of the tail, initial RTO",
        "initial RTO",
        "of all",
    ];
    any.then(|| Table {
        id: "timers".to_owned(),
        title: "Flows that wait for a retransmission timer".to_owned(),
        caption: "The tail contains the flows that are slower than the 99th percentile, over all seeds. A flow \
                  waited if one of its timers fired and the flow took at least that long: for its handshake \
                  (initial RTO), or later (least RTO or a longer one). The timers of requests and sessions \
                  are not counted; all that took at least that long are shown."
            .to_owned(),
        columns: analysis.with_setting(&columns),
        rows,
    })
}

/// Marks changes of a mean that are mostly due to flows that waited for a timer.
/// Without the flows that waited, a marked change would be less than half, or have the opposite sign.
/// In the returned table, a marked change has a mark instead of a colour.
/// `of` is the group whose columns begin with the group's short name.
pub(crate) fn mark_timer_changes(
    study: &Study,
    setting: usize,
    of: &Group,
    mut table: Table,
) -> Table {
    let Some(base) = study.baseline() else {
        return table;
    };
    let groups = [
        (of.short.clone(), of.clone()),
        ("elephants".to_owned(), Group::elephants()),
    ];
    let mut any = false;
    for (column, name) in table.columns.clone().iter().enumerate() {
        let group = groups
            .iter()
            .find(|(short, _)| name.starts_with(&format!("{short} mean vs")));
        let Some((_, group)) = group else {
            continue;
        };
        for row in &mut table.rows {
            let design = row[0].text.clone();
            let is_coloured = row[column].tendency.is_some();
            if is_coloured && is_of_timers(study, setting, group, &design, base) {
                row[column].tendency = None;
                row[column].text.push_str(" †");
                any = true;
            }
        }
    }
    if any {
        let note = "† Most of this change comes from the few flows that waited for a retransmission timer.";
        table.caption = format!(
            "{}{}{note}",
            table.caption,
            if table.caption.is_empty() { "" } else { " " }
        );
    }
    table
}

/// Returns whether most of a change in the mean is due to flows that waited for a timer.
/// The flows that waited must be at most a twentieth of all flows.
fn is_of_timers(study: &Study, setting: usize, group: &Group, design: &str, base: &str) -> bool {
    let cells = study.cells();
    let Some(cell) = cells.get(setting) else {
        return false;
    };
    let means = |design: &str| -> Option<(f64, f64, f64)> {
        let (mut all, mut rest, mut rest_sum, mut sum) = (0.0, 0.0, 0.0, 0.0);
        for run in cell.runs(design) {
            let flows = group.members(run).iter();
            for flow in flows.filter(|flow| group.has(flow) && flow.fct_us.is_finite()) {
                all += 1.0;
                sum += flow.fct_us;
                if flow.waited == WaitedTimer::No {
                    rest += 1.0;
                    rest_sum += flow.fct_us;
                }
            }
        }
        (rest > 0.0).then(|| (sum / all, rest_sum / rest, 1.0 - rest / all))
    };
    let (Some(ours), Some(theirs)) = (means(design), means(base)) else {
        return false;
    };
    let change = ours.0 / theirs.0 - 1.0;
    let without = ours.1 / theirs.1 - 1.0;
    let few = ours.2.max(theirs.2);
    few > 0.0 && few <= 0.05 && without / change < 0.5
}
