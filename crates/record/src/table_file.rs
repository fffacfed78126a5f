//! File of a table. The file is written and read in pieces, so that the whole table is never in memory.

use crate::layout::{TableFile, TableFormat};
use crate::row::Heading;
use crate::table::{AT_ONCE, Table};
use crate::{Error, Fingerprint, csv_file, parquet_file};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

/// Writer that counts and hashes the written bytes.
struct Checked<W> {
    to: W,
    bytes: u64,
    hash: Fingerprint,
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        self.hash.write_all(&bytes[..written])?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

type To = Checked<BufWriter<File>>;

enum Writer {
    Parquet(parquet_file::Writer<To>),
    Csv(csv_file::Writer<To>),
}

impl Writer {
    fn new(format: TableFormat, table: &Table, to: To) -> io::Result<Self> {
        Ok(match format {
            TableFormat::Parquet => {
                let writer = parquet_file::Writer::new(table, to);
                Self::Parquet(writer.map_err(io::Error::other)?)
            }
            TableFormat::Csv => {
                Self::Csv(csv_file::Writer::new(table, to).map_err(io::Error::other)?)
            }
        })
    }

    fn write(&mut self, table: &Table) -> io::Result<()> {
        match self {
            Self::Parquet(writer) => writer.write(table).map_err(io::Error::other),
            Self::Csv(writer) => writer.write(table).map_err(io::Error::other),
        }
    }

    fn finish(self) -> io::Result<To> {
        match self {
            Self::Parquet(writer) => writer.finish().map_err(io::Error::other),
            Self::Csv(writer) => writer.finish(),
        }
    }
}

/// Writes a table from its pieces and waits until it is on disk.
/// Returns `None` and writes no file for a table without pieces.
///
/// # Errors
/// [`Error::Io`] if the operating system reports an error.
pub(crate) fn write(
    dir: &Path,
    name: &str,
    format: TableFormat,
    mut pieces: impl Iterator<Item = Table>,
) -> Result<Option<TableFile>, Error> {
    let Some(first) = pieces.next() else {
        return Ok(None);
    };
    let name = format!("{name}.{}", format.extension());
    let path = dir.join(&name);
    let mut rows = 0;
    let written = || -> io::Result<To> {
        let to = Checked {
            to: BufWriter::new(File::create(&path)?),
            bytes: 0,
            hash: Fingerprint::new(),
        };
        let mut writer = Writer::new(format, &first, to)?;
        for piece in std::iter::once(first).chain(pieces) {
            rows += piece.rows() as u64;
            writer.write(&piece)?;
        }
        let mut to = writer.finish()?;
        to.flush()?;
        to.to.get_ref().sync_all()?;
        Ok(to)
    };
    let written = written().map_err(Error::io("write", &path))?;
    Ok(Some(TableFile {
        name,
        rows,
        bytes: written.bytes,
        xxh3_128: written.hash.digits(),
    }))
}

/// Checks that the file of a table is unchanged since it was written. Returns the open file.
///
/// # Errors
/// [`Error::Io`] if the operating system reports an error, [`Error::Damaged`] if the hash differs.
pub(crate) fn open(dir: &Path, table: &TableFile) -> Result<File, Error> {
    let path = dir.join(&table.name);
    let mut file = File::open(&path).map_err(Error::io("read", &path))?;
    // The hash is checked before a parser reads the file, because parsers trust the lengths inside the file.
    let mut found = Fingerprint::new();
    let bytes = io::copy(&mut file, &mut found).map_err(Error::io("read", &path))?;
    let found = found.digits();
    if found != table.xxh3_128 {
        let reason = format!(
            "damaged: {bytes} bytes with XXH3-128 {found}, but run.json lists {} bytes with {}",
            table.bytes, table.xxh3_128
        );
        return Err(Error::damaged(&path, reason));
    }
    file.rewind().map_err(Error::io("read", &path))?;
    Ok(file)
}

/// Checks that the file of a table is unchanged since it was written.
/// After the check, the function passes the rows to `each`, in pieces.
///
/// # Errors
/// The errors of [`open`]; [`Error::Damaged`] if columns are missing, or if `each` rejects a row.
pub(crate) fn read(
    dir: &Path,
    table: &TableFile,
    headings: &[Heading],
    each: impl FnMut(&Table) -> Result<(), String>,
) -> Result<(), Error> {
    let file = open(dir, table)?;
    let read = if table.name.ends_with(".csv") {
        csv_file::read(file, headings, AT_ONCE, each)
    } else {
        parquet_file::read(file, headings, AT_ONCE, each).map_err(|error| error.to_string())
    };
    read.map_err(|reason| Error::damaged(&dir.join(&table.name), reason))
}
