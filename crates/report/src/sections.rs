//! Sections of the page, in order: the answer, the sections of each place, and the sections that all places share.
//!
//! A place is a combination of topology and workload. A study with one place has one section for each subject.
//! With several places, each place has one section with all subjects. Different places are not compared.

use crate::answer::{sentences, sentences_at};
use crate::group::Group;
use crate::headline::{answer_statistic, headline_group};
use crate::markup::{show_cards, show_plots, show_small, show_table, table_rows, unbroken};
use crate::network;
use crate::sample::Metric;
use crate::scales::capital;
use crate::study::Study;
use crate::table::Table;
use crate::{
    Comparison, goodput, lateness, load, over_axes, overhead, plots, queue, requests, sensitivity,
    tables, timers,
};
use maud::{Markup, html};

/// Section of the page.
pub(crate) struct Section {
    pub id: String,
    pub title: String,
    pub body: Markup,
}

/// Returns the answer and, if there is only one place, the table and plots behind it.
pub(crate) fn opening(study: &Study) -> Markup {
    let sentences = sentences(study);
    let headlines = study.analysis().headlines();
    html! {
        div class="answer" {
            @for (index, sentence) in sentences.iter().enumerate() {
                @if index == 0 { h1 { (unbroken(sentence)) } } @else { p { (unbroken(sentence)) } }
            }
        }
        @if let [headline] = headlines[..] {
            section id="answer" {
                h2 { "The answer in numbers" }
                (headline_table(study, headline))
            }
        }
    }
}

/// Returns the table and plots behind a place's answer.
fn headline_table(study: &Study, headline: usize) -> Markup {
    html! {
        @if let Some(table) = tables::headline(study, headline) {
            (show_cards(&table))
            p class="note" { (unbroken(&tables::method_note(study, &[table]))) }
        }
        @for table in tables::of_sessions(study, headline) { (show_table(&table)) }
        (show_plots(&plots::by_design(study, headline)))
    }
}

/// Returns the sections that are not empty.
pub(crate) fn sections(study: &Study) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut add = |id: &str, title: &str, body: Option<Markup>| {
        sections.extend(body.map(|body| Section {
            id: id.to_owned(),
            title: title.to_owned(),
            body,
        }));
    };
    let analysis = study.analysis();
    let has_flows = !analysis.rows.is_empty();
    add(
        "published",
        "Published figures",
        published(&study.comparisons),
    );
    match analysis.headlines()[..] {
        [headline] if has_flows => {
            for subject in subjects(study, headline) {
                add(&subject.id, &subject.title, Some(subject.body));
            }
        }
        _ => {
            for headline in analysis.headlines().into_iter().filter(|_| has_flows) {
                let here = &analysis.settings[headline];
                let title = format!("{}, {}", here.topology, here.workload);
                let id = format!("place-{headline}");
                add(&id, &title, Some(place(study, headline)));
            }
        }
    }
    add(
        "requests",
        "Requests",
        requests::table(study).map(|table| show_table(&table)),
    );
    add("figures", "All figures", has_flows.then(|| figures(study)));
    add(
        "offered",
        "Offered load",
        load::table(study).map(|table| show_table(&table)),
    );
    add(
        "punctuality",
        "Runs on real hosts",
        lateness::table(study).map(|table| show_table(&table)),
    );
    add(
        "timers",
        "Retransmission timers",
        timers::table(study).map(|table| show_table(&table)),
    );
    add(
        "sensitivity",
        "Other timers and buffers",
        sensitivity::table(study).map(|table| show_table(&table)),
    );
    add(
        "unfinished",
        "Unfinished",
        has_flows.then(|| unfinished(study)),
    );
    add(
        "counts",
        "Packets and bytes",
        (has_flows && sent_packets(study)).then(|| show_table(&tables::counts(study))),
    );
    add("method", "Method", Some(method()));
    add("provenance", "Provenance", Some(provenance(study)));
    sections
}

/// Returns the section of one of several places: its answer and its subjects.
fn place(study: &Study, headline: usize) -> Markup {
    html! {
        @for sentence in sentences_at(study, headline) { p { (unbroken(&sentence)) } }
        (headline_table(study, headline))
        @for subject in subjects(study, headline) {
            h3 class="subject" id=(format!("{}-{headline}", subject.id)) { (subject.title) }
            (subject.body)
        }
    }
}

