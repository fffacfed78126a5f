//! Notation for places on the command line. The place of a case is its index in the plan.

use crate::error::Error;
use std::ops::Range;

/// Returns the places that a text selects in a plan of `cases` cases, in order. The first place is 0.
/// The text is `I`, `I..J`, `I..` or `..J`, or several parts with commas. A range includes both ends.
///
/// # Errors
/// [`Error::Places`] if the text has another form, or the plan does not have the places of the text.
pub fn read(text: &str, cases: usize) -> Result<Vec<usize>, Error> {
    let ranges = text.split(',').map(|range| read_range(range, cases));
    let ranges = ranges.collect::<Option<Vec<_>>>();
    let ranges = ranges.ok_or_else(|| Error::Places {
        found: tailcut_scenario::shortened(text),
        cases,
    })?;
    let mut places: Vec<usize> = ranges.into_iter().flatten().collect();
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

fn read_range(text: &str, cases: usize) -> Option<Range<usize>> {
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (first.trim(), last.trim()),
        None => (text.trim(), text.trim()),
    };
    let place = |text: &str, open: Option<usize>| match text {
        "" => open,
        _ => text.parse().ok(),
    };
    // A range without any number, `..`, is refused, because it is probably an error of the user.
    let first_open = (!last.is_empty()).then_some(0);
    let last_open = (!first.is_empty()).then(|| cases.saturating_sub(1));
    let first = place(first, first_open)?;
    let last = place(last, last_open)?;
    (first <= last && last < cases).then(|| first..last + 1)
}

/// Returns places in the notation of a command line: `0..2,7,9..11`. `places` are in order.
pub fn as_argument(places: &[usize]) -> String {
    let ranges: Vec<String> = ranges(places).into_iter().map(range_in_words).collect();
    ranges.join(",")
}

/// Returns places as ranges that include both ends, for a text: `0..2, 7, 9..11`.
/// The text contains at most the first 8 ranges.
pub fn in_words(places: &[usize]) -> String {
    const MOST: usize = 8;
    let ranges = ranges(places);
    let is_cut = ranges.len() > MOST;
    let shown = ranges.into_iter().take(MOST).map(range_in_words);
    let mut words = shown.collect::<Vec<_>>().join(", ");
    if is_cut {
        words.push_str(", ...");
    }
    words
}

/// Returns places as ranges: pairs of the first and the last place. `places` are in order.
fn ranges(places: &[usize]) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &place in places {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == place => *last = place,
            _ => ranges.push((place, place)),
        }
    }
    ranges
}

fn range_in_words((first, last): (usize, usize)) -> String {
    match first == last {
        true => first.to_string(),
        false => format!("{first}..{last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_range_are_in_it_and_either_may_be_left_out() {
        for (text, places) in [
            ("3", 3..4),
            ("2..5", 2..6),
            ("7..", 7..10),
            ("..4", 0..5),
            (" 0 .. 9 ", 0..10),
        ] {
            assert_eq!(read(text, 10).expect(text), Vec::from_iter(places));
        }
    }

    #[test]
    fn a_list_names_each_place_once_and_in_order() {
        let places = read("8.., 0..2,5,1..2", 10).expect("places");
        assert_eq!(places, [0, 1, 2, 5, 8, 9]);
        assert_eq!(as_argument(&places), "0..2,5,8..9");
        let odd: Vec<usize> = (0..40).map(|n| n * 2 + 1).collect();
        assert_eq!(read(&as_argument(&odd), 80).expect("all of them"), odd);
    }

    #[test]
    fn places_that_a_plan_does_not_have_are_refused() {
        for text in [
            "10", "5..10", "6..5", "..", "", "-1", "a..b", "1..2..3", "1,", "1,10",
        ] {
            let error = read(text, 10).expect_err(text).to_string();
            let allowed = "or a list of these such as 0..3,7, with places from 0 to 9";
            assert!(error.ends_with(allowed), "{error}");
        }
        let error = read("0", 0).expect_err("no case").to_string();
        assert!(error.ends_with("because the plan has no cases"), "{error}");
    }

    #[test]
    fn many_places_are_told_as_ranges() {
        assert_eq!(in_words(&[0, 1, 2, 7, 9, 10]), "0..2, 7, 9..10");
        let odd: Vec<usize> = (0..40).map(|n| n * 2 + 1).collect();
        assert_eq!(in_words(&odd), "1, 3, 5, 7, 9, 11, 13, 15, ...");
    }
}
