//! Records of a text in CSV (RFC 4180), one at a time. Fields can be in double quotes.

use alloc::vec::Vec;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// Reader of the records of a text. It skips empty lines and lines that begin with `#`.
pub(crate) struct Records<'a> {
    rest: &'a [u8],
    reader: Reader,
    /// Bytes of all fields of one record. `ends` contains the end of each field.
    text: Vec<u8>,
    ends: Vec<usize>,
    /// Line of the last record, from 1.
    pub line: usize,
}

/// Fields of one record.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    text: &'a str,
    ends: &'a [usize],
}

impl<'a> Records<'a> {
    pub fn new(text: &'a str) -> Self {
        Self {
            rest: text.as_bytes(),
            reader: ReaderBuilder::new().comment(Some(b'#')).build(),
            text: alloc::vec![0; 256],
            ends: alloc::vec![0; 16],
            line: 1,
        }
    }

    /// Returns the next record and the number of its last line.
    pub fn next_record(&mut self) -> Option<(usize, Fields<'_>)> {
        let fields = loop {
            let fields = self.read()?;
            let (text, ends) = (&self.text, &self.ends[..fields]);
            let first = ends
                .first()
                .map_or(&[][..], |&end| &text[..end])
                .trim_ascii();
            let is_blank = first.is_empty() && ends.len() == 1;
            if !is_blank && !first.starts_with(b"#") {
                break fields;
            }
        };
        let ends = &self.ends[..fields];
        let text = &self.text[..ends.last().copied().unwrap_or(0)];
        // The text is UTF-8, and each field ends at an ASCII character, so no character is cut.
        let text = core::str::from_utf8(text).unwrap_or_default();
        Some((self.line, Fields { text, ends }))
    }

    /// Reads one record. Returns its number of fields.
    fn read(&mut self) -> Option<usize> {
        let (mut written, mut fields) = (0, 0);
        loop {
            let (text, ends) = (&mut self.text[written..], &mut self.ends[fields..]);
            let (result, read, wrote, ended) = self.reader.read_record(self.rest, text, ends);
            let ends_line = read > 0 && self.rest[read - 1] == b'\n';
            self.line = self.reader.line() as usize - usize::from(ends_line);
            self.rest = &self.rest[read..];
            written += wrote;
            fields += ended;
            match result {
                ReadRecordResult::Record => return Some(fields),
                ReadRecordResult::End => return None,
                // At the end of the input, the next call ends the last record.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
            }
        }
    }
}

impl<'a> Fields<'a> {
    /// Returns the number of fields.
    pub const fn len(self) -> usize {
        self.ends.len()
    }

    /// Returns the fields, without the spaces around them.
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        let starts = core::iter::once(0).chain(self.ends.iter().copied());
        let fields = starts.zip(self.ends);
        fields.map(move |(start, &end)| self.text.get(start..end).unwrap_or_default().trim())
    }
}
