//! Markdown pages into which tables of rows are written.
//!
//! The line `<!-- rows of NAME -->` is a mark before the table of the reproduction `NAME`.
//! The mark `<!-- rows of NAME: WORDS -->` selects only the rows whose metric contains `WORDS`.
//! If a mark contains `judged rows` instead of `rows`, the table has only rows with a band.
//! The name `NAME-wall` selects the rows on real hosts. The text outside of the tables does not change.

use crate::named;
use tailcut_report::{Comparison, ComparisonRow};

/// Mark on a page. It selects the rows of the table that follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark<'p> {
    name: &'p str,
    words: &'p str,
    judged: bool,
}

impl<'p> Mark<'p> {
    /// Returns the mark on a line, or `None` if the line is no mark.
    fn on(line: &'p str) -> Option<Self> {
        let inner = line
            .trim()
            .strip_prefix("<!--")?
            .strip_suffix("-->")?
            .trim();
        let (judged, of) = match inner.strip_prefix("judged ") {
            Some(rest) => (true, rest),
            None => (false, inner),
        };
        let of = of.strip_prefix("rows of ")?;
        let (name, words) = of.split_once(": ").unwrap_or((of, ""));
        Some(Self {
            name,
            words,
            judged,
        })
    }

    fn selects(&self, row: &ComparisonRow) -> bool {
        row.metric.contains(self.words) && (row.band.is_some() || !self.judged)
    }
}

/// Suffix that a reproduction's name has for its rows on real hosts.
const ON_REAL_HOSTS: &str = "-wall";

/// Returns the name that selects the rows of a reproduction on real hosts.
pub fn on_real_hosts(name: &str) -> String {
    format!("{name}{ON_REAL_HOSTS}")
}

/// Returns the marks whose reproduction does not exist, each with its line number.
pub fn unknown_marks(page: &str) -> Vec<(usize, &str)> {
    let marks = (1..).zip(page.lines()).filter_map(|(number, line)| {
        let mark = Mark::on(line)?;
        let name = mark.name.strip_suffix(ON_REAL_HOSTS).unwrap_or(mark.name);
        let known = named(name).is_some();
        (!known).then_some((number, mark.name))
    });
    marks.collect()
}

/// Returns the page with a new table after each mark of the reproduction `name`.
pub fn fill(page: &str, name: &str, comparison: &Comparison) -> String {
    let mut filled = String::with_capacity(page.len());
    // The lines keep their ends, so all other parts of the page stay the same.
    let mut lines = page.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        filled.push_str(line);
        let Some(mark) = Mark::on(line).filter(|mark| mark.name == name) else {
            continue;
        };
        if !line.ends_with('\n') {
            filled.push('\n');
        }
        while lines.next_if(|line| line.trim().is_empty()).is_some() {}
        while lines.next_if(|line| line.starts_with('|')).is_some() {}
        let rows = comparison.rows.iter().filter(|row| mark.selects(row));
        let shown = Comparison {
            name: comparison.name.clone(),
            rows: rows.cloned().collect(),
        };
        filled.push('\n');
        filled.push_str(&shown.table().without("why they differ").to_markdown());
        if lines.peek().is_some_and(|line| !line.trim().is_empty()) {
            filled.push('\n');
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::row;

    fn comparison() -> Comparison {
        let figures = vec![1.0, 1.1, 0.9];
        Comparison {
            name: "a title".to_owned(),
            rows: vec![
                row("load 0.5: p99, us", &figures, Some(2.0), (0.0, 4.0), "why"),
                row("load 0.8: p99, us", &figures, None, None, ""),
            ],
        }
    }

    fn filled(page: &str) -> String {
        fill(page, "incast-drain", &comparison())
    }

    #[test]
    fn the_table_after_a_mark_is_replaced_and_nothing_else() {
        let page = "# Title\n\n<!-- rows of incast-drain -->\n\n| old | table |\n|---|---|\n| 1 | 2 |\n\n\
                    Words.\n\n| another | table |\n";
        let once = filled(page);
        assert!(!once.contains("old"), "{once}");
        assert!(
            once.contains("| load 0.5: p99, us | 1.00 (0.752 to 1.25) | 3 |"),
            "{once}"
        );
        assert!(
            once.ends_with("|\n\nWords.\n\n| another | table |\n"),
            "{once}"
        );
        assert_eq!(filled(&once), once);
    }

    #[test]
    fn a_mark_without_a_table_gets_one() {
        let page = filled("<!-- rows of incast-drain -->\nWords.\n");
        assert!(page.ends_with("| shown |\n\nWords.\n"), "{page}");
    }

    #[test]
    fn a_mark_may_ask_for_some_rows() {
        let words = filled("<!-- rows of incast-drain: load 0.8 -->\n");
        assert!(
            !words.contains("load 0.5") && words.contains("load 0.8: p99"),
            "{words}"
        );
        let judged = filled("<!-- judged rows of incast-drain -->\n");
        assert!(
            judged.contains("load 0.5") && !judged.contains("load 0.8: p99"),
            "{judged}"
        );
    }

    #[test]
    fn the_ends_of_lines_stay() {
        for page in ["one line", "one\r\ntwo\r\n", "\n\n", "\r"] {
            assert_eq!(filled(page), page);
        }
        let page = filled("before\r\n<!-- rows of incast-drain -->");
        assert!(
            page.starts_with("before\r\n<!-- rows of incast-drain -->\n\n|"),
            "{page}"
        );
        assert_eq!(filled(&page), page);
    }

    #[test]
    fn the_tables_of_others_stay() {
        let page = "<!-- rows of rans -->\n\n| old | table |\n";
        assert_eq!(filled(page), page);
    }

    #[test]
    fn every_mark_of_the_page_names_a_reproduction() {
        let page = include_str!("../../../docs/reproduce.md");
        assert_eq!(unknown_marks(page), []);
        assert!(page.lines().filter_map(Mark::on).count() > 10);
    }
}
