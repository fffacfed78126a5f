//! Output of a probe: a page of text, and an HTML report with delays over time.

use crate::mda::{Answer, Map, Node};
use crate::measurement::{Findings, Measurement, PathDelays};
use crate::stats::{Change, Figure, quantile};
use tailcut_report::{
    Axis, Cell, Mark, Page, PageSection, Plot, Point, Quantity, Scale, Screen, Series, Table,
};

/// Largest number of points in one line of a plot.
const POINTS: usize = 200;
/// Largest number of lines in a plot.
const LINES: usize = 8;

impl Findings {
    /// Returns one page of text, in lines that fit on a screen.
    pub fn text(&self, screen: Screen) -> String {
        let mut text = format!("{}\n", screen.wrap(&self.verdict.sentence, ""));
        if let Some(changes) = &self.verdict.changes {
            text.push_str(&format!("{}\n", screen.wrap(changes, "")));
        }
        text.push('\n');
        for table in self.tables() {
            text.push_str(&table.to_text(screen));
            text.push('\n');
        }
        for note in self.notes() {
            text.push_str(&format!("{}\n", screen.wrap(&note, "")));
        }
        text
    }

    /// Returns the notes below the tables.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "{} volleys of {} ports in {:.0} s: {} handshakes, {} with a SYN sent again, {} unanswered, {} \
             failed. The SYNs of a volley were sent within {}.",
            self.volleys,
            self.ports,
            self.seconds,
            self.answered,
            self.resent,
            self.unanswered,
            self.failed,
            Quantity::Time.text(self.span_us)
        )];
        let map = &self.paths;
        notes.extend(map.doubts.iter().map(|doubt| format!("{doubt}.")));
        if let Some(groups) = &self.groups {
            let p = groups.p;
            notes.push(match (groups.differ(), groups.groups.len()) {
                (false, _) => format!("Ports do not differ in their delays (p = {p:.3})."),
                (true, 0) => {
                    format!("Ports differ in their delays (p = {p:.3}), and none move together.")
                }
                (true, 1) => {
                    let together = groups.groups.first().map_or(0, Vec::len);
                    format!(
                        "Ports differ in their delays (p = {p:.3}): {together} of them move together."
                    )
                }
                (true, found) => format!(
                    "Ports differ in their delays (p = {p:.3}): {found} groups of them move together."
                ),
            });
        }
        notes
    }

    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.paths_table()];
        tables.extend(self.prediction_table());
        if self.by_path.len() > 1 {
            tables.push(self.delays_table());
        }
        tables
    }

    fn paths_table(&self) -> Table {
        let hops = self.paths.hops.iter();
        let rows = hops.map(|hop| {
            let mut routers: Vec<String> = hop
                .nodes
                .iter()
                .flat_map(|node| &node.next)
                .map(name)
                .collect();
            routers.sort();
            routers.dedup();
            let branching = hop
                .nodes
                .iter()
                .map(|node| node.next.len())
                .max()
                .unwrap_or(0);
            let flows = hop.nodes.iter().map(flows_of).sum();
            vec![
                Cell::count((hop.ttl + 1).into()),
                Cell::count(branching as u64),
                Cell::count(flows),
                Cell::text(shortened(&routers)),
            ]
        });
        Table {
            id: "paths".to_owned(),
            title: format!(
                "{} to {} ({})",
                paths(&self.paths),
                self.target,
                self.address
            ),
            caption: String::new(),
            columns: ["hop", "next hops of a router", "ports asked", "who answers"]
                .map(str::to_owned)
                .to_vec(),
            rows: rows.collect(),
        }
    }

    fn prediction_table(&self) -> Option<Table> {
        let prediction = self.prediction.as_ref()?;
        let row = |name: &str, change: Option<&Change>| {
            let time = |of: fn(&Change) -> Figure| {
                let figure = change.map(of);
                let words = figure.map_or("too few".to_owned(), |figure| {
                    Quantity::Time.with_interval(figure.value, Some((figure.low, figure.high)))
                });
                Cell::new(words, figure)
            };
            let share = change.map(|change| change.change);
            let words = share.map_or("-".to_owned(), |share| {
                let percent = |share: f64| format!("{:.0}", share * 100.0);
                let (low, high) = (percent(share.low), percent(share.high));
                format!("{} % ({low} to {high})", percent(share.value))
            });
            vec![
                Cell::text(name),
                time(|change| change.single),
                time(|change| change.pair),
                Cell::new(words, share),
            ]
        };
        Some(Table {
            id: "prediction".to_owned(),
            title: "Handshakes".to_owned(),
            caption: format!(
                "{} handshakes in {} volleys; 95 % intervals by blocks of {} volleys. The faster of two: \
                 all pairs of ports within a volley.",
                prediction.handshakes, prediction.volleys, prediction.block
            ),
            columns: ["", "one", "faster of two (RepSYN)", "change"]
                .map(str::to_owned)
                .to_vec(),
            rows: vec![
                row("mean", Some(&prediction.mean)),
                row("p50", Some(&prediction.p50)),
                row("p99", prediction.p99.as_ref()),
            ]
            .into_iter()
            .chain(prediction.lost.as_ref().map(lost_row))
            .collect(),
        })
    }

    fn delays_table(&self) -> Table {
        let time = |us: f64| Cell::new(Quantity::Time.text(us), us);
        let row = |path: &PathDelays| {
            vec![
                Cell::text(&path.routers),
                Cell::count(path.ports.len() as u64),
                Cell::count(path.handshakes as u64),
                time(path.mean_us),
                time(path.p50_us),
                time(path.p99_us),
            ]
        };
        let shown = self.by_path.iter().take(2 * LINES).map(row);
        let left = self.by_path.len().saturating_sub(2 * LINES);
        Table {
            id: "by-path".to_owned(),
            title: "Handshakes by path there".to_owned(),
            caption: match left {
                0 => String::new(),
                left => format!("{left} more paths are left out here."),
            },
            columns: ["routers", "ports", "handshakes", "mean", "p50", "p99"]
                .map(str::to_owned)
                .to_vec(),
            rows: shown.collect(),
        }
    }
}

