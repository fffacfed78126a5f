//! Tests of the drawing of the network in a real browser: its slider, its playback, its readout, and its size.

use crate::chromium::{Chromium, Tab};
use crate::synthetic::{Behaviour, HOTSPOT, TCP, run, study};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use tailcut_record::{LinkFailure, LinkTrouble, RunRecord, TopologyLink};
use tailcut_report::{Size, Study, html, pictures, text_answer};
use tailcut_units::{Duration, Rate, Time};

const REPFLOW: Behaviour = Behaviour {
    name: "repflow",
    ..TCP
};

/// Port that is hot in the second half of the moving run, instead of [`HOTSPOT`].
const LATER: &str = "s2>h4";

fn port(record: &RunRecord, name: &str) -> u32 {
    let found = record.ports.iter().find(|port| port.name == name);
    found.expect("a port of the synthetic network").port
}

/// Returns a run whose hotspot moves to another port after half of the time. All other links are idle.
fn moving(behaviour: Behaviour) -> RunRecord {
    let mut record = run(behaviour, Some(0.5), 1, 2_000);
    let (first, second) = (port(&record, HOTSPOT), port(&record, LATER));
    let end = record.links.last().expect("samples").time.as_ps();
    let hot = |time: Time| match time.as_ps() <= end / 2 {
        true => first,
        false => second,
    };
    record
        .links
        .retain(|sample| sample.link == hot(sample.time));
    record
        .queues
        .retain(|sample| sample.port == hot(sample.time));
    for sample in &mut record.links {
        sample.utilisation = 1.0;
    }
    record
}

/// Writes the page of `study` to a file that stays after the test.
fn page(name: &str, study: &Study) -> PathBuf {
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("network-{name}.html"));
    fs::write(&page, html(study)).expect("the file can be written");
    page
}

fn browser(page: &Path) -> Option<Chromium> {
    let browser = Chromium::start();
    if browser.is_none() {
        let shown = page.display();
        eprintln!("SKIPPED: no Chromium on this machine; the page is {shown}");
    }
    browser
}

/// Script that returns the contents of the drawing: the text above it, and the names of the links of each step.
const SHOWN: &str = r#"(() => {
    const card = document.querySelector(".network");
    const film = JSON.parse(card.querySelector("script").textContent);
    const named = (paths, of) => {
        const places = new Map(of.map((path, direction) => [path, film.names[direction]]));
        return (paths.match(/M[^M]+/g) ?? []).map((path) => places.get(path)).sort();
    };
    const steps = {};
    for (const path of card.querySelectorAll(".scroll .heat path")) {
        const name = path.getAttribute("class");
        steps[name] = named(path.getAttribute("d"), name[0] === "b" ? film.lines : film.ports);
    }
    return { when: card.querySelector(".when").textContent.trim(), steps, frames: film.frames.length,
             seen: (() => {
                 const [box, hot] = [card.querySelector(".scroll"), card.querySelector(".heat .b6")].map((e) => e.getBoundingClientRect());
                 return hot.left >= box.left && hot.right <= box.right;
             })(),
             value: Number(card.querySelector(".time").value),
             spoken: card.querySelector(".time").getAttribute("aria-valuetext") };
})()"#;

fn scrub(tab: &mut Tab<'_>, frame: u64) -> Value {
    tab.evaluate(&format!(
        r#"(() => {{ const slider = document.querySelector(".network .time"); slider.value = {frame};
            slider.dispatchEvent(new Event("input", {{ bubbles: true }})); }})()"#
    ));
    tab.evaluate(SHOWN)
}

