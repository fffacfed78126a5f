//! Tests of the page as its readers use it: on a phone, on paper and with the keyboard.
//! Further tests use the checkers of accessibility (axe-core) and of HTML (the Nu checker).

use crate::browser::DESIGNS;
use crate::chromium::Chromium;
use crate::synthetic::compare;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use tailcut_report::{Size, Study, html, pictures, plots};

/// Study of five designs at three loads with six seeds, as in `make demo`.
static STUDY: LazyLock<Study> =
    LazyLock::new(|| compare(&DESIGNS[..5], &[0.3, 0.5, 0.7], 6, 1_000));

/// Page of five designs at three loads with six seeds, as `make demo` writes it.
static PAGE: LazyLock<PathBuf> = LazyLock::new(|| {
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reading.html");
    std::fs::write(&page, html(&STUDY)).expect("a page");
    page
});

/// Starts a browser, or reports that the test is skipped.
fn browser(test: &str) -> Option<Chromium> {
    let browser = Chromium::start();
    if browser.is_none() {
        eprintln!("SKIPPED {test}: no Chromium on this machine");
    }
    browser
}

/// Returns a checker's file, or reports that the test is skipped.
///
/// # Panics
/// The file is missing under CI (`CI=true`), where the checks must not be skipped.
fn checker(file: &str) -> Option<PathBuf> {
    let checkers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checkers/node_modules");
    let path = checkers.join(file);
    let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(path.is_file() || !ci, "{}: missing", path.display());
    if !path.is_file() {
        eprintln!("SKIPPED: no {file}; run `npm ci` in crates/report/tests/checkers");
    }
    path.is_file().then_some(path)
}

#[test]
fn a_phone_shows_the_page_and_its_main_table_without_scrolling_sideways() {
    let Some(mut browser) = browser("phone") else {
        return;
    };
    let mut tab = browser.open(&PAGE, 390, false);
    tab.screenshot(&PAGE.with_extension("phone.png"));
    let seen = tab.evaluate(
        "(() => {
            const outside = (e) => e.getClientRects().length && e.getBoundingClientRect().right > 390;
            const texts = [...document.querySelectorAll('h1, h2, h3, p, figure, .cards td')];
            return {
                width: document.documentElement.scrollWidth,
                cells: document.querySelectorAll('.cards td').length,
                outside: texts.filter(outside).map((e) => e.textContent),
            };
        })()",
    );
    assert_eq!(seen["width"], 390);
    assert!(seen["cells"].as_u64() >= Some(5 * 8), "{seen}");
    assert_eq!(seen["outside"], json!([]));
}

#[test]
fn ten_sheets_of_a4_hold_the_page_with_whole_tables_and_every_plot() {
    let Some(mut browser) = browser("paper") else {
        return;
    };
    let mut tab = browser.open(&PAGE, 1_280, true);
    let pdf = tab.print();
    std::fs::write(PAGE.with_extension("pdf"), &pdf).expect("a file");
    let text = String::from_utf8_lossy(&pdf);
    let sheets = text.matches("/Type /Page\n").count();
    assert!((1..=10).contains(&sheets), "{sheets} sheets");

    // Repeats the check at the width of the text on a sheet: 210 mm minus two margins of 11 mm, at 96 units per inch.
    let mut tab = browser.open(&PAGE, 710, true);
    tab.emulate_print();
    let seen = tab.evaluate(
        "(() => {
            dispatchEvent(new Event('beforeprint'));
            const shown = (e) => e.checkVisibility();
            const all = (selector) => [...document.querySelectorAll(selector)];
            const alone = all('h2, h3, summary').filter((e) => getComputedStyle(e).breakAfter !== 'avoid');
            return {
                theme: document.documentElement.dataset.theme,
                plots: all('figure').filter(shown).map((e) => e.id),
                tables: all('table').filter(shown).length,
                cut: all('table, figure, svg').filter((e) => shown(e) && e.getBoundingClientRect().right > 711)
                    .map((e) => e.textContent.slice(0, 80)),
                alone: alone.map((e) => e.textContent),
                controls: all('.tools, nav, .controls').filter(shown).length,
            };
        })()",
    );
    let drawn: Vec<String> = plots(&STUDY).into_iter().map(|plot| plot.id).collect();
    let mut printed: Vec<&str> = seen["plots"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let mut expected: Vec<&str> = drawn.iter().map(String::as_str).collect();
    printed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(printed, expected, "every plot is printed on paper");
    assert!(seen["tables"].as_u64() >= Some(6), "{seen}");
    assert_eq!(seen["cut"], json!([]));
    assert_eq!(seen["alone"], json!([]));
    assert_eq!(seen["theme"], "light");
    assert_eq!(seen["controls"], 0);
}

