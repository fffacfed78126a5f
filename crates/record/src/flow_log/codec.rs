//! Compact encoding of a flow's row, exact to the picosecond.
//!
//! An encoded row starts with a code of four bits for each field except the first.
//! The numbers follow in little-endian order, without leading zero bytes.
//! A code is the length of a number, 0 to 8 bytes, or a special value without a number: [`NULL`] or [`BYTES`].

use crate::FlowRecord;
use crate::cell::Value;
use crate::row::Row;
use tailcut_units::FlowId;

/// Number of encoded fields: all except the flow's number.
const FIELDS: usize = FlowRecord::COLUMNS.len() - 1;

/// Offset of the first number, after the codes.
const NUMBERS: usize = FIELDS.div_ceil(2);

/// Length of the longest row in bytes. [`read`] may read this number of bytes, even if the row is shorter.
pub(super) const LONGEST: usize = NUMBERS + 8 * FIELDS;

/// Code of a field without a value.
const NULL: u64 = 15;
/// Code of a number that equals the flow's size. The payload that a flow sends usually equals the flow's size.
const BYTES: u64 = 14;
/// Column of the flow's size.
const BYTES_AT: usize = 3;

/// Writes a row without its flow number to the start of `to`. Returns the length in bytes.
pub(super) fn write(row: &FlowRecord, to: &mut [u8]) -> usize {
    let (mut codes, mut end, mut column) = (0, NUMBERS, 0);
    row.each(1, |value| {
        let number = match value {
            Value::Integer(number) => Some(number),
            Value::Class(number) => Some(number.into()),
            _ => None,
        };
        let code = match number {
            None => NULL,
            Some(number) if column > BYTES_AT && number == row.bytes.0 => BYTES,
            Some(_) if column == 0 => 0,
            Some(number) => {
                // The length is the number of significant bytes, rounded up: (64 - leading zeros + 7) / 8.
                let length = (71 - number.leading_zeros()) / 8;
                // All eight bytes are copied, because a fixed length is faster.
                // The next number overwrites the leading zeros.
                to[end..end + 8].copy_from_slice(&number.to_le_bytes());
                end += length as usize;
                length.into()
            }
        };
        codes |= code << (4 * column);
        column += 1;
    });
    // The shift removes the code of the first column. This column is the flow's number.
    to[..NUMBERS].copy_from_slice(&(codes >> 4).to_le_bytes()[..NUMBERS]);
    end
}

/// Returns the row of flow `flow` that [`write`] has written to the start of `bytes`.
/// `bytes` must have a length of at least [`LONGEST`].
pub(super) fn read(flow: FlowId, bytes: &[u8]) -> FlowRecord {
    let number_at = |at| bytes[at..].first_chunk().copied().map(u64::from_le_bytes);
    let mut codes = number_at(0).unwrap_or(0) << 4;
    let (mut at, mut column, mut size) = (NUMBERS, 0, 0);
    let read = FlowRecord::read(1, || {
        let code = codes & 15;
        let number = match code {
            _ if column == 0 => Some(flow.0.into()),
            NULL => None,
            BYTES => Some(size),
            // A length of zero means the number zero.
            length => {
                let number = number_at(at)?;
                at += length as usize;
                Some(number & u64::MAX.checked_shr(64 - 8 * length as u32).unwrap_or(0))
            }
        };
        if column == BYTES_AT {
            size = number?;
        }
        codes >>= 4;
        column += 1;
        Some(number.map_or(Value::Null, Value::Integer))
    });
    read.expect("a row as it was written")
}
