//! Flow sizes from text: a name, or a table of a file.

use super::{NAMES, Named, Point, SizeDistribution};
use crate::error::{Error, TextError, quoted};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use tailcut_units::{Bytes, quantity};

impl Named {
    /// The distribution; its mean is what the load of a run is derived from.
    pub fn distribution(&self) -> SizeDistribution {
        SizeDistribution {
            points: self.points(),
        }
    }
}

impl SizeDistribution {
    /// The distribution called `name`: one of [`NAMES`], `fixed:BYTES` or `uniform:MIN:MAX`. A
    /// number of bytes may end in K, M or G (or KB, MB, GB): powers of 1,000.
    ///
    /// # Errors
    /// [`Error::UnknownSizes`] with names spelled alike, [`Error::SizesParameter`].
    pub fn named(name: &str) -> Result<Self, Error> {
        let wrong = |allowed| Error::SizesParameter {
            found: quoted(name),
            allowed,
        };
        if let Some(bytes) = name.strip_prefix("fixed:") {
            return byte_count(bytes)
                .map(Self::fixed)
                .ok_or_else(|| wrong("fixed:BYTES with BYTES from 1 to 1T, such as fixed:100KB"));
        }
        if let Some(bounds) = name.strip_prefix("uniform:") {
            let bounds = bounds
                .split_once(':')
                .and_then(|(a, b)| Some((byte_count(a)?, byte_count(b)?)));
            return match bounds {
                Some((smallest, largest)) if smallest <= largest => {
                    Ok(Self::uniform(smallest, largest))
                }
                _ => Err(wrong(
                    "uniform:MIN:MAX with 1 <= MIN <= MAX <= 1T, such as uniform:1KB:100KB",
                )),
            };
        }
        match NAMES.iter().find(|named| named.name == name) {
            Some(named) => Ok(named.distribution()),
            None => Err(Error::UnknownSizes {
                found: quoted(name),
                alike: alike(name),
            }),
        }
    }

    /// The distribution of a table in text: a row a point, `bytes,cumulative`, in rising order, the
    /// last cumulative probability 1. Empty rows and what follows a `#` are skipped, and the first
    /// row may be the header `bytes,cumulative`. A first row with a probability above zero is an
    /// atom at that size; start with `0,0` for sizes that rise from zero.
    ///
    /// # Errors
    /// [`Error::Text`] with the line, what was found and what is allowed.
    pub fn from_table(text: &str) -> Result<Self, Error> {
        let mut points: Vec<Point> = Vec::new();
        let mut header_allowed = true;
        let mut lines = 0;
        for (index, line) in text.lines().enumerate() {
            lines = index + 1;
            let error = |column: &str, found: String, allowed: &str| TextError {
                line: index + 1,
                column: column.to_string(),
                found,
                allowed: allowed.to_string(),
            };
            let row = line.split('#').next().unwrap_or_default().trim();
            let row = row.trim_start_matches('\u{feff}');
            if row.is_empty() {
                continue;
            }
            let Some((bytes, cumulative)) = row.split_once(',') else {
                Err(error("", quoted(row), "a row `bytes,cumulative`"))?
            };
            let (bytes, cumulative) = (bytes.trim(), cumulative.trim());
            if core::mem::take(&mut header_allowed)
                && (bytes, cumulative) == ("bytes", "cumulative")
            {
                continue;
            }
            let before = points.last().copied().unwrap_or(Point {
                bytes: 0,
                cumulative: 0.0,
            });
            let bytes = match bytes.parse::<u64>() {
                Ok(bytes) if (before.bytes..=LARGEST).contains(&bytes) => bytes,
                _ => Err(error(
                    "bytes",
                    quoted(bytes),
                    &format!(
                        "a whole number from {} (the row before) to 1e12",
                        before.bytes
                    ),
                ))?,
            };
            let cumulative = match cumulative.parse::<f64>() {
                Ok(share) if (before.cumulative..=1.0).contains(&share) => share,
                _ => Err(error(
                    "cumulative",
                    quoted(cumulative),
                    &format!("a number from {} (the row before) to 1", before.cumulative),
                ))?,
            };
            if points.len() == Self::MOST_POINTS {
                Err(error("", "another row".to_string(), "at most 100,000 rows"))?;
            }
            points.push(Point { bytes, cumulative });
        }
        let last = points.last().copied();
        Self::new(points).map_err(|_| {
            let found = match last {
                Some(point) => format!("the last row `{},{}`", point.bytes, point.cumulative),
                None => "no rows".to_string(),
            };
            Error::Text(TextError {
                line: lines.max(1),
                column: String::new(),
                found,
                allowed: "a last row with a size above 0 and a cumulative probability of 1"
                    .to_string(),
            })
        })
    }
}

/// The largest flow of a table or a name: 1 TB, far from where sums of bytes overflow.
const LARGEST: u64 = 1_000_000_000_000;

fn byte_count(text: &str) -> Option<u64> {
    let bytes = quantity::within(text, Bytes(1)..=Bytes(LARGEST));
    bytes.ok().map(|bytes| bytes.0)
}

/// The names within a third of their length of `found` in edits, or that it begins; nearest first.
fn alike(found: &str) -> Vec<&'static str> {
    let found: Vec<char> = found.chars().take(64).collect();
    let mut near: Vec<(usize, &'static str)> = NAMES
        .iter()
        .filter_map(|named| {
            let name: Vec<char> = named.name.chars().collect();
            let distance = edits(&found, &name);
            let begins = found.len() >= 3 && name.starts_with(&found);
            (begins || distance <= name.len() / 3).then_some((distance, named.name))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().map(|(_, name)| name).collect()
}

/// The Levenshtein distance: insertions, deletions and substitutions from one to the other.
fn edits(from: &[char], to: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = core::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.iter().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}