#[test]
fn a_page_of_five_designs_at_three_loads_has_at_most_800_kilobytes() {
    let bytes = std::fs::metadata(&*PAGE).expect("a page").len();
    assert!(bytes <= 800_000, "{bytes} bytes");
}

#[test]
fn the_tab_key_reaches_every_control() {
    let Some(mut browser) = browser("keyboard") else {
        return;
    };
    let mut tab = browser.open(&PAGE, 1_280, false);
    let controls = tab.evaluate(
        "(() => {
            for (const details of document.querySelectorAll('details')) details.open = true;
            const shown = (e) => e.checkVisibility();
            const all = [...document.querySelectorAll('a, button, input, summary, [tabindex]')].filter(shown);
            // In a group of radio buttons, the Tab key reaches one button, and arrow keys reach the others.
            window.controls = all.filter((e) => e.type !== 'radio' || e.checked);
            window.reached = new Set();
            return window.controls.length;
        })()",
    );
    let controls = controls.as_u64().expect("a number");
    assert!(controls > 60, "{controls}");
    for _ in 0..controls + 2 {
        tab.press("Tab");
        tab.evaluate("window.reached.add(document.activeElement), 0");
    }
    let missed = tab.evaluate(
        "window.controls.filter((e) => !window.reached.has(e)).map((e) => e.outerHTML.slice(0, 90))",
    );
    assert_eq!(missed, json!([]));
}

#[test]
fn the_table_of_contents_stays_and_marks_the_section_that_is_read() {
    let Some(mut browser) = browser("contents") else {
        return;
    };
    let mut tab = browser.open(&PAGE, 1_280, false);
    let seen = tab.evaluate(
        "(async () => {
            document.documentElement.style.scrollBehavior = 'auto';
            document.querySelector('#figures').scrollIntoView();
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            const nav = document.querySelector('nav');
            return {
                top: nav.getBoundingClientRect().top,
                heading: document.querySelector('#figures h2').getBoundingClientRect().top
                    - nav.getBoundingClientRect().bottom,
                current: [...nav.querySelectorAll('[aria-current]')].map((a) => a.hash),
            };
        })()",
    );
    assert_eq!(seen["top"], 0, "{seen}");
    assert!(
        seen["heading"].as_f64() >= Some(0.0),
        "the heading is not covered: {seen}"
    );
    assert_eq!(seen["current"], json!(["#figures"]));
}

#[test]
fn a_checker_of_accessibility_finds_nothing() {
    let (Some(axe), Some(mut browser)) = (checker("axe-core/axe.min.js"), browser("axe")) else {
        return;
    };
    let axe = std::fs::read_to_string(axe).expect("a script");
    for (width, dark) in [(1_280, false), (390, true)] {
        let mut tab = browser.open(&PAGE, width, dark);
        tab.evaluate(&format!("{axe}; 0"));
        let found = tab.evaluate(
            "(async () => {
                for (const details of document.querySelectorAll('details')) details.open = true;
                const { violations, passes } = await axe.run();
                const nodes = (rule) => rule.nodes.map((node) => node.html.slice(0, 120)).slice(0, 3);
                return { rules: passes.length, faults: violations.map((rule) => [rule.id, rule.help, nodes(rule)]) };
            })()",
        );
        assert!(found["rules"].as_u64() > Some(15), "{found}");
        assert_eq!(found["faults"], json!([]), "at {width} px");
    }
}

#[test]
fn a_checker_of_html_finds_nothing() {
    let Some(vnu) = checker("vnu-jar/build/dist/vnu.jar") else {
        return;
    };
    let ran = Command::new("java")
        .arg("-jar")
        .arg(vnu)
        .args(["--format", "json", "--exit-zero-always"])
        .arg(&*PAGE)
        .output()
        .expect("Java runs");
    let found: Value = serde_json::from_slice(&ran.stderr).expect("messages");
    assert_eq!(found["messages"], json!([]));
}

#[test]
fn drawings_for_papers_have_the_width_of_one_and_of_two_columns() {
    let study = compare(&DESIGNS[..2], &[0.5], 3, 400);
    for (size, width) in [(Size::Column, "3.300in"), (Size::Page, "7.000in")] {
        for picture in pictures(&study, &[size]) {
            let head = format!("width=\"{width}\"");
            assert!(picture.svg.contains(&head), "{}: {head}", picture.id);
            let text = "font-size=\"10.67\"";
            let is_plot = !picture.id.starts_with("network");
            assert_eq!(
                picture.svg.contains(text),
                is_plot,
                "{}: 8 points",
                picture.id
            );
        }
    }
}
