//! Plots as separate files, tables as text, and a study read from its directory.

mod synthetic;

use std::collections::HashSet;
use std::path::Path;
use synthetic::{Behaviour, TCP, compare, manifest, run};
use tailcut_record::{OutputDir, RunKey, SessionOperation, SessionRecord, TableFormat};
use tailcut_report::{
    Axis, Comparison, ComparisonRow, Mark, Plot, Point, Quantity, Scale, Series, Size, Verdict,
    answer, html, json, load, plots, text_table, write_comparisons, write_html,
};
use tailcut_units::{Bytes, Duration, HostId};

const REPFLOW: Behaviour = Behaviour {
    name: "repflow",
    mice_delay: 0.6,
    bytes: 1.064,
    ..TCP
};

/// Returns the width and the height in the header of a PNG file.
fn png_size(png: &[u8]) -> (u32, u32) {
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

/// Returns the width of the first page of a PDF file in points.
fn pdf_width(pdf: &[u8]) -> f64 {
    let text = String::from_utf8_lossy(pdf);
    let (_, numbers) = text.split_once("/MediaBox[0 0 ").expect("a page");
    let (width, _) = numbers.split_once(' ').expect("two numbers");
    width.parse().expect("a number")
}

/// Returns whether the PNG file has 11,811 dots per metre, which are 300 dots per inch.
fn is_at_300_dpi(png: &[u8]) -> bool {
    contains(png, b"pHYs\0\0\x2e\x23\0\0\x2e\x23\x01")
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn every_plot_is_also_an_svg_a_pdf_and_a_png_file() {
    let study = compare(&[TCP, REPFLOW], &[0.3, 0.6], 6, 1_500);
    let plots = plots(&study);
    assert!(plots.len() >= 12, "{}", plots.len());
    let ids: HashSet<&str> = plots.iter().map(|plot| plot.id.as_str()).collect();
    assert_eq!(ids.len(), plots.len(), "one name a plot");
    for plot in &plots {
        let safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        assert!(plot.id.chars().all(safe), "{} is not a file name", plot.id);
        let picture = plot.picture(Size::Screen);
        let svg = &picture.svg;
        // An SVG with style variables or links does not open as a separate file.
        assert!(
            !svg.contains("var(--") && !svg.contains("href"),
            "{}",
            plot.id
        );
        assert!(svg.contains(&format!(">{}<", plot.x.label)), "{}", plot.id);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", plot.id);
        let png = picture.png().expect("a picture");
        let (width, height) = png_size(&png);
        assert_eq!(width, 2_250, "7.5 inches with 300 dots each: {}", plot.id);
        assert!(height > 1_200, "{}", plot.id);
        assert!(is_at_300_dpi(&png), "{}", plot.id);
        for size in Size::PAPER {
            let pdf = plot.picture(size).pdf().expect("a picture");
            let width = pdf_width(&pdf);
            assert!(
                (width - size.inches() * 72.0).abs() < 0.01,
                "{}: {width}",
                plot.id
            );
            assert!(
                contains(&pdf, b"/FontFile2"),
                "{}: the font is embedded",
                plot.id
            );
        }
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("plot-{}.png", plot.id));
        std::fs::write(kept, png).unwrap();
    }
}

#[test]
fn a_page_of_many_flows_is_no_longer_than_one_of_few() {
    let length = |flows| html(&compare(&[TCP, REPFLOW], &[0.3, 0.6], 6, flows)).len() as f64;
    let (few, many) = (length(2_000), length(20_000));
    assert!(many < 1.05 * few, "{few} B if few, {many} B if many");
}

/// Returns a plot of one curve.
fn one_curve(mark: Mark, points: &[(f64, f64)]) -> Plot {
    Plot {
        id: "curve".to_owned(),
        title: "CDF of completion time".to_owned(),
        caption: String::new(),
        x: Axis::new("", Quantity::Number, Scale::Linear),
        y: Axis::new("", Quantity::Number, Scale::Linear),
        series: vec![Series {
            name: "tcp".to_owned(),
            colour: 0,
            mark,
            points: points.iter().map(|&(x, y)| Point::new(x, y)).collect(),
            runs: Vec::new(),
        }],
        reference: None,
    }
}

#[test]
fn a_picture_has_labels_but_no_title_because_a_caption_has_it() {
    let mut plot = one_curve(Mark::Line, &[(0.0, 0.0), (1.0, 1.0)]);
    let without = plot.picture(Size::Screen);
    assert!(!without.svg.contains(">CDF of completion time</text>"));
    plot.x.label = "completion time".to_owned();
    assert_ne!(
        plot.picture(Size::Screen).png().unwrap(),
        without.png().unwrap(),
        "the font has drawn the letters"
    );
}

/// Returns the corners of the curve in the file, from left to right.
fn corners(plot: &Plot) -> Vec<(f64, f64)> {
    let svg = plot.picture(Size::Screen).svg;
    let (_, path) = svg.split_once("class=\"line\" d=\"M").expect("a curve");
    let (path, _) = path.split_once('"').expect("an end");
    let corner = |pair: &str| {
        let (x, y) = pair.split_once(' ').expect("two numbers");
        (x.parse().expect("a number"), y.parse().expect("a number"))
    };
    path.split('L').map(corner).collect()
}

#[test]
fn steps_of_a_distribution_are_exact() {
    let points = [(1.0, 0.9), (2.0, 0.5), (5.0, 0.1)];
    for (mark, height_first) in [(Mark::Step, false), (Mark::StepBefore, true)] {
        let corners = corners(&one_curve(mark, &points));
        assert_eq!(corners.len(), 5, "{mark:?}: {corners:?}");
        for (index, pair) in corners.windows(2).enumerate() {
            let vertical = pair[0].0 == pair[1].0;
            let horizontal = pair[0].1 == pair[1].1;
            assert!(vertical != horizontal, "{mark:?}: a slope in {corners:?}");
            assert_eq!(
                vertical,
                (index % 2 == 0) == height_first,
                "{mark:?}: {corners:?}"
            );
        }
    }
}

#[test]
fn a_curve_of_many_points_keeps_its_shape_with_few_corners() {
    let arc = (0..=5_000).map(|i| f64::from(i) / 5_000.0);
    let points: Vec<(f64, f64)> = arc.map(|x| (x, (1.0 - x * x).sqrt())).collect();
    let corners = corners(&one_curve(Mark::Line, &points));
    assert!((20..400).contains(&corners.len()), "{}", corners.len());
}

#[test]
fn markup_in_names_stays_text_in_files() {
    let hostile = Behaviour {
        name: "a<b>&\"c",
        ..TCP
    };
    for plot in plots(&compare(&[TCP, hostile], &[0.5], 6, 400)) {
        let picture = plot.picture(Size::Screen);
        assert!(!picture.svg.contains("<b>"));
        picture.png().expect("well-formed");
    }
}

#[test]
fn a_plot_of_one_point_or_of_equal_values_is_still_drawn() {
    for scale in [Scale::Linear, Scale::Log] {
        for points in [vec![(5.0, 5.0)], vec![(1.0, 7.0), (2.0, 7.0)]] {
            let plot = Plot {
                id: "flat".to_owned(),
                title: "Flat".to_owned(),
                caption: String::new(),
                x: Axis::new("x", Quantity::Time, scale.clone()),
                y: Axis::new("y", Quantity::Bytes, scale.clone()),
                series: vec![Series {
                    name: "flat".to_owned(),
                    colour: 9,
                    mark: Mark::LineAndDots,
                    points: points.iter().map(|&(x, y)| Point::new(x, y)).collect(),
                    runs: Vec::new(),
                }],
                reference: None,
            };
            let svg = plot.picture(Size::Screen).svg;
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            plot.picture(Size::Screen).png().unwrap();
        }
    }
}

#[test]
fn text_columns_line_up() {
    let study = compare(&[TCP, REPFLOW], &[0.3, 0.5], 6, 1_500);
    let text = text_table(&study);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("Mice (< 100 KB), fat-tree k=8, websearch, load 0.5"),
        "{text}"
    );
    let end = |line: &str| line.chars().count();
    // The last column is aligned right, so that all rows have the same length.
    assert_eq!(end(lines[2]), end(lines[3]), "{text}");
    assert!(text.contains("Mice (< 100 KB) at every setting"), "{text}");
    assert!(text.contains("Student's t over the seeds"), "{text}");
}