/// Returns the row of lost SYNs.
fn lost_row(lost: &Change) -> Vec<Cell> {
    let percent = |figure: Figure, digits: usize| {
        let text = |share: f64| format!("{:.digits$}", share * 100.0);
        let (low, high) = (text(figure.low), text(figure.high));
        Cell::new(
            format!("{} % ({low} to {high})", text(figure.value)),
            figure,
        )
    };
    vec![
        Cell::text("lost SYNs"),
        percent(lost.single, 2),
        percent(lost.pair, 2),
        percent(lost.change, 0),
    ]
}

fn flows_of(node: &Node) -> u64 {
    node.flows.into()
}

fn paths(map: &Map) -> String {
    match map.paths {
        1 => format!("{} path", map.count()),
        _ => format!("{} paths", map.count()),
    }
}

fn name(answer: &Answer) -> String {
    match answer {
        Answer::Router(address) => address.to_string(),
        Answer::Target => "the target".to_owned(),
        Answer::Silent => "nobody".to_owned(),
    }
}

fn shortened(routers: &[String]) -> String {
    match routers.len() {
        0..=8 => routers.join(", "),
        all => format!("{}, and {} more", routers[..8].join(", "), all - 8),
    }
}

impl Measurement {
    /// Returns the report as one self-contained HTML file. `when` is the time of the measurement.
    pub fn html(&self, findings: &Findings, when: &str) -> String {
        let [paths, rest @ ..] = &findings.tables()[..] else {
            return String::new();
        };
        let page = Page {
            title: format!("probe of {}", findings.target),
            when: when.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            answer: std::iter::once(&findings.verdict.sentence)
                .chain(&findings.verdict.changes)
                .cloned()
                .collect(),
            sections: vec![
                PageSection {
                    id: "handshakes".to_owned(),
                    title: "Handshakes".to_owned(),
                    notes: findings.notes(),
                    tables: rest.to_vec(),
                    plots: vec![self.over_time()],
                },
                PageSection {
                    id: "paths".to_owned(),
                    title: "Paths".to_owned(),
                    notes: Vec::new(),
                    tables: vec![paths.clone()],
                    plots: Vec::new(),
                },
            ],
        };
        page.html()
    }

    /// Returns the plot of each path's median delay over time.
    fn over_time(&self) -> Plot {
        let ways = self.ways();
        let each = self.volleys.len().div_ceil(POINTS).max(1);
        let shown = ways.iter().take(LINES).enumerate();
        let series = shown.map(|(colour, (way, numbers))| {
            let points = self.volleys.chunks(each).filter_map(|volleys| {
                let of_path = volleys.iter().flat_map(|volley| {
                    let handshakes = numbers.iter().filter_map(|one| volley.handshakes[*one]);
                    handshakes.map(|one| one.us)
                });
                let mut delays: Vec<f64> = of_path.collect();
                delays.sort_unstable_by(f64::total_cmp);
                let at = volleys.first()?.at * 1e6;
                Some(Point::new(at, quantile(&delays, 0.5)?))
            });
            Series {
                name: way.clone(),
                colour,
                mark: Mark::Line,
                points: points.collect(),
                runs: Vec::new(),
            }
        });
        let left = match ways.len().saturating_sub(LINES) {
            0 => String::new(),
            left => format!(" {left} more paths are left out."),
        };
        Plot {
            id: "over-time".to_owned(),
            title: "Handshakes over time, by path".to_owned(),
            caption: format!("Medians of the handshakes of {each} volleys at a time.{left}"),
            x: Axis::new("Time", Quantity::Time, Scale::Linear),
            y: Axis::new("Handshake", Quantity::Time, Scale::Log),
            series: series.collect(),
            reference: None,
        }
    }

    /// Returns the volleys from index `from` to the end, as lines of CSV without a header.
    pub fn csv(&self, from: usize) -> String {
        let mut text = String::new();
        for (number, volley) in self.volleys.iter().enumerate().skip(from) {
            for (place, one) in volley.handshakes.iter().enumerate() {
                let Some(one) = one else { continue };
                let port = self.ports.get(place).copied().unwrap_or(0);
                let way = self.map.way(place).unwrap_or_default();
                text.push_str(&format!(
                    "{number},{:.6},{port},{way},{:.1},{},{}\n",
                    volley.at, one.us, one.resent, one.is_answered
                ));
            }
        }
        text
    }
}

/// Header line of [`Measurement::csv`].
pub const CSV_HEADER: &str = "volley,at_seconds,port,routers,handshake_us,resent,answered\n";
