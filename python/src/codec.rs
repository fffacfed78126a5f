//! Records as bytes, exact to the picosecond, so that one process can send them to another.
//!
//! Both processes must run the same version. Bytes of another version are refused.

use tailcut_scenario::record::RunRecord;

/// Text at the start of the bytes, which contains the version.
const HEADER: &str = concat!("tailcut ", env!("CARGO_PKG_VERSION"), " record\n");

/// Returns the bytes of a record.
pub fn encode(record: &RunRecord) -> Vec<u8> {
    let mut bytes = HEADER.as_bytes().to_vec();
    rmp_serde::encode::write(&mut bytes, record).expect("every record has a form in MessagePack");
    bytes
}

/// Reads a record from bytes.
///
/// # Errors
/// A text that says how the bytes differ from a record of this version.
pub fn decode(bytes: &[u8]) -> Result<RunRecord, String> {
    let mut rest = bytes
        .strip_prefix(HEADER.as_bytes())
        .ok_or_else(|| format!("not a record of tailcut {}", env!("CARGO_PKG_VERSION")))?;
    let record = rmp_serde::from_read(&mut rest);
    match (record, rest) {
        (Ok(record), []) => Ok(record),
        (Ok(_), _) => Err("bytes after the record".to_owned()),
        (Err(error), _) => Err(format!("a damaged record: {error}")),
    }
}
