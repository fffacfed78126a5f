//! What a key may hold: its kind, how it is read, and how what is allowed is told.

use super::quantity;
use serde_json::json;
use std::fmt;
use tailcut_units::{Bytes, Duration, Rate};

/// A value as it was written, before it is read.
#[derive(Clone, PartialEq, Debug)]
pub enum Raw {
    /// A string of a file.
    Text(String),
    /// A number of a file.
    Number(String),
    /// A boolean of a file.
    Flag(bool),
    /// An array of a file.
    Array(Vec<Raw>),
    /// Something of a file that no key takes, by name.
    Other(&'static str),
    /// The text of a flag, which may stand for any of these.
    Argument(String),
}

impl fmt::Display for Raw {
    /// The value as an error shows it, cut to a readable length.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "\"{}\"", shortened(text)),
            Self::Number(text) => f.write_str(&shortened(text)),
            Self::Argument(text) => write!(f, "'{}'", shortened(text)),
            Self::Flag(value) => write!(f, "{value}"),
            Self::Array(items) if items.iter().all(Self::is_single) => {
                let items: Vec<String> = items.iter().map(Self::to_string).collect();
                write!(f, "[{}]", shortened(&items.join(", ")))
            }
            Self::Array(items) => write!(f, "an array of {}", items.len()),
            Self::Other(name) => f.write_str(name),
        }
    }
}

impl Raw {
    const fn is_single(&self) -> bool {
        !matches!(self, Self::Array(_) | Self::Other(_))
    }

    /// The items of a list: of a file's array, or of a flag's text with commas between them.
    fn items(&self) -> Vec<Self> {
        match self {
            Self::Array(items) => items.clone(),
            Self::Argument(text) => text
                .split(',')
                .map(|item| Self::Argument(item.trim().to_owned()))
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// `text` on one line of bounded length.
pub fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown: String = text.chars().take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    shown.escape_debug().to_string()
}

/// A value that was read.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// One of the key's own words, such as `off`.
    Word(&'static str),
    /// Text.
    Text(String),
    /// True or false.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A span.
    Duration(Duration),
    /// A rate.
    Rate(Rate),
    /// Rates by size.
    Rates(Vec<(u32, Rate)>),
    /// A number of bytes.
    Bytes(Bytes),
    /// A list of text.
    Texts(Vec<String>),
    /// A list of numbers of bytes.
    Sizes(Vec<Bytes>),
    /// A list of numbers.
    Numbers(Vec<f64>),
    /// A list of pairs.
    Pairs(Vec<(u32, u32)>),
}

impl Value {
    /// The value for a manifest, quantities with their units.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Word(word) => json!(word),
            Self::Text(text) => json!(text),
            Self::Flag(value) => json!(value),
            Self::Count(count) => json!(count),
            Self::Number(number) => json!(number),
            Self::Duration(span) => json!(span.to_string()),
            Self::Rate(rate) => json!(rate.to_string()),
            Self::Rates(points) => {
                let point = |(size, rate): &(u32, Rate)| format!("{size}:{rate}");
                json!(points.iter().map(point).collect::<Vec<_>>())
            }
            Self::Bytes(bytes) => json!(bytes.0),
            Self::Texts(texts) => json!(texts),
            Self::Sizes(sizes) => json!(sizes.iter().map(|size| size.0).collect::<Vec<_>>()),
            Self::Numbers(numbers) => json!(numbers),
            Self::Pairs(pairs) => json!(pairs),
        }
    }
}

