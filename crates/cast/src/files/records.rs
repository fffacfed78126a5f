//! Records of verified slabs on disk. A record contains the hashes of one slab.
//! A record has a fixed position and a checksum, so a record that was only partly written is detected and ignored.

use super::hash::{Hash, Root, SlabHash};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Size of a record in bytes: index, length, two hashes, and a checksum of these fields.
const RECORD: usize = 80;
/// Number of bytes of a record that the checksum covers.
const CHECKED: usize = 72;

/// File with records. Other data comes before the records.
#[derive(Debug)]
pub struct Records {
    file: File,
    begin: u64,
}

/// Record of a verified slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Size of the slab in bytes.
    pub length: u32,
    /// Hashes of the slab.
    pub hash: SlabHash,
}

impl Records {
    /// Creates access to records. The first record starts at byte `begin` of the file.
    pub fn new(file: File, begin: u64) -> Self {
        Self { file, begin }
    }

    fn at(&self, index: u32) -> u64 {
        self.begin + u64::from(index) * RECORD as u64
    }

    /// Writes the record of a verified slab.
    pub fn write(&self, index: u32, record: &Record) -> io::Result<()> {
        let mut bytes = [0; RECORD];
        bytes[..4].copy_from_slice(&index.to_be_bytes());
        bytes[4..8].copy_from_slice(&record.length.to_be_bytes());
        bytes[8..40].copy_from_slice(&record.hash.part.0);
        // Only the first slab has a second hash. The records of other slabs contain zeros here.
        bytes[40..CHECKED].copy_from_slice(&record.hash.alone.unwrap_or_default().0);
        let check = Hash::of(&bytes[..CHECKED]);
        bytes[CHECKED..].copy_from_slice(&check.0[..RECORD - CHECKED]);
        self.file.write_all_at(&bytes, self.at(index))
    }

    /// Returns the record of a slab, or `None` if the slab has no valid record.
    pub fn read(&self, index: u32) -> io::Result<Option<Record>> {
        let mut bytes = [0; RECORD];
        match self.file.read_exact_at(&mut bytes, self.at(index)) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            result => result?,
        }
        let (inside, check) = bytes.split_at(CHECKED);
        // A valid record may be at a wrong position. So the index in the record is checked too.
        if Hash::of(inside).0[..RECORD - CHECKED] != *check || inside[..4] != index.to_be_bytes() {
            return Ok(None);
        }
        let mut length = [0; 4];
        let (mut part, mut alone) = (Hash::default(), Hash::default());
        length.copy_from_slice(&inside[4..8]);
        part.0.copy_from_slice(&inside[8..40]);
        alone.0.copy_from_slice(&inside[40..]);
        Ok(Some(Record {
            length: u32::from_be_bytes(length),
            hash: SlabHash {
                part,
                alone: (index == 0).then_some(alone),
            },
        }))
    }

    /// Removes all records, so that no slab counts as verified.
    pub fn clear(&self) -> io::Result<()> {
        self.file.set_len(self.begin)
    }

    /// Returns the root of the first `slabs` slabs.
    /// If a slab has no record, the inner error is the index of the first such slab.
    pub fn root(&self, slabs: u32) -> io::Result<Result<Hash, u32>> {
        let mut root = Root::default();
        for index in 0..slabs {
            match self.read(index)? {
                Some(record) => root.push(&record.hash),
                None => return Ok(Err(index)),
            }
        }
        Ok(Ok(root.finish()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash::slab;
    use super::*;

    #[test]
    fn a_record_that_was_written_in_part_counts_as_none() {
        let file = tempfile::tempfile().expect("a file");
        let records = Records::new(file.try_clone().expect("a file"), 10);
        let record = Record {
            length: 3,
            hash: slab(0, b"abc"),
        };
        records.write(0, &record).expect("written");
        records.write(2, &record).expect("written");
        assert_eq!(records.read(0).expect("read"), Some(record));
        assert_eq!(records.read(1).expect("read"), None);
        assert!(records.read(2).expect("read").is_some());
        assert_eq!(records.root(1).expect("read"), Ok(Hash::of(b"abc")));
        assert_eq!(records.root(2).expect("read"), Err(1));
        for torn in [11, 50, 89] {
            records.write(0, &record).expect("written");
            file.write_all_at(&[0xa5], torn).expect("written");
            assert_eq!(records.read(0).expect("read"), None, "{torn}");
        }
        // A record from another position is not valid here.
        let mut bytes = [0; RECORD];
        file.read_exact_at(&mut bytes, 10 + 160).expect("read");
        file.write_all_at(&bytes, 10 + 80).expect("written");
        assert_eq!(records.read(1).expect("read"), None);
    }
}
