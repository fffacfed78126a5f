//! Sorted names of a directory of any size. If the names exceed the memory limit, they are sorted on disk.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

/// Names of a directory. They are returned in byte order.
#[derive(Debug)]
pub enum Listing {
    /// All names are in memory. They are in reverse order, so the next name is the last element.
    Held(Vec<Box<[u8]>>),
    /// The names are on disk, in several sorted runs.
    Runs {
        /// Next name of each run. The smallest name is at the top of the heap.
        next: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
        /// Names of each run that were not read yet.
        runs: Vec<BufReader<File>>,
    },
}

/// Number of bytes of memory that a name needs, in addition to its own length.
const PER_NAME: usize = 40;

impl Listing {
    /// Sorts names. The names in memory need about `most` bytes at most.
    pub fn sort(
        names: impl Iterator<Item = io::Result<Box<[u8]>>>,
        most: usize,
    ) -> io::Result<Self> {
        let mut held: Vec<Box<[u8]>> = Vec::new();
        let mut bytes = 0;
        let mut runs = Vec::new();
        for name in names {
            let name = name?;
            bytes += name.len() + PER_NAME;
            held.push(name);
            if bytes > most {
                runs.push(spill(&mut held)?);
                bytes = 0;
            }
        }
        if runs.is_empty() {
            held.sort_unstable_by(|one, other| other.cmp(one));
            return Ok(Self::Held(held));
        }
        runs.push(spill(&mut held)?);
        let mut next = BinaryHeap::new();
        for (index, run) in runs.iter_mut().enumerate() {
            if let Some(name) = read_name(run)? {
                next.push(Reverse((name, index)));
            }
        }
        Ok(Self::Runs { next, runs })
    }

    /// Returns the number of bytes of memory that the names need.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Held(names) => names.iter().map(|name| name.len() + PER_NAME).sum(),
            Self::Runs { runs, .. } => runs.iter().map(|run| run.capacity()).sum(),
        }
    }

    /// Returns the next name in byte order. Returns `None` after the last name.
    pub fn next(&mut self) -> io::Result<Option<Box<[u8]>>> {
        match self {
            Self::Held(names) => Ok(names.pop()),
            Self::Runs { next, runs } => {
                let Some(Reverse((name, run))) = next.pop() else {
                    return Ok(None);
                };
                if let Some(following) = read_name(&mut runs[run])? {
                    next.push(Reverse((following, run)));
                }
                Ok(Some(name.into()))
            }
        }
    }
}

/// Sorts names, and moves them from memory to a temporary file.
fn spill(names: &mut Vec<Box<[u8]>>) -> io::Result<BufReader<File>> {
    names.sort_unstable();
    let mut out = BufWriter::new(tempfile::tempfile()?);
    for name in names.drain(..) {
        // A name may contain every byte except `/` and 0. So its length is written before it.
        out.write_all(&(name.len() as u16).to_be_bytes())?;
        out.write_all(&name)?;
    }
    let mut file = out.into_inner().map_err(|error| error.into_error())?;
    file.rewind()?;
    Ok(BufReader::new(file))
}

fn read_name(run: &mut BufReader<File>) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 2];
    match run.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let mut name = vec![0; u16::from_be_bytes(length).into()];
    run.read_exact(&mut name)?;
    Ok(Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn names_come_sorted_in_memory_or_from_disk(
            names in prop::collection::btree_set(prop::collection::vec(1u8.., 1..12), 0..200),
            most in prop::sample::select(vec![100, 1_000, 1_000_000]),
        ) {
            // The names are given in another order.
            let mixed: BTreeSet<Vec<u8>> = names
                .iter()
                .map(|name| name.iter().rev().copied().collect())
                .collect();
            let given = mixed.iter().map(|name| Ok(name.iter().rev().copied().collect()));
            let mut listing = Listing::sort(given, most).expect("sorted");
            let mut found = Vec::new();
            while let Some(name) = listing.next().expect("read") {
                found.push(name.into_vec());
            }
            prop_assert_eq!(found, names.into_iter().collect::<Vec<_>>());
        }
    }
}