/// What a key holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// Text, with what it must be.
    Text(&'static str),
    /// True or false.
    Flag,
    /// A whole number.
    Count {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A number above `above`.
    Number {
        /// It must be above this.
        above: f64,
        /// The most.
        most: f64,
    },
    /// A span.
    Duration {
        /// The shortest, as written.
        least: &'static str,
    },
    /// A rate.
    Rate,
    /// A rate at every size, or rates at ascending sizes.
    RateBySize,
    /// As many probabilities, each at least 0 and below 1.
    Probabilities {
        /// How many.
        count: usize,
    },
    /// A number of bytes, or one with a unit.
    Bytes {
        /// The least.
        least: u64,
    },
    /// A number of bytes, or of something else by name (`100 packets`).
    Sized {
        /// What else, in the plural.
        of: &'static str,
        /// The least, in either.
        least: u64,
        /// The most of the named.
        most: u64,
    },
    /// Nothing but the key's words.
    Choice,
    /// A list of text, with what they must be.
    Texts(&'static str),
    /// A list of numbers of bytes.
    Sizes {
        /// How many at most.
        most: usize,
    },
    /// Loads: a number, a list, or a range.
    Loads,
    /// Pairs of hosts.
    Pairs,
}

/// The longest span that a key takes: 100,000 s, far from where virtual time ends (213 days).
const LONGEST: Duration = Duration::from_ms(100_000_000);
/// The most bytes that a key takes: 1 PB.
const MOST_BYTES: u64 = 1_000_000_000_000_000;
/// The highest load that is taken; above 1 the network is overloaded.
const HIGHEST_LOAD: f64 = 10.0;
/// The most steps of a range of loads.
const MOST_LOADS: usize = 1_000;

impl Kind {
    /// What is allowed, for errors and for the reference.
    pub fn allowed(self) -> String {
        match self {
            Self::Text(what) | Self::Texts(what) => what.to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Count { least, most } if most == u64::MAX => {
                format!("a whole number from {least}")
            }
            Self::Count { least, most } => format!("a whole number from {least} to {most}"),
            Self::Number { above, most } if most == f64::MAX => format!("a number above {above}"),
            Self::Number { above, most } => format!("a number above {above}, at most {most}"),
            Self::Duration { least } => {
                format!(
                    "a time with a unit (ps, ns, us, ms, s) from {least} to 100000s, such as \"10ms\""
                )
            }
            Self::Rate => {
                "a rate with a unit (bps, Kbps, Mbps, Gbps, Tbps), such as \"10Gbps\"".to_owned()
            }
            Self::RateBySize => {
                "a rate with a unit, or rates at ascending sizes from 1, such as [\"10:3Gbps\", \"100:2Gbps\"] or \"10:3Gbps,100:2Gbps\"".to_owned()
            }
            Self::Probabilities { count } => format!(
                "{count} probabilities, at least 0 and below 1: a list [0.01, 0] or \"0.01,0\""
            ),
            Self::Bytes { least } => {
                format!("bytes from {least} to 1e15, a number or with a unit, such as \"100KB\"")
            }
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

    /// What was found in the place of this kind: of a list the first item that is wrong, or that is wrong
    /// after those before it.
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

    /// The unit, for the reference.
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

    /// Reads a value; `None` when it is not one of this kind.
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
                let least = quantity::duration(least).unwrap_or(Duration::ZERO);
                quantity::duration(text_of(raw)?)
                    .filter(|span| (least..=LONGEST).contains(span))
                    .map(Value::Duration)
            }
            Self::Rate => quantity::rate(text_of(raw)?).map(Value::Rate),
            Self::RateBySize => rates(raw).map(Value::Rates),
            Self::Probabilities { count } => numbers(raw)
                .filter(|p| p.len() == count && p.iter().all(|p| (0.0..1.0).contains(p)))
                .map(Value::Numbers),
            Self::Bytes { least } => byte_count(raw)
                .filter(|bytes| (least..=MOST_BYTES).contains(&bytes.0))
                .map(Value::Bytes),
            Self::Sized { of, least, most } => {
                let named = text_of(raw).and_then(|text| quantity::counted(text, of));
                match named {
                    Some(count) => (least..=most)
                        .contains(&count)
                        .then_some(Value::Count(count)),
                    None => text_of(raw)
                        .filter(|text| text.ends_with(|last: char| !last.is_ascii_digit()))
                        .and_then(quantity::bytes)
                        .filter(|bytes| (least..=MOST_BYTES).contains(&bytes.0))
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

/// Items as a list again.
fn joined(items: &[Raw]) -> Raw {
    let texts: Option<Vec<&str>> = items
        .iter()
        .map(|item| match item {
            Raw::Argument(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    match texts {
        Some(texts) => Raw::Argument(texts.join(",")),
        None => Raw::Array(items.to_vec()),
    }
}

fn text_of(raw: &Raw) -> Option<&str> {
    match raw {
        Raw::Text(text) | Raw::Argument(text) => Some(text),
        _ => None,
    }
}

fn number_text(raw: &Raw) -> Option<&str> {
    match raw {
        Raw::Number(text) | Raw::Argument(text) => Some(text),
        _ => None,
    }
}

fn whole(raw: &Raw) -> Option<u64> {
    number_text(raw)?.parse().ok()
}

fn number(raw: &Raw) -> Option<f64> {
    let number: f64 = number_text(raw)?.parse().ok()?;
    number.is_finite().then_some(number)
}

fn byte_count(raw: &Raw) -> Option<Bytes> {
    match raw {
        Raw::Number(_) => whole(raw).map(Bytes),
        _ => quantity::bytes(text_of(raw)?),
    }
}

fn texts(raw: &Raw) -> Option<Vec<String>> {
    let texts: Vec<String> = match raw {
        Raw::Array(items) => items
            .iter()
            .map(|item| text_of(item).map(str::to_owned))
            .collect::<Option<_>>()?,
        _ => text_of(raw)?
            .split(',')
            .map(|text| text.trim().to_owned())
            .collect(),
    };
    (!texts.is_empty()).then_some(texts)
}

/// A rate alone holds at every size; `size:rate` gives points at ascending sizes.
fn rates(raw: &Raw) -> Option<Vec<(u32, Rate)>> {
    let point = |text: &str| {
        let (size, rate) = text.split_once(':')?;
        let size: u32 = size.trim().parse().ok()?;
        Some((size, quantity::rate(rate)?)).filter(|_| size > 0)
    };
    let texts = texts(raw)?;
    let points: Vec<(u32, Rate)> = match &texts[..] {
        [rate] if !rate.contains(':') => vec![(1, quantity::rate(rate)?)],
        points => points.iter().map(|p| point(p)).collect::<Option<_>>()?,
    };
    let ascending = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
    ascending.then_some(points)
}

/// Numbers in a list, or in a flag's text with commas between them.
fn numbers(raw: &Raw) -> Option<Vec<f64>> {
    match raw {
        Raw::Array(items) => items.iter().map(number).collect(),
        Raw::Number(_) => Some(vec![number(raw)?]),
        Raw::Text(text) | Raw::Argument(text) => text
            .split(',')
            .map(|number| number.trim().parse().ok())
            .collect(),
        Raw::Flag(_) | Raw::Other(_) => None,
    }
}

fn sizes(raw: &Raw) -> Option<Vec<Bytes>> {
    let sizes: Vec<Bytes> = match raw {
        Raw::Array(items) => items.iter().map(byte_count).collect::<Option<_>>()?,
        _ => text_of(raw)?
            .split(',')
            .map(|size| quantity::bytes(size.trim()))
            .collect::<Option<_>>()?,
    };
    let sound = |size: &Bytes| (1..=MOST_BYTES).contains(&size.0);
    (!sizes.is_empty() && sizes.iter().all(sound)).then_some(sizes)
}

fn loads(raw: &Raw) -> Option<Vec<f64>> {
    let loads = match text_of(raw).and_then(|text| text.split_once("..")) {
        Some((from, to)) => range(from, to)?,
        None => numbers(raw)?,
    };
    let sound = |load: &f64| *load > 0.0 && *load <= HIGHEST_LOAD;
    let distinct = loads
        .iter()
        .enumerate()
        .all(|(i, load)| !loads[..i].contains(load));
    let few = (1..=MOST_LOADS).contains(&loads.len());
    (few && distinct && loads.iter().all(sound)).then_some(loads)
}

/// `from..to` or `from..to:step`, both ends included; the step is 0.1 unless given.
fn range(from: &str, to: &str) -> Option<Vec<f64>> {
    let (to, step) = to.split_once(':').unwrap_or((to, "0.1"));
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
    let (from, to, step) = (number(from)?, number(to)?, number(step)?);
    if step <= 0.0 || from > to {
        return None;
    }
    let steps = ((to - from) / step + 1e-9).floor();
    if steps >= MOST_LOADS as f64 {
        return None;
    }
    // Rounded so that 0.1 + 2 * 0.1 is the load that prints as 0.3.
    let rounded = |load: f64| (load * 1e9).round() / 1e9;
    Some(
        (0..=steps as u32)
            .map(|i| rounded(from + f64::from(i) * step))
            .collect(),
    )
}

fn pairs(raw: &Raw) -> Option<Vec<(u32, u32)>> {
    let host = |raw: &Raw| whole(raw).and_then(|host| u32::try_from(host).ok());
    let pairs: Vec<(u32, u32)> = match raw {
        Raw::Array(items) => items
            .iter()
            .map(|item| match item {
                Raw::Array(pair) if pair.len() == 2 => Some((host(&pair[0])?, host(&pair[1])?)),
                _ => None,
            })
            .collect::<Option<_>>()?,
        _ => text_of(raw)?
            .split(',')
            .map(|pair| {
                let (a, b) = pair.split_once('-')?;
                Some((a.trim().parse().ok()?, b.trim().parse().ok()?))
            })
            .collect::<Option<_>>()?,
    };
    (!pairs.is_empty()).then_some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

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