#[test]
fn scrubbing_shows_where_it_was_hot_and_when() {
    let study = study(&[moving(TCP), moving(REPFLOW)]);
    let page = page("moving", &study);
    let Some(mut browser) = browser(&page) else {
        return;
    };
    for width in [1_280, 360] {
        let mut tab = browser.open(&page, width, false);
        let as_written = tab.evaluate(SHOWN);
        let last = as_written["frames"].as_u64().expect("frames") - 1;
        assert_eq!(last, 99, "400 samples, four in each frame");

        assert_eq!(
            as_written["seen"], true,
            "the hot port is visible at {width} px"
        );

        // The page already contains the drawing of this frame. The script must draw the same.
        let busiest = as_written["value"].as_u64().expect("a frame");
        let drawn = scrub(&mut tab, busiest);
        assert_eq!(drawn, as_written);

        let early = scrub(&mut tab, 0);
        assert_eq!(early["steps"]["b6"], json!(["s4 → h8, 10 Gb/s"]), "{early}");
        assert_eq!(early["steps"]["w4"], json!(["s4 → h8, 10 Gb/s"]));
        let late = scrub(&mut tab, last);
        assert_eq!(late["steps"]["b6"], json!(["s2 → h4, 10 Gb/s"]), "{late}");
        assert!(late["steps"]["w4"] == json!([]), "its queue is short");
        // All other links are idle, and each direction is in exactly one step.
        assert_eq!(late["steps"]["b0"].as_array().map(Vec::len), Some(95));
        assert_ne!(early["spoken"], late["spoken"]);
        assert!(
            late["when"]
                .as_str()
                .unwrap_or("")
                .contains("tcp, seed 1, ")
        );
        tab.screenshot(&page.with_extension(format!("{width}.png")));

        tab.evaluate(r#"document.querySelectorAll(".network fieldset input")[1].click()"#);
        let other = tab.evaluate(SHOWN);
        assert!(
            other["when"]
                .as_str()
                .unwrap_or("")
                .starts_with("repflow, seed 1, "),
            "{other}"
        );
        assert_eq!(other["value"], late["value"], "the time stays");
    }
}

#[test]
fn the_film_plays_to_its_end_and_can_be_paused() {
    let study = study(&[moving(TCP)]);
    let page = page("played", &study);
    let Some(mut browser) = browser(&page) else {
        return;
    };
    let mut tab = browser.open(&page, 1_280, false);
    scrub(&mut tab, 10);
    let seen = tab.evaluate(
        r#"(async () => {
            const card = document.querySelector(".network");
            const [play, slider] = [card.querySelector(".play"), card.querySelector(".time")];
            const until = (is) => new Promise((done) => {
                const look = () => (is() ? done() : requestAnimationFrame(look));
                look();
            });
            play.click();
            const playing = play.getAttribute("aria-pressed");
            await until(() => Number(slider.value) >= 12);
            play.click();
            const paused = [play.textContent, play.getAttribute("aria-pressed")];
            slider.value = slider.max - 1;
            slider.dispatchEvent(new Event("input"));
            play.click();
            await until(() => play.getAttribute("aria-pressed") === "false");
            return { playing, paused, end: slider.value === slider.max };
        })()"#,
    );
    let expected = json!({ "playing": "true", "paused": ["Play", "false"], "end": true });
    assert_eq!(seen, expected);
}

#[test]
fn a_link_says_its_name_and_figures_to_pointer_and_keyboard() {
    let study = study(&[moving(TCP)]);
    let page = page("asked", &study);
    let Some(mut browser) = browser(&page) else {
        return;
    };
    for width in [1_280, 360] {
        let mut tab = browser.open(&page, width, false);
        scrub(&mut tab, 0);
        let said = tab.evaluate(
            r#"(() => {
                const card = document.querySelector(".network");
                const svg = card.querySelector(".scroll svg");
                const tip = card.querySelector(".tip");
                const film = JSON.parse(card.querySelector("script").textContent);
                const line = film.lines[film.names.findIndex((name) => name.startsWith("s4 → h8"))];
                const [from, to] = line.slice(1).split("L").map((pair) => pair.split(" ").map(Number));
                const box = svg.getBoundingClientRect();
                const zoom = box.width / svg.viewBox.baseVal.width;
                const at = { clientX: box.left + ((from[0] + to[0]) / 2) * zoom,
                             clientY: box.top + ((from[1] + to[1]) / 2) * zoom };
                svg.dispatchEvent(new PointerEvent("pointermove", at));
                const pointed = tip.innerText;
                const [inner, outer] = [tip.getBoundingClientRect(), card.getBoundingClientRect()];
                const inside = inner.left >= outer.left && inner.right <= outer.right;
                svg.dispatchEvent(new PointerEvent("pointerleave"));
                const left = tip.hidden;
                svg.focus();
                const press = (key) => svg.dispatchEvent(new KeyboardEvent("keydown", { key }));
                press("ArrowRight");
                const fullest = tip.innerText;
                press("ArrowRight");
                const next = tip.innerText;
                press("Escape");
                return { pointed, inside, left, fullest, moved: next !== fullest, closed: tip.hidden,
                         small: [...svg.querySelectorAll("text")].filter((text) => text.getBoundingClientRect().height < 9).length,
                         wide: document.documentElement.scrollWidth > innerWidth + 1 };
            })()"#,
        );
        let hot =
            "s4 → h8, 10 Gb/s\n100 % busy, queue 135 KB\nh8 → s4, 10 Gb/s\n0 % busy, no queue";
        let expected = json!({
            "pointed": hot, "inside": true, "left": true, "fullest": hot, "moved": true, "closed": true,
            "small": 0, "wide": false,
        });
        assert_eq!(said, expected, "{width} px");
    }
}