#[test]
fn scripts_get_every_table_with_numbers() {
    let study = compare(&[TCP, REPFLOW], &[0.5], 6, 1_500);
    let all = json(&study);
    assert_eq!(all["answer"], answer(&study));
    assert_eq!(all["baseline"], "tcp");
    let tables = all["tables"].as_array().unwrap();
    let find = |id: &str| {
        tables
            .iter()
            .find(|table| table["id"] == id)
            .expect("a table")
    };
    let row = &find("headline")["rows"][1];
    assert!(row["vs tcp"]["value"].as_f64().unwrap() < 1.0);
    assert_eq!(row["vs tcp"]["seeds"], 6);
    assert_eq!(row["vs tcp"]["interval"].as_array().unwrap().len(), 2);
    assert!(row["mice"].as_u64().unwrap() > 1_000);
    assert!(find("fct-0")["rows"].as_array().unwrap().len() >= 8);
    assert_eq!(
        find("counts")["rows"][0]["drops by reason"]["tail"]["packets"],
        7_404
    );
}

#[test]
fn a_study_on_disk_gives_the_same_answer_as_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let records: Vec<_> = [TCP, REPFLOW]
        .into_iter()
        .flat_map(|design| (1..=6).map(move |seed| run(design, Some(0.5), seed, 1_500)))
        .collect();
    let keys: Vec<RunKey> = records.iter().map(|run| run.key.clone()).collect();
    let output = OutputDir::create(dir.path(), manifest(keys), TableFormat::Parquet).unwrap();
    for (index, record) in records.iter().enumerate() {
        output.write_run(index, record).unwrap();
    }
    let comparison = Comparison {
        name: "Figure 5".to_owned(),
        rows: vec![ComparisonRow {
            metric: "p99".to_owned(),
            ours: Some(0.7),
            // JSON has no infinite numbers. An open end must still be infinite after reading.
            ours_ci: Some((0.69, f64::INFINITY)),
            seeds: 6,
            flows: Some(2_000),
            theirs: Some(0.6),
            band: Some((f64::NEG_INFINITY, 0.65)),
            verdict: Verdict::of(
                Some(0.7),
                Some((0.69, f64::INFINITY)),
                Some((f64::NEG_INFINITY, 0.65)),
            ),
            seeds_that_would_do: None,
            why: "Another network.".to_owned(),
        }],
    };
    write_comparisons(dir.path(), std::slice::from_ref(&comparison)).unwrap();

    let study = load(dir.path()).unwrap();
    assert_eq!(study.comparisons, [comparison]);
    assert!(html(&study).contains("OUTSIDE"));
    assert_eq!(answer(&study), answer(&synthetic::study(&records)));

    let page = dir.path().join("report.html");
    write_html(&study, &page).unwrap();
    assert_eq!(std::fs::read_to_string(page).unwrap(), html(&study));
    let error = write_html(&study, dir.path().join("missing/report.html")).unwrap_err();
    assert!(error.to_string().contains("missing/report.html"), "{error}");
}

