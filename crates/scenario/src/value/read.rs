//! Parsers of values. A parser returns `None` if the value has another kind.

use super::raw::Raw;
use core::ops::RangeInclusive;
use tailcut_units::quantity::{self, Quantity};
use tailcut_units::{Bytes, Duration, Rate};

/// Longest duration that a key allows: 100,000 s. Simulated time ends much later, after 213 days.
pub(super) const LONGEST: Duration = Duration::from_ms(100_000_000);
/// Largest number of bytes that a key allows: 1 PB.
pub(super) const MOST_BYTES: u64 = 1_000_000_000_000_000;
/// Highest load that a key allows. Above 1 the network is overloaded.
pub(super) const HIGHEST_LOAD: f64 = 10.0;
/// Largest number of loads in a range.
pub(super) const MOST_LOADS: usize = 1_000;

/// Combines items to a list.
pub(super) fn joined(items: &[Raw]) -> Raw {
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

pub(super) fn text_of(raw: &Raw) -> Option<&str> {
    match raw {
        Raw::Text(text) | Raw::Argument(text) => Some(text),
        _ => None,
    }
}

/// Returns the text of a value that may be a number. A text in a file must end with a unit prefix or a per cent sign.
fn number_text(raw: &Raw) -> Option<&str> {
    match raw {
        Raw::Number(text) | Raw::Argument(text) => Some(text),
        Raw::Text(text) if !text.ends_with(|c: char| c.is_ascii_digit()) => Some(text),
        _ => None,
    }
}

pub(super) fn whole(raw: &Raw) -> Option<u64> {
    u64::read(number_text(raw)?)
}

pub(super) fn number(raw: &Raw) -> Option<f64> {
    f64::read(number_text(raw)?)
}

/// Returns the range from `least` to the largest number of bytes.
pub(super) fn sizes_from(least: u64) -> RangeInclusive<Bytes> {
    Bytes(least)..=Bytes(MOST_BYTES)
}

pub(super) fn byte_count(raw: &Raw, least: u64) -> Option<Bytes> {
    let text = match raw {
        Raw::Number(text) => text,
        _ => text_of(raw)?,
    };
    quantity::within(text, sizes_from(least)).ok()
}

pub(super) fn texts(raw: &Raw) -> Option<Vec<String>> {
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

/// Parses rates. A single rate applies to all sizes; `size:rate` gives points at ascending sizes.
pub(super) fn rates(raw: &Raw) -> Option<Vec<(u32, Rate)>> {
    let point = |text: &str| {
        let (size, rate) = text.split_once(':')?;
        let size: u32 = size.trim().parse().ok()?;
        Some((size, quantity::rate(rate).ok()?)).filter(|_| size > 0)
    };
    let texts = texts(raw)?;
    let points: Vec<(u32, Rate)> = match &texts[..] {
        [rate] if !rate.contains(':') => vec![(1, quantity::rate(rate).ok()?)],
        points => points.iter().map(|p| point(p)).collect::<Option<_>>()?,
    };
    let ascending = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
    ascending.then_some(points)
}

/// Parses numbers in a list, or in the text of a flag with commas between them.
pub(super) fn numbers(raw: &Raw) -> Option<Vec<f64>> {
    match raw {
        Raw::Array(items) => items.iter().map(number).collect(),
        Raw::Number(_) => Some(vec![number(raw)?]),
        Raw::Text(text) | Raw::Argument(text) => text.split(',').map(f64::read).collect(),
        Raw::Flag(_) | Raw::Other(_) => None,
    }
}

pub(super) fn sizes(raw: &Raw) -> Option<Vec<Bytes>> {
    let sizes: Vec<Bytes> = match raw {
        Raw::Array(items) => items
            .iter()
            .map(|size| byte_count(size, 1))
            .collect::<Option<_>>()?,
        _ => text_of(raw)?
            .split(',')
            .map(|size| quantity::within(size, sizes_from(1)).ok())
            .collect::<Option<_>>()?,
    };
    (!sizes.is_empty()).then_some(sizes)
}

pub(super) fn loads(raw: &Raw) -> Option<Vec<f64>> {
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

/// Parses `from..to` or `from..to:step`. Both ends are included. The default step is 0.1.
pub(super) fn range(from: &str, to: &str) -> Option<Vec<f64>> {
    let (to, step) = to.split_once(':').unwrap_or((to, "0.1"));
    let (from, to, step) = (f64::read(from)?, f64::read(to)?, f64::read(step)?);
    if step <= 0.0 || from > to {
        return None;
    }
    // The small addend keeps the last load of the range in spite of rounding errors.
    let steps = ((to - from) / step + 1e-9).floor();
    if steps >= MOST_LOADS as f64 {
        return None;
    }
    // Rounded, because 0.1 + 2 * 0.1 must print as 0.3.
    let rounded = |load: f64| (load * 1e9).round() / 1e9;
    Some(
        (0..=steps as u32)
            .map(|i| rounded(from + f64::from(i) * step))
            .collect(),
    )
}

pub(super) fn pairs(raw: &Raw) -> Option<Vec<(u32, u32)>> {
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