/// Returns the sections of a place, one per subject.
fn subjects(study: &Study, headline: usize) -> Vec<Section> {
    let over = match study.analysis().settings[headline].parameters.is_empty() {
        true => "Over the load",
        false => "Over the swept keys",
    };
    let plots_of = |plots: Vec<_>| (!plots.is_empty()).then(|| show_plots(&plots));
    let all = [
        ("load", over, over_axes_of(study, headline)),
        (
            "distribution",
            "Distribution",
            Some(distribution(study, headline)),
        ),
        (
            "size",
            "By flow size",
            plots_of(plots::by_size(study, headline)),
        ),
        (
            "goodput",
            "Goodput",
            plots_of(goodput::plots(study, headline)),
        ),
        (
            "overhead",
            "Wasted bytes",
            plots_of(overhead::plots(study, headline)),
        ),
        ("network", "Network", network(study, headline)),
        ("queues", "Queues", queues(study, headline)),
    ];
    let shown = all.into_iter().filter_map(|(id, title, body)| {
        Some(Section {
            id: id.to_owned(),
            title: title.to_owned(),
            body: body?,
        })
    });
    shown.collect()
}

fn published(comparisons: &[Comparison]) -> Option<Markup> {
    (!comparisons.is_empty()).then(|| {
        html! {
            p { "Our figures and the published ones. Ours should be in the band. The last column gives the \
                 reason for a difference." }
            @for comparison in comparisons { (show_table(&comparison.table())) }
        }
    })
}

fn over_axes_of(study: &Study, headline: usize) -> Option<Markup> {
    let table = tables::sweep(study, headline)?;
    let maps = over_axes::heat_maps(study, headline);
    let multiples = over_axes::multiples(study, headline);
    Some(html! {
        (show_plots(&over_axes::lines(study, headline)))
        @if !maps.is_empty() {
            h3 class="part" { "Over two keys" }
            (show_plots(&maps))
        }
        @if !multiples.is_empty() {
            @let group = headline_group(study.analysis(), headline);
            @let name = answer_statistic(study.analysis(), headline).name();
            h3 class="part" { (capital(&name)) " of the " (group.time()) ", one plot for each value" }
            (show_small(&multiples))
        }
        (show_table(&table))
    })
}

fn distribution(study: &Study, headline: usize) -> Markup {
    let analysis = study.analysis();
    html! {
        (show_plots(&plots::distributions(study, headline)))
        @for setting in analysis.with_distributions(headline).into_iter().filter(|s| *s != headline) {
            details {
                summary { "Distribution at " (analysis.setting_name(setting)) }
                (show_plots(&plots::distributions(study, setting)))
            }
        }
    }
}

/// Returns whether packets crossed a network. A model of servers has no network.
fn has_network(study: &Study, headline: usize) -> bool {
    let mut rows = study.analysis().rows.iter();
    if rows.any(|row| row.setting == headline && row.group == Group::all()) {
        return true;
    }
    // Requests are not flows. If requests cross a network, the record contains ports.
    let cells = study.cells();
    let mut runs = cells[headline].designs.iter().flat_map(|(_, runs)| runs);
    runs.any(|run| !run.ports.is_empty())
}

/// Returns whether any run sent packets. A model of servers sends no packets.
fn sent_packets(study: &Study) -> bool {
    let mut runs = study.runs().iter();
    runs.any(|run| run.summary.sent.packets > 0)
}

fn network(study: &Study, headline: usize) -> Option<Markup> {
    has_network(study, headline).then(|| html! {
        @if let Some(network) = network::section(study, headline) {
            (network)
            (show_plots(&network::plots(study, headline)))
        } @else {
            p { "Links were not sampled in these runs. A scenario samples them with " code { "sample_every" } "." }
        }
    })
}

fn queues(study: &Study, headline: usize) -> Option<Markup> {
    has_network(study, headline).then(|| {
        html! {
            @if let Some(table) = queue::table(study, headline) {
                (show_plots(&queue::plots(study, headline)))
                (show_table(&table))
            } @else {
                p { "Queues were not sampled in these runs, or all samples were empty." }
            }
        }
    })
}