#[test]
fn the_page_carries_all_it_needs() {
    let page = html(&compare(&[TCP, REPFLOW], &[0.5], 6, 400));
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    let headline = page.find("<h1>").unwrap();
    assert!(
        headline < page.find("<table>").unwrap(),
        "the answer comes first"
    );
}

#[test]
fn a_damaged_run_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let record = run(TCP, Some(0.5), 1, 100);
    let output = OutputDir::create(
        dir.path(),
        manifest(vec![record.key.clone()]),
        TableFormat::Parquet,
    )
    .unwrap();
    output.write_run(0, &record).unwrap();
    let flows = dir.path().join("runs/0000-tcp-load0.5-seed1/flows.parquet");
    std::fs::write(&flows, b"PAR1").unwrap();
    let error = load(dir.path()).unwrap_err().to_string();
    assert!(error.contains("flows.parquet: damaged"), "{error}");
}

/// Returns the points of one design in the plot `id`.
fn points<'a>(plots: &'a [Plot], id: &str, design: &str) -> &'a [Point] {
    let plot = plots.iter().find(|plot| plot.id == id);
    let series = plot.expect("the plot").series.iter();
    let found = series.into_iter().find(|series| series.name == design);
    &found.expect("a line of the design").points
}

#[test]
fn goodput_is_ranked_from_the_slowest_flow_to_the_fastest() {
    let unfinished = Behaviour {
        name: "lossy",
        unfinished_one_in: 10,
        ..TCP
    };
    let records = [
        run(TCP, Some(0.5), 1, 3_000),
        run(unfinished, Some(0.5), 1, 3_000),
    ];
    let plots = plots(&synthetic::study(&records));
    let line = points(&plots, "goodput-rank-0-0", "tcp");
    let goodput = |flow: &tailcut_record::FlowRecord| {
        flow.fct
            .map_or(0.0, |fct| flow.bytes.0 as f64 * 8e6 / fct.as_us_f64())
    };
    let mut all: Vec<f64> = records[0].flows.iter().map(goodput).collect();
    all.sort_by(f64::total_cmp);
    assert_eq!(line[0].y, all[0]);
    assert_eq!(line[line.len() - 1].y, all[2_999]);
    assert!(
        line.windows(2)
            .all(|pair| pair[0].y <= pair[1].y && pair[0].x < pair[1].x)
    );
    for point in line {
        let rank = (point.x * 3_000.0 - 0.5).round() as usize;
        assert_eq!(point.y, all[rank], "rank {rank}");
    }
    // A tenth of the flows do not finish. The goodput of unfinished flows is zero.
    let lossy = points(&plots, "goodput-rank-0-0", "lossy");
    let none = lossy.iter().filter(|point| point.y == 0.0).count() as f64 / lossy.len() as f64;
    assert!((0.08..0.13).contains(&none), "{none}");
}

