//! Places of cases in a plan, as a command line names them.

use crate::error::Error;
use std::ops::Range;

/// The places that a text names in a plan of so many cases: `I`, `I..J` with both ends, `I..` or `..J`.
/// They count from 0.
///
/// # Errors
/// [`Error::Places`] for another text, or places that the plan does not have.
pub fn read(text: &str, cases: usize) -> Result<Range<usize>, Error> {
    let wrong = || Error::Places {
        found: tailcut_scenario::shortened(text),
        cases,
    };
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (first.trim(), last.trim()),
        None => (text.trim(), text.trim()),
    };
    let place = |text: &str, open: Option<usize>| match text {
        "" => open,
        _ => text.parse().ok(),
    };
    // Without a number on either side nobody has said what they mean.
    let first_open = (!last.is_empty()).then_some(0);
    let last_open = (!first.is_empty()).then(|| cases.saturating_sub(1));
    let first = place(first, first_open).ok_or_else(wrong)?;
    let last = place(last, last_open).ok_or_else(wrong)?;
    match first <= last && last < cases {
        true => Ok(first..last + 1),
        false => Err(wrong()),
    }
}

/// Places in order, each range of them with both ends: `0..2, 7, 9..11`; only the first few of many.
pub fn in_words(places: &[usize]) -> String {
    const MOST: usize = 8;
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &place in places {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == place => *last = place,
            _ => ranges.push((place, place)),
        }
    }
    let shown = ranges.iter().take(MOST).map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}..{last}")
        }
    });
    let mut words = shown.collect::<Vec<_>>().join(", ");
    if ranges.len() > MOST {
        words.push_str(", ...");
    }
    words
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
            assert_eq!(read(text, 10).expect(text), places);
        }
    }

    #[test]
    fn places_that_a_plan_does_not_have_are_refused() {
        for text in ["10", "5..10", "6..5", "..", "", "-1", "a..b", "1..2..3"] {
            let told = read(text, 10).expect_err(text).to_string();
            let allowed = "allowed: I, I..J, I.. or ..J with places from 0 to 9";
            assert!(told.ends_with(allowed), "{told}");
        }
        let told = read("0", 0).expect_err("no case").to_string();
        assert!(told.ends_with("as the plan has no cases"), "{told}");
    }

    #[test]
    fn many_places_are_told_as_ranges() {
        assert_eq!(in_words(&[0, 1, 2, 7, 9, 10]), "0..2, 7, 9..10");
        let odd: Vec<usize> = (0..40).map(|n| n * 2 + 1).collect();
        assert_eq!(in_words(&odd), "1, 3, 5, 7, 9, 11, 13, 15, ...");
    }
}
