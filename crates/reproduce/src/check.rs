//! Check whether the rows of reproductions are within their bands.

use tailcut_report::{ComparisonRow, Verdict};

/// Minimum percentage of decided rows, among the rows with a published number and a band.
/// A row is decided if its interval is completely inside or completely outside the band.
/// The first percentage is for full forms, and the second percentage for quick forms.
const DECIDED: (usize, usize) = (70, 60);

/// Result of the check: counts over all rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Check {
    /// Rows whose value is outside its band or missing.
    outside: usize,
    /// Rows with a published number and a band.
    published: usize,
    /// Rows among `published` whose interval is completely inside or completely outside the band.
    decided: usize,
}

impl Check {
    /// Counts rows by the result of their check.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a ComparisonRow>) -> Self {
        let mut check = Self::default();
        for row in rows {
            let verdict = row.verdict;
            let published = row.theirs.is_some() && row.band.is_some();
            let decided = matches!(verdict, Verdict::Within | Verdict::Outside);
            check.outside += usize::from(matches!(verdict, Verdict::Outside | Verdict::Unknown));
            check.published += usize::from(published);
            check.decided += usize::from(published && decided);
        }
        check
    }

    /// Returns one sentence that contains the counts.
    pub fn sentence(self) -> String {
        let Self {
            outside,
            published,
            decided,
        } = self;
        format!(
            "{decided} of {published} rows with a published number are decided; {outside} rows are \
             outside of their bands or have no figure"
        )
    }

    /// Returns one sentence for each reason why the check fails. The list is empty if it succeeds.
    pub fn failures(self, quick: bool) -> Vec<String> {
        let mut failures = Vec::new();
        if self.outside > 0 {
            failures.push(format!("{} rows are outside of their bands", self.outside));
        }
        let least = if quick { DECIDED.1 } else { DECIDED.0 };
        if self.decided * 100 < self.published * least {
            failures.push(format!(
                "{} of {} rows with a published number are decided; {least} % must be",
                self.decided, self.published
            ));
        }
        failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured_value::MeasuredValue;
    use crate::row::row;

    /// Returns one row for each number in `halves`. The number is half of the width of the row's interval.
    /// All rows have the value 5 and the band 0 to 10.
    fn rows(halves: &[f64]) -> Vec<ComparisonRow> {
        let ours = |half: f64| MeasuredValue {
            value: Some(5.0),
            interval: Some((5.0 - half, 5.0 + half)),
            seeds: 6,
            ..MeasuredValue::default()
        };
        let rows = halves.iter();
        rows.map(|&half| row("", ours(half), Some(5.0), (0.0, 10.0), ""))
            .collect()
    }

    #[test]
    fn too_many_undecided_rows_fail_and_the_quick_form_may_have_more() {
        let (narrow, wide) = ([1.0; 13], [6.0; 7]);
        let check = Check::of(&rows(&[&narrow[..], &wide[..]].concat()));
        assert_eq!(check.failures(true), [""; 0]);
        let full = check.failures(false);
        assert_eq!(full.len(), 1);
        assert!(full[0].starts_with("13 of 20"), "{full:?}");
        assert_eq!(Check::of(&rows(&narrow)).failures(false), [""; 0]);
    }

    #[test]
    fn rows_without_a_published_number_are_not_counted_among_the_decided() {
        let mut rows = rows(&[6.0, 6.0, 1.0]);
        rows[0].theirs = None;
        rows[1].band = None;
        rows[1].verdict = Verdict::Shown;
        assert_eq!(Check::of(&rows).failures(false), [""; 0]);
    }

    #[test]
    fn a_row_outside_or_without_a_figure_fails() {
        let outside = row("", &vec![20.0, 20.5, 20.0], None, (0.0, 10.0), "");
        let nothing = row("", MeasuredValue::default(), None, (0.0, 10.0), "");
        for row in [outside, nothing] {
            assert_eq!(Check::of(&[row]).failures(true).len(), 1);
        }
    }
}