#[test]
fn sessions_are_ranked_by_the_goodput_until_their_last_receiver_writes_and_reads_apart() {
    let session = |number, operation, receiver, completion_us: Option<u64>| SessionRecord {
        session: number,
        operation,
        receiver: HostId(receiver),
        bytes: Bytes(1_000),
        completion: completion_us.map(Duration::from_us),
        ..SessionRecord::default()
    };
    let mut record = run(TCP, Some(0.5), 1, 100);
    let (write, read) = (SessionOperation::Write, SessionOperation::Read);
    record.sessions = vec![
        session(0, write, 1, Some(2)),
        session(0, write, 2, Some(8)),
        session(1, read, 3, Some(1)),
        session(2, write, 1, Some(4)),
        session(2, write, 2, None),
        session(3, write, 2, Some(4)),
    ];
    let plots = plots(&synthetic::study(&[record]));
    let heights = |id| -> Vec<f64> {
        let line = points(&plots, id, "tcp");
        line.iter().map(|point| point.y).collect()
    };
    assert_eq!(heights("goodput-rank-0-0"), [0.0, 1e9, 2e9], "writes");
    assert_eq!(heights("goodput-rank-0-1"), [8e9], "reads");
}

#[test]
fn amplification_counts_what_was_sent_for_flows_that_never_finished() {
    let unfinished = Behaviour {
        name: "lossy",
        unfinished_one_in: 4,
        ..TCP
    };
    let study = compare(&[TCP, unfinished], &[0.3, 0.6], 6, 1_500);
    let plots = plots(&study);
    let tcp = points(&plots, "amplification", "tcp");
    assert_eq!(
        tcp.iter().map(|point| point.x).collect::<Vec<_>>(),
        [0.3, 0.6]
    );
    // The ratio is 1.05 by construction, except for the rounding of each flow's bytes.
    assert!(
        tcp.iter().all(|point| (point.y - 1.05).abs() < 1e-4),
        "{tcp:?}"
    );
    let lossy = points(&plots, "amplification", "lossy");
    assert!(
        lossy.iter().all(|point| (1.2..1.7).contains(&point.y)),
        "{lossy:?}"
    );
    assert!(
        lossy.iter().all(|point| point.whisker.is_some()),
        "three seeds"
    );
    let wasted = points(&plots, "wasted-bytes", "lossy");
    let sent = study
        .runs()
        .iter()
        .find(|run| run.summary.key.design == "lossy");
    let sent = sent.expect("a run").summary.payload_sent_bytes as f64;
    assert!(
        wasted[0].y > 0.15 * sent && wasted[0].y < sent,
        "{wasted:?}"
    );
}

