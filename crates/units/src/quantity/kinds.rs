//! Units of each kind of quantity, and their error texts.

use super::kind::Quantity;
use super::number::{exact, split};
use super::written::{DECIMAL, TIMES, in_largest, written_rate};
use crate::{Bytes, Duration, Rate};
use alloc::format;
use alloc::string::{String, ToString};

/// Returns the factor of a prefix, or `None` if the text is not a prefix.
fn prefix(text: &str) -> Option<u64> {
    let (letter, base) = match text.strip_suffix('i') {
        Some(letter) => (letter, 1_024_u64),
        None if text.is_empty() => return Some(1),
        None => (text, 1_000),
    };
    let power = match letter {
        "k" | "K" => 1,
        // A lower-case m is not mega: in times it is a minute, and in SI it is milli.
        "M" => 2,
        "g" | "G" => 3,
        "t" | "T" => 4,
        _ => return None,
    };
    Some(base.pow(power))
}

impl Quantity for Duration {
    const MOST: Self = Self::MAX;
    const KIND: &'static str = "a time with a unit (ps, ns, us, ms, s, m, h, d)";
    const SUCH_AS: &'static str = ", such as \"10ms\"";

    fn read(text: &str) -> Option<Self> {
        let (number, unit) = split(text);
        let scale = match unit {
            "" => return (exact(number, 1)? == 0).then_some(Self::ZERO),
            "\u{b5}s" | "\u{3bc}s" => 1_000_000,
            "min" => 60_000_000_000_000,
            unit => TIMES.iter().find(|(name, _)| *name == unit)?.1,
        };
        exact(number, scale).map(Self::from_ps)
    }

    fn written(self) -> String {
        match self {
            Self::ZERO => "0s".to_string(),
            _ => in_largest(self.as_ps(), &TIMES),
        }
    }
}

impl Quantity for Rate {
    const MOST: Self = Self::from_bps(u64::MAX).expect("above zero");
    const KIND: &'static str = "a rate with a unit (bps, Kbps, Mbps, Gbps, Tbps, or B/s to TB/s)";
    const SUCH_AS: &'static str = ", such as \"10Gbps\"";

    fn read(text: &str) -> Option<Self> {
        let (number, unit) = split(text);
        let ends = [("bps", 1), ("bit/s", 1), ("b/s", 1), ("Bps", 8), ("B/s", 8)];
        let found = ends
            .iter()
            .find_map(|(end, bits)| Some((unit.strip_suffix(end)?, *bits)));
        let (name, bits) = found.or((!unit.is_empty()).then_some((unit, 1)))?;
        Self::from_bps(exact(number, prefix(name)? * bits)?)
    }

    fn written(self) -> String {
        written_rate(self)
    }
}

impl Quantity for Bytes {
    const MOST: Self = Self(u64::MAX);
    const KIND: &'static str = "bytes";
    const SUCH_AS: &'static str =
        ", a number or with a unit, such as \"100KB\" (10^5) or \"64KiB\" (2^16)";

    fn read(text: &str) -> Option<Self> {
        let (number, unit) = split(text);
        let scale = prefix(unit.strip_suffix('B').unwrap_or(unit))?;
        exact(number, scale).map(Self)
    }

    fn written(self) -> String {
        let binary = [
            ("", 1),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
            ("TiB", 1 << 40),
        ];
        let [decimal, binary] = [&DECIMAL, &binary].map(|units| in_largest(self.0, units));
        match binary.len() <= decimal.len() {
            true => binary,
            false => decimal,
        }
    }
}

macro_rules! counts {
    ($($count:ty)*) => {$(
        /// Count, without a unit.
        impl Quantity for $count {
            const MOST: Self = Self::MAX;
            const KIND: &'static str = "a whole number";
            const SUCH_AS: &'static str = "";

            fn read(text: &str) -> Option<Self> {
                let (number, unit) = split(text);
                exact(number, prefix(unit)?)?.try_into().ok()
            }

            fn written(self) -> String {
                self.to_string()
            }
        }
    )*};
}
counts!(u16 u32 u64 usize);

/// Number without a unit, such as a share.
impl Quantity for f64 {
    const MOST: Self = Self::INFINITY;
    const KIND: &'static str = "a number";
    const SUCH_AS: &'static str = ", such as 0.5 or \"50%\"";

    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let number: Self = match text.strip_suffix('%') {
            // The exponent `e-2` replaces a division by 100.
            // With a division, the number would be rounded twice, and 0.1% and 0.001 could be different numbers.
            Some(percent) => format!("{}e-2", percent.trim_end()).parse(),
            None => text.parse(),
        }
        .ok()?;
        number.is_finite().then_some(number)
    }

    fn written(self) -> String {
        self.to_string()
    }
}
