//! Values in the syntax of files and flags, for the display of defaults.

use super::{Kind, Value};
use tailcut_units::Rate;
use tailcut_units::quantity::{written_bytes, written_duration, written_rate};

fn list<T>(items: &[T], written: impl Fn(&T) -> String) -> String {
    let items: Vec<String> = items.iter().map(written).collect();
    items.join(", ")
}

impl Value {
    /// Returns a text that a key of this kind parses to this value.
    pub fn written(&self, kind: Kind) -> String {
        match self {
            Self::Word(word) => (*word).to_owned(),
            Self::Text(text) => text.clone(),
            Self::Flag(flag) => flag.to_string(),
            Self::Count(count) => match kind {
                Kind::Sized { of, .. } => format!("{count} {of}"),
                _ => count.to_string(),
            },
            Self::Number(number) => number.to_string(),
            Self::Duration(span) => written_duration(*span),
            Self::Rate(rate) => written_rate(*rate),
            Self::Rates(points) => match points[..] {
                [(1, rate)] => written_rate(rate),
                _ => list(points, |(size, rate): &(u32, Rate)| {
                    format!("{size}:{}", written_rate(*rate))
                }),
            },
            Self::Bytes(bytes) => written_bytes(*bytes),
            Self::Texts(texts) => list(texts, String::clone),
            Self::Sizes(sizes) => list(sizes, |size| written_bytes(*size)),
            Self::Numbers(numbers) => list(numbers, f64::to_string),
            Self::Pairs(pairs) => list(pairs, |(from, to)| format!("{from}-{to}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Raw;

    #[test]
    fn what_is_written_is_read_as_the_same_value() {
        let packets = Kind::Sized {
            of: "packets",
            least: 1,
            most: 1_000,
        };
        let (span, bytes) = (Kind::Duration { least: "0s" }, Kind::Bytes { least: 0 });
        for (kind, text) in [
            (span, "0s"),
            (span, "1500us"),
            (span, "60s"),
            (span, "7ps"),
            (bytes, "100B"),
            (bytes, "1538"),
            (bytes, "36KB"),
            (bytes, "2TB"),
            (Kind::Rate, "1.3Gbps"),
            (Kind::Rate, "40000bps"),
            (Kind::RateBySize, "3Gbps"),
            (Kind::RateBySize, "10:3Gbps, 100:2.5Gbps"),
            (packets, "8 packets"),
            (packets, "36KB"),
            (Kind::Flag, "true"),
            (Kind::Sizes { most: 7 }, "1327140, 10KB"),
            (Kind::Probabilities { count: 2 }, "0.01, 0.000001"),
            (Kind::Pairs, "0-1, 2-3"),
        ] {
            let read = kind.read(&Raw::from(text)).expect(text);
            assert_eq!(read.written(kind), text);
        }
    }
}