/// Script that returns the marks of failed links: the subpaths of each mark, and the tooltip of the link s4 to s9.
const TROUBLE: &str = r#"(() => {
    const card = document.querySelector(".network");
    const film = JSON.parse(card.querySelector("script").textContent);
    const drawn = (name) => {
        const path = card.querySelector(`.scroll .trouble .${name}`);
        return path === null ? null : (path.getAttribute("d").match(/M/g) ?? []).length;
    };
    const line = film.lines[film.names.findIndex((name) => name.startsWith("s4 → s9"))];
    const svg = card.querySelector(".scroll svg");
    const [from, to] = line.slice(1).split("L").map((pair) => pair.split(" ").map(Number));
    const box = svg.getBoundingClientRect();
    const zoom = box.width / svg.viewBox.baseVal.width;
    svg.dispatchEvent(new PointerEvent("pointermove", {
        clientX: box.left + (from[0] + (to[0] - from[0]) * 0.4) * zoom,
        clientY: box.top + (from[1] + (to[1] - from[1]) * 0.4) * zoom }));
    const said = card.querySelector(".tip").innerText.split("\n").slice(4);
    svg.dispatchEvent(new PointerEvent("pointerleave"));
    return { cut: drawn("cut"), down: drawn("down"), worn: drawn("worn"), slow: drawn("slow"), lossy: drawn("lossy"), said,
             legend: card.innerText.includes("Link in trouble") };
})()"#;

/// Adds a failure or impairment to the link between two nodes, in both directions.
fn in_trouble(
    record: &mut RunRecord,
    ends: [&str; 2],
    trouble: LinkTrouble,
    (from, until): (Time, Option<Time>),
) {
    let [a, b] = ends;
    for name in [format!("{a}>{b}"), format!("{b}>{a}")] {
        let link = port(record, &name);
        record.failures.push(LinkFailure {
            link,
            trouble,
            from,
            until,
        });
    }
}

#[test]
fn links_in_trouble_are_marked_while_they_are() {
    let mut record = moving(TCP);
    let end = record.links.last().expect("samples").time;
    let half = Time::from_ns(end.as_ns() / 2);
    in_trouble(
        &mut record,
        ["s4", "s9"],
        LinkTrouble::Down,
        (Time::ZERO, Some(half)),
    );
    let gigabit = LinkTrouble::Slow(Rate::from_gbps(1));
    in_trouble(&mut record, ["s2", "s10"], gigabit, (Time::ZERO, None));
    let lossy = LinkTrouble::Lossy(15_000_000);
    in_trouble(&mut record, ["s3", "s11"], lossy, (Time::ZERO, None));
    let study = study(&[record]);
    let page = page("trouble", &study);
    let text = html(&study);
    assert!(text.contains("Links in trouble"), "a table");
    assert!(text.contains("<td>s4 – s9</td>"), "its row");
    let answer = text_answer(&study);
    assert!(
        answer.contains("s2 – s10 slowed to 1 Gb/s all the time"),
        "{answer}"
    );
    assert!(text.contains("loses 1.5 % of packets"), "what is wrong");
    for picture in pictures(&study, &[Size::Screen])
        .iter()
        .filter(|p| p.id.starts_with("network-"))
    {
        assert!(picture.svg.contains("In trouble"), "a legend in the file");
        let png = picture.png().expect("a picture");
        fs::write(page.with_extension("png"), png).expect("the file can be written");
    }
    let Some(mut browser) = browser(&page) else {
        return;
    };
    for (width, dark) in [(1_280, false), (360, true)] {
        let mut tab = browser.open(&page, width, dark);
        scrub(&mut tab, 0);
        let early = tab.evaluate(TROUBLE);
        tab.screenshot(&page.with_extension(format!("{width}-early.png")));
        let words = early["said"][0].as_str().unwrap_or("").to_owned();
        assert!(words.starts_with("down from the start, until "), "{early}");
        // A line has one part for each direction.
        let marks = |cut, down, said: Vec<String>| json!({ "cut": cut, "down": down, "worn": 4, "slow": 1, "lossy": 1, "said": said, "legend": true });
        assert_eq!(early, marks(2, 1, vec![words]));
        scrub(&mut tab, 99);
        tab.screenshot(&page.with_extension(format!("{width}-late.png")));
        assert_eq!(tab.evaluate(TROUBLE), marks(0, 0, Vec::new()));
    }
}

#[test]
fn a_network_without_trouble_says_nothing_of_it() {
    let text = html(&study(&[moving(TCP)]));
    assert!(!text.contains("ink in trouble:") && !text.contains("class=\"trouble\""));
}

#[test]
fn without_scripts_the_busiest_time_is_a_picture() {
    let text = html(&study(&[moving(TCP)]));
    let (_, drawing) = text.split_once("class=\"network\"").expect("a drawing");
    assert!(drawing.contains("<div class=\"controls\" hidden>"));
    let (_, full) = drawing
        .split_once("<path class=\"b6\" d=\"")
        .expect("a full link");
    assert!(full.starts_with('M'), "{}", &full[..40]);
}

