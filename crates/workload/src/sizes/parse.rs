//! Parser of the names of flow sizes.

use super::{NAMES, Named, SizeDistribution};
use crate::error::{Error, quoted};
use alloc::vec::Vec;
use tailcut_units::{Bytes, quantity};

impl Named {
    /// Returns the distribution of flow sizes in this table.
    pub fn distribution(&self) -> SizeDistribution {
        SizeDistribution {
            points: self.points(),
        }
    }
}

impl SizeDistribution {
    /// Returns the distribution with this name: one of [`NAMES`], `fixed:BYTES` or `uniform:MIN:MAX`.
    /// A number of bytes may end in K, M or G (or KB, MB, GB), which are powers of 1,000.
    ///
    /// # Errors
    /// [`Error::UnknownSizes`] for an unknown name, or [`Error::SizesParameter`] for a wrong number of bytes.
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
}

/// Largest flow size in a table or a name: 1 TB. With this limit, sums of bytes do not overflow.
pub(super) const LARGEST: u64 = 1_000_000_000_000;

fn byte_count(text: &str) -> Option<u64> {
    let bytes = quantity::within(text, Bytes(1)..=Bytes(LARGEST));
    bytes.ok().map(|bytes| bytes.0)
}

/// Returns the names that are similar to `found`, the nearest first.
/// A name is similar if the number of edits is at most a third of its length, or if the name begins with `found`.
fn alike(found: &str) -> Vec<&'static str> {
    // Only the first 64 characters are compared, because a long text would take too much time.
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

/// Returns the Levenshtein distance of two texts.
/// The distance is the smallest number of insertions, deletions and substitutions between the two texts.
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
