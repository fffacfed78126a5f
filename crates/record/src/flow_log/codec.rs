//! A row of a flow in few bytes, exact to the picosecond.
//!
//! A code for each field but the first, half a byte long, then the numbers, the lowest byte first, without
//! the zeros at their upper ends. A code is the length of a number, 0 to 8 bytes, or says that none follows.

use crate::FlowRecord;
use crate::cell::Value;
use crate::row::Row;
use tailcut_units::FlowId;

/// The fields that are written: all but the number of the flow.
const FIELDS: usize = FlowRecord::COLUMNS.len() - 1;

/// The place of the first number, behind the codes.
const NUMBERS: usize = FIELDS.div_ceil(2);

/// Bytes that the longest row takes, and that are read behind its end.
pub(super) const LONGEST: usize = NUMBERS + 8 * FIELDS;

/// The code of a field without a value.
const NULL: u64 = 15;
/// The code of a number that equals the flow's bytes; the payload sent mostly does.
const BYTES: u64 = 14;
/// The column of the flow's bytes.
const BYTES_AT: usize = 3;

/// Writes all of a row but its number to the beginning of `to`. Returns how many bytes that takes.
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
                let length = (71 - number.leading_zeros()) / 8;
                to[end..end + 8].copy_from_slice(&number.to_le_bytes());
                end += length as usize;
                length.into()
            }
        };
        codes |= code << (4 * column);
        column += 1;
    });
    to[..NUMBERS].copy_from_slice(&(codes >> 4).to_le_bytes()[..NUMBERS]);
    end
}

/// The row of flow `flow` that [`write`] has put at the beginning of `bytes`, which go on for
/// [`LONGEST`] at least.
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
            // A number without bytes is zero.
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