#[test]
fn names_of_nodes_from_outside_stay_text() {
    let mut record = moving(TCP);
    for link in &mut record.topology {
        for name in [&mut link.from, &mut link.to] {
            *name = name.replace("s4", "</script><img src=x onerror=alert(1)>\"&");
        }
    }
    let hostile = study(&[record]);
    let text = html(&hostile);
    assert!(!text.contains("<img"), "markup from a name");
    assert_eq!(
        text.matches("</script>").count(),
        text.matches("<script").count()
    );
    for picture in pictures(&hostile, &[Size::Screen]) {
        assert!(!picture.svg.contains("<img"));
        picture.png().expect("well-formed");
    }
}

#[test]
fn a_run_without_samples_says_so_and_draws_nothing() {
    let mut record = moving(TCP);
    record.links.clear();
    record.queues.clear();
    let text = html(&study(&[record]));
    assert!(text.contains("Links were not sampled in these runs"));
    assert!(!text.contains("class=\"network\""));
}

#[test]
fn each_design_has_a_picture_file_of_its_busiest_time() {
    let study = study(&[moving(TCP), moving(REPFLOW)]);
    let drawn = pictures(&study, &[Size::Screen]);
    let networks: Vec<_> = drawn
        .iter()
        .filter(|p| p.id.starts_with("network-"))
        .collect();
    assert_eq!(networks.len(), 2);
    for picture in networks {
        assert!(!picture.svg.contains("var(--"));
        let png = picture.png().expect("a picture");
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.png", picture.id));
        fs::write(kept, png).unwrap();
    }
}

/// Returns the links of a three-tier fat-tree of `k`-port switches.
fn fat_tree(k: u32) -> Vec<TopologyLink> {
    let m = k / 2;
    let (edges, hosts) = (k * m, k * m * m);
    let mut pairs = Vec::new();
    for host in 0..hosts {
        pairs.push((format!("h{host}"), 0, format!("s{}", host / m), 1));
    }
    for edge in 0..edges {
        for j in 0..m {
            let aggregation = edges + edge / m * m + j;
            pairs.push((format!("s{edge}"), 1, format!("s{aggregation}"), 2));
            let core = 2 * edges + edge % m * m + j;
            pairs.push((format!("s{}", edges + edge), 2, format!("s{core}"), 3));
        }
    }
    let both_ways = pairs
        .into_iter()
        .flat_map(|(low, low_tier, high, high_tier)| {
            [
                (low.clone(), low_tier, high.clone(), high_tier),
                (high, high_tier, low, low_tier),
            ]
        });
    let numbered = (0..).zip(both_ways);
    numbered
        .map(|(port, (from, from_tier, to, to_tier))| TopologyLink {
            port,
            from,
            to,
            from_tier,
            to_tier,
            rate: Rate::from_gbps(1),
            delay: Duration::from_us(1),
        })
        .collect()
}

#[test]
fn the_page_of_six_designs_on_a_thousand_hosts_stays_small() {
    let links = fat_tree(16);
    assert_eq!(links.len(), 6_144);
    let names = ["tcp", "dctcp", "ndp", "pias", "hull", "scdp"];
    let records: Vec<RunRecord> = names
        .iter()
        .enumerate()
        .map(|(rank, name)| {
            let mut record = run(Behaviour { name, ..TCP }, Some(0.5), 1, 500);
            let (link, queue) = (record.links[0], record.queues[0]);
            record.topology = links.clone();
            record.links.clear();
            record.queues.clear();
            for step in 1..=100 {
                let time = Time::from_ns(step * record.sampling.expect("sampled").every_ns);
                for port in (0..6_144).filter(|port| (port + rank as u32).is_multiple_of(3)) {
                    let utilisation = f64::from(port * 7 % 101) / 100.0;
                    let (link_of, queue_of) = (port, port);
                    record.links.push(tailcut_record::LinkSample {
                        time,
                        link: link_of,
                        utilisation,
                        ..link
                    });
                    record.queues.push(tailcut_record::QueueSample {
                        time,
                        port: queue_of,
                        ..queue
                    });
                }
            }
            record
        })
        .collect();
    let study = study(&records);
    let page = page("thousand", &study);
    let bytes = fs::metadata(&page).expect("the page").len();
    assert!(bytes < 4_000_000, "{bytes} bytes");
    let text = fs::read_to_string(&page).expect("the page");
    assert!(text.contains("Hosts of one switch are drawn as one"));
    assert!(text.contains(" pictures covers "));
    println!("{bytes} bytes");
}