#[test]
fn bytes_in_vain_are_counted_flow_by_flow() {
    let mut record = run(TCP, Some(0.5), 1, 1_000);
    for (index, flow) in record.flows.iter_mut().enumerate() {
        let wasted = match index % 10 {
            0 => 3_000,
            1 | 2 => 1_500,
            _ => 0,
        };
        flow.payload_sent.0 = flow.bytes.0 + wasted;
    }
    let plots = plots(&synthetic::study(&[record]));
    let curve = points(&plots, "wasted-ccdf-0", "tcp");
    let places: Vec<(f64, f64)> = curve.iter().map(|point| (point.x, point.y)).collect();
    // The curve ends at the share of a single flow, although a tenth of the flows share the largest value.
    let expected = [(1_500.0, 0.3), (3_000.0, 0.1), (3_000.0, 0.001)];
    assert_eq!(places, expected);
}

#[test]
fn an_empty_queue_counts_though_no_row_says_so() {
    let mut record = run(TCP, Some(0.5), 1, 500);
    let switch_ports = record
        .topology
        .iter()
        .filter(|link| link.from_tier > 0)
        .count();
    let port = record
        .topology
        .iter()
        .find(|link| link.from_tier > 0)
        .expect("a switch")
        .port;
    let host_port = record
        .topology
        .iter()
        .find(|link| link.from_tier == 0)
        .expect("a host")
        .port;
    record
        .queues
        .retain(|sample| sample.port == port || sample.port == host_port);
    let rows = record
        .queues
        .iter()
        .filter(|sample| sample.port == port)
        .count();
    let bytes: u64 = record
        .queues
        .iter()
        .filter(|s| s.port == port)
        .map(|s| s.backlog.0)
        .sum();
    let all = json(&synthetic::study(&[record]));
    let tables = all["tables"].as_array().expect("tables");
    let table = tables
        .iter()
        .find(|table| table["id"] == "queues")
        .expect("the table");
    let row = &table["rows"][0];
    let samples = 400 * switch_ports;
    assert_eq!(row["samples"], samples);
    let empty = 1.0 - rows as f64 / samples as f64;
    assert!((row["empty"].as_f64().expect("a share") - empty).abs() < 1e-12);
    let mean = bytes as f64 / samples as f64;
    assert!((row["mean"].as_f64().expect("bytes") - mean).abs() < 1e-6);
    assert_eq!(row["p99"], 0.0, "fewer than 1 % of the samples are above 0");
}
