//! Kinds of keys: the allowed values, their description in errors and in the reference, and the parser.

use super::Value;
use super::raw::Raw;
use super::read::{
    HIGHEST_LOAD, LONGEST, MOST_LOADS, byte_count, joined, loads, number, numbers, pairs, rates,
    sizes, sizes_from, text_of, texts, whole,
};
use core::ops::RangeInclusive;
use tailcut_units::quantity::{self, Quantity, allowed};
use tailcut_units::{Duration, Rate};

/// Returns the range of durations from `least` (a text) to the longest allowed duration.
fn times_from(least: &str) -> RangeInclusive<Duration> {
    quantity::duration(least).unwrap_or(Duration::ZERO)..=LONGEST
}

/// Kind of the values of a key.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// Text. The field describes the allowed texts.
    Text(&'static str),
    /// True or false.
    Flag,
    /// A whole number.
    Count {
        /// Smallest value.
        least: u64,
        /// Largest value.
        most: u64,
    },
    /// A number above `above`.
    Number {
        /// Lower bound. The bound itself is not allowed.
        above: f64,
        /// Largest value.
        most: f64,
    },
    /// Duration.
    Duration {
        /// Shortest duration, as a user writes it.
        least: &'static str,
    },
    /// Rate.
    Rate,
    /// One rate for all sizes, or rates at ascending sizes.
    RateBySize,
    /// List of probabilities, each at least 0 and below 1.
    Probabilities {
        /// Number of probabilities.
        count: usize,
    },
    /// Number of bytes, with or without a unit.
    Bytes {
        /// Smallest number.
        least: u64,
    },
    /// Number of bytes, or of another unit that is given by name (`100 packets`).
    Sized {
        /// Name of the unit that is not bytes, in the plural.
        of: &'static str,
        /// Smallest number, in bytes or in the named unit.
        least: u64,
        /// Largest number in the named unit.
        most: u64,
    },
    /// One of the key's words.
    Choice,
    /// List of texts. The field describes the allowed texts.
    Texts(&'static str),
    /// List of numbers of bytes.
    Sizes {
        /// Largest length of the list.
        most: usize,
    },
    /// Loads: a number, a list, or a range.
    Loads,
    /// List of pairs of hosts.
    Pairs,
}

impl Kind {
    /// Returns whether the values are single numbers, with or without a unit.
    pub const fn is_numeric(self) -> bool {
        matches!(
            self,
            Self::Count { .. }
                | Self::Number { .. }
                | Self::Duration { .. }
                | Self::Rate
                | Self::Bytes { .. }
                | Self::Sized { .. }
        )
    }

    /// Describes the allowed values, for errors and the reference page.
    pub fn allowed(self) -> String {
        match self {
            Self::Text(what) | Self::Texts(what) => what.to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Count { least, most } => allowed(&(least..=most)),
            Self::Number { above, most } if most == f64::MAX => format!("a number above {above}"),
            Self::Number { above, most } => format!("a number above {above}, at most {most}"),
            Self::Duration { least } => allowed(&times_from(least)),
            Self::Rate => allowed(&(Rate::LEAST..=Rate::MOST)),
            Self::RateBySize => {
                "a rate with a unit, or rates at ascending sizes from 1, such as [\"10:3Gbps\", \"100:2Gbps\"] or \"10:3Gbps,100:2Gbps\"".to_owned()
            }
            Self::Probabilities { count } => format!(
                "{count} probabilities, at least 0 and below 1: a list [0.01, 0] or \"0.01,0\""
            ),
            Self::Bytes { least } => allowed(&sizes_from(least)),
            Self::Sized { of, least, most } => {
                format!(
                    "{of} from {least} to {most}, such as \"100 {of}\", or bytes, such as \"150KB\""
                )
            }
            Self::Choice => String::new(),
            Self::Sizes { most } => {
                format!("up to {most} sizes, such as [\"10KB\", \"1MB\"] or \"10KB,1MB\"")
            }
            Self::Loads => format!(
                "loads above 0, at most {HIGHEST_LOAD}: a number, a list [0.1, 0.5] or a range \"0.1..0.5:0.1\""
            ),
            Self::Pairs => {
                "pairs of source and destination, [[0, 1], [2, 3]] or \"0-1,2-3\"".to_owned()
            }
        }
    }

    /// Describes an invalid value for an error.
    /// For a list, the text describes the first item that is invalid by itself, or that repeats an earlier item.
    pub fn found(self, raw: &Raw) -> String {
        let is_list = matches!(
            self,
            Self::Loads | Self::Sizes { .. } | Self::Pairs | Self::Texts(_)
        );
        let items = raw.items();
        if !is_list || !(2..=MOST_LOADS).contains(&items.len()) {
            return raw.to_string();
        }
        let reads = |items: &[Raw]| self.read(&joined(items)).is_some();
        if let Some(wrong) = items.iter().find(|item| !reads(std::slice::from_ref(item))) {
            return format!("{wrong} in {raw}");
        }
        let last = (1..=items.len()).find(|&count| !reads(&items[..count]));
        match last.and_then(|count| items.get(count - 1)) {
            Some(last) if items.iter().filter(|item| *item == last).count() > 1 => {
                format!("{last} twice in {raw}")
            }
            _ => raw.to_string(),
        }
    }

    /// Returns the type or unit of the values, for the reference page.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Duration { .. } => "time",
            Self::Rate | Self::RateBySize => "rate",
            Self::Probabilities { .. } => "list of numbers",
            Self::Bytes { .. } => "bytes",
            Self::Sized { of, .. } => of,
            Self::Count { .. } => "count",
            Self::Number { .. } | Self::Loads => "number",
            Self::Flag => "boolean",
            Self::Text(_) | Self::Choice => "text",
            Self::Texts(_) => "list of text",
            Self::Sizes { .. } => "list of bytes",
            Self::Pairs => "list of pairs",
        }
    }

    /// Parses a value. Returns `None` if it is not of this kind.
    pub fn read(self, raw: &Raw) -> Option<Value> {
        match self {
            Self::Text(_) => text_of(raw).map(|text| Value::Text(text.to_owned())),
            Self::Flag => match raw {
                Raw::Flag(value) => Some(Value::Flag(*value)),
                Raw::Argument(text) => text.parse().ok().map(Value::Flag),
                _ => None,
            },
            Self::Count { least, most } => whole(raw)
                .filter(|count| (least..=most).contains(count))
                .map(Value::Count),
            Self::Number { above, most } => number(raw)
                .filter(|&number| number > above && number <= most)
                .map(Value::Number),
            Self::Duration { least } => {
                let span = quantity::within(text_of(raw)?, times_from(least));
                span.ok().map(Value::Duration)
            }
            Self::Rate => quantity::rate(text_of(raw)?).ok().map(Value::Rate),
            Self::RateBySize => rates(raw).map(Value::Rates),
            Self::Probabilities { count } => numbers(raw)
                .filter(|p| p.len() == count && p.iter().all(|p| (0.0..1.0).contains(p)))
                .map(Value::Numbers),
            Self::Bytes { least } => byte_count(raw, least).map(Value::Bytes),
            Self::Sized { of, least, most } => {
                let named = text_of(raw).and_then(|text| quantity::counted(text, of));
                match named {
                    Some(count) => (least..=most)
                        .contains(&count)
                        .then_some(Value::Count(count)),
                    None => text_of(raw)
                        .filter(|text| text.ends_with(|last: char| !last.is_ascii_digit()))
                        .and_then(|text| quantity::within(text, sizes_from(least)).ok())
                        .map(Value::Bytes),
                }
            }
            Self::Choice => None,
            Self::Texts(_) => texts(raw).map(Value::Texts),
            Self::Sizes { most } => sizes(raw)
                .filter(|sizes| sizes.len() <= most)
                .map(Value::Sizes),
            Self::Loads => loads(raw).map(Value::Numbers),
            Self::Pairs => pairs(raw).map(Value::Pairs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_units::{Bytes, Rate};

    fn argument(text: &str) -> Raw {
        Raw::Argument(text.to_owned())
    }

    #[test]
    fn loads_are_a_number_a_list_or_a_range() {
        let read = |text: &str| Kind::Loads.read(&argument(text));
        assert_eq!(read("0.5"), Some(Value::Numbers(vec![0.5])));
        assert_eq!(read("0.1,0.3"), Some(Value::Numbers(vec![0.1, 0.3])));
        assert_eq!(read("0.1..0.3"), Some(Value::Numbers(vec![0.1, 0.2, 0.3])));
        assert_eq!(
            read("0.2..0.6:0.2"),
            Some(Value::Numbers(vec![0.2, 0.4, 0.6]))
        );
        for wrong in [
            "",
            "0",
            "-1",
            "0.5..0.1",
            "0.1..1:0",
            "0.1..9:1e-9",
            "nan",
            "0.1,0.1",
            "0.1..",
            "11",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn of_a_list_the_item_that_is_wrong_is_told() {
        let number = |text: &str| Raw::Number(text.to_owned());
        let file = |items: &[&str]| Raw::Array(items.iter().map(|item| number(item)).collect());
        let found = |raw: &Raw| Kind::Loads.found(raw);
        assert_eq!(
            found(&file(&["0.2", "1.5", "-0.1"])),
            "-0.1 in [0.2, 1.5, -0.1]"
        );
        assert_eq!(found(&file(&["0.2", "0.2"])), "0.2 twice in [0.2, 0.2]");
        assert_eq!(found(&argument("0.2,x,0.4")), "'x' in '0.2,x,0.4'");
        assert_eq!(found(&argument("0.5..0.1")), "'0.5..0.1'");
        let tables = Raw::Array(vec![Raw::Other("a table"); 2]);
        assert_eq!(tables.to_string(), "an array of 2");
    }

    #[test]
    fn a_rate_holds_at_every_size_or_rates_ascend_with_it() {
        let read = |text: &str| Kind::RateBySize.read(&argument(text));
        let (slow, fast) = (Rate::from_mbps(1_300), Rate::from_gbps(4));
        assert_eq!(read("1.3Gbps"), Some(Value::Rates(vec![(1, slow)])));
        assert_eq!(
            read("10:4Gbps, 100:1.3Gbps"),
            Some(Value::Rates(vec![(10, fast), (100, slow)]))
        );
        let in_a_file = Raw::Array(vec![Raw::Text("10:4Gbps".to_owned())]);
        let read_there = Kind::RateBySize.read(&in_a_file);
        assert_eq!(read_there, Some(Value::Rates(vec![(10, fast)])));
        for wrong in ["", "4", "0:4Gbps", "9:4Gbps,9:1Gbps", "4Gbps,1Gbps", "9:"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn probabilities_are_as_many_as_asked_for_and_below_one() {
        let kind = Kind::Probabilities { count: 2 };
        let read = |text: &str| kind.read(&argument(text));
        assert_eq!(read("0.01, 0"), Some(Value::Numbers(vec![0.01, 0.0])));
        for wrong in ["0.01", "0,0,0", "1,0", "-0.1,0", "nan,0", "x,0", ""] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_string_is_no_number_in_a_file_but_may_be_one_in_a_flag() {
        let count = Kind::Count { least: 1, most: 9 };
        assert_eq!(count.read(&Raw::Text("3".to_owned())), None);
        assert_eq!(count.read(&argument("3")), Some(Value::Count(3)));
        assert_eq!(count.read(&Raw::Number("10".to_owned())), None);
        let rate = Kind::Rate;
        assert_eq!(rate.read(&Raw::Number("10".to_owned())), None);
    }

    #[test]
    fn a_size_is_counted_in_packets_or_in_bytes_and_says_which() {
        let size = Kind::Sized {
            of: "packets",
            least: 1,
            most: 1_000,
        };
        assert_eq!(size.read(&argument("100 packets")), Some(Value::Count(100)));
        assert_eq!(
            size.read(&argument("150KB")),
            Some(Value::Bytes(Bytes(150_000)))
        );
        assert_eq!(size.read(&argument("100")), None);
        assert_eq!(size.read(&argument("1001 packets")), None);
    }

    #[test]
    fn long_or_strange_text_is_shown_on_one_short_line() {
        let shown = Raw::Text("a\nb\u{7}".to_owned() + &"x".repeat(500)).to_string();
        assert!(shown.len() < 100 && !shown.contains('\n'), "{shown}");
    }
}