fn figures(study: &Study) -> Markup {
    let analysis = study.analysis();
    let settings: Vec<(usize, Vec<Table>)> = (0..analysis.settings.len())
        .map(|setting| {
            let known = [Metric::Fct, Metric::Slowdown].into_iter();
            let known = known.filter(|metric| tables::is_known(study, setting, *metric));
            let tables = known.map(|metric| tables::figures(study, setting, metric));
            (setting, tables.collect())
        })
        .collect();
    let all: Vec<Table> = settings
        .iter()
        .flat_map(|(_, tables)| tables.clone())
        .collect();
    html! {
        p class="note" { (unbroken(&tables::method_note(study, &all))) }
        @for (setting, tables) in &settings {
            @for table in tables {
                details open[analysis.headlines().contains(setting)] {
                    summary { (table.title) }
                    (table_rows(table))
                }
            }
        }
    }
}

fn unfinished(study: &Study) -> Markup {
    html! {
        @match tables::unfinished(study) {
            Some(table) => (show_table(&table)),
            None => p { "All flows of all runs finished." },
        }
    }
}

fn method() -> Markup {
    let [mice, medium, elephants] = Group::main().map(|group| group.name);
    html! {
        dl {
            dt { "Completion time" }
            dd { "Time from the start of the flow in the application until the receiver has its last byte." }
            dt { "Slowdown" }
            dd { "Completion time divided by the completion time of the same flow alone in the network." }
            dt { "Groups" }
            dd { (mice) ", " (medium) ", " (elephants) "; 1 KB is 1,000 bytes." }
            dt { "Percentiles" }
            dd { "Over all flows of all seeds together, without interpolation: the smallest completion time \
                  that at least this share of the flows does not exceed. A percentile needs six seeds, and \
                  ten flows beyond it." }
            dt { "Unfinished" }
            dd { "Unfinished flows are the slowest in percentiles and distributions. Means leave them out." }
            dt { "Intervals" }
            dd { "95 %, for each figure separately. Percentiles and their ratios: 2,000 resamples of the seeds, \
                  the same for all designs, with ends moved outward for few seeds (expanded percentile \
                  interval). Means, shares and ratios of means: Student's t over the seeds. Ratios are \
                  paired by seed, because one seed gives all designs the same arrivals." }
            dt { "Gaps" }
            dd { "A gap is a range of times that almost no flow takes, such as just below a retransmission \
                  timeout. Chance decides on which side of a gap a percentile falls. Its interval then spans \
                  the gap, and the share of flows beyond the gap is the better figure." }
            dt { "Difference" }
            dd { "The report calls a design faster or slower only if the interval of its ratio excludes one. \
                  The answer at the top compares several designs, so that its intervals are corrected for \
                  several comparisons (Bonferroni). The intervals of tables and plots are not." }
            dt { "Curves" }
            dd { "Steps of distributions are exact. A curve leaves out corners that move it by less than half a \
                  pixel. It is drawn through 1,261 ranks at most: evenly spaced, or for tails and wasted bytes \
                  spaced by the logarithm of the number of flows beyond. Up to 65 points of a curve have a \
                  tooltip. A click on a point shows the run and the row of its flow. Tables contain all flows." }
            dt { "Bytes" }
            dd { "All bytes that hosts sent, including headers, copies, retransmissions and acknowledgements." }
        }
    }
}

fn provenance(study: &Study) -> Markup {
    let finished = study.runs().len();
    html! {
        @for manifest in study.manifests() {
            dl {
                dt { "Command" }
                dd { code { (manifest.command_line.join(" ")) } }
                dt { "Version" }
                dd { (manifest.version) }
                dt { "Started" }
                dd { (manifest.started_at) }
                dt { "Machine" }
                dd { (manifest.host.cores) " cores, " (manifest.host.os) ", " (manifest.host.arch) }
                dt { "First seed" }
                dd { (manifest.seed) }
                @if study.manifests().count() == 1 {
                    dt { "Runs" }
                    dd { (finished) " of " (manifest.runs.len()) " finished" }
                }
            }
            details {
                summary { "Configuration" }
                @let config = serde_json::to_string_pretty(&manifest.config).unwrap_or_default();
                pre tabindex="0" { (config) }
            }
        }
        details {
            summary { "Runs and their record hashes" }
            (table_rows(&tables::runs(study)))
        }
    }
}
