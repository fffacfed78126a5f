//! A row of a flow in few bytes, exact to the picosecond.
//!
//! One byte says which fields follow, one is the class, four hold the lengths of eight numbers, half a
//! byte each. Then come the numbers, the lowest byte first, without the zeros at their upper ends.

use crate::FlowRecord;
use tailcut_units::{Bytes, Duration, FlowId, HostId, Time};

/// Bytes that the longest row takes, and that are read behind its end.
pub(super) const LONGEST: usize = NUMBERS + 8 * 8 + 3 * 4 + 8;

/// Where the numbers begin.
const NUMBERS: usize = 6;

const HAS_FCT: u8 = 1;
const HAS_HANDSHAKE: u8 = 2;
/// The payload sent is not the flow's bytes.
const HAS_PAYLOAD: u8 = 4;
/// Retransmissions, timeouts and copies, which are zero otherwise: four bytes each behind the numbers.
const HAS_COUNTS: u8 = 8;

/// Writes all of a row but its number to the beginning of `to`, and says how many bytes that takes.
pub(super) fn write(row: &FlowRecord, to: &mut [u8]) -> usize {
    let FlowRecord {
        flow: _,
        src,
        dst,
        bytes,
        start,
        fct,
        ideal_fct,
        handshake,
        payload_sent,
        retransmissions,
        timeouts,
        copies,
        class,
    } = *row;
    let counts = [retransmissions, timeouts, copies];
    let payload = Some(payload_sent).filter(|sent| *sent != bytes);
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let flags = flag(fct.is_some(), HAS_FCT)
        | flag(handshake.is_some(), HAS_HANDSHAKE)
        | flag(payload.is_some(), HAS_PAYLOAD)
        | flag(counts != [0; 3], HAS_COUNTS);
    let numbers = [
        u64::from(src.0),
        u64::from(dst.0),
        bytes.0,
        start.as_ps(),
        ideal_fct.as_ps(),
        fct.unwrap_or_default().as_ps(),
        handshake.unwrap_or_default().as_ps(),
        payload.unwrap_or_default().0,
    ];
    let mut lengths = 0u32;
    let mut end = NUMBERS;
    for (place, number) in numbers.into_iter().enumerate() {
        let length = (71 - number.leading_zeros()) / 8;
        lengths |= length << (4 * place);
        to[end..end + 8].copy_from_slice(&number.to_le_bytes());
        end += length as usize;
    }
    if counts != [0; 3] {
        for count in counts {
            to[end..end + 4].copy_from_slice(&count.to_le_bytes());
            end += 4;
        }
    }
    to[..2].copy_from_slice(&[flags, class]);
    to[2..NUMBERS].copy_from_slice(&lengths.to_le_bytes());
    end
}

/// The row of flow `flow` that [`write`] has put at the beginning of `bytes`, which go on for
/// [`LONGEST`] at least.
pub(super) fn read(flow: FlowId, bytes: &[u8]) -> FlowRecord {
    let bytes: &[u8; LONGEST] = bytes[..LONGEST].try_into().expect("so many");
    let [flags, class] = [bytes[0], bytes[1]];
    let mut lengths = u32_at(bytes, 2);
    let mut at = NUMBERS;
    let mut number = || {
        let length = lengths & 15;
        lengths >>= 4;
        let read = u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        at += length as usize;
        // A number without bytes is zero.
        read & u64::MAX.checked_shr(64 - 8 * length).unwrap_or(0)
    };
    let [src, dst, size, start, ideal_fct] = [(); 5].map(|()| number());
    let [fct, handshake, payload] = [(); 3].map(|()| number());
    let has = |flag: u8| flags & flag != 0;
    let counts = match has(HAS_COUNTS) {
        true => [0, 4, 8].map(|from| u32_at(bytes, at + from)),
        false => [0; 3],
    };
    FlowRecord {
        flow,
        src: HostId(src as u32),
        dst: HostId(dst as u32),
        bytes: Bytes(size),
        start: Time::from_ps(start),
        fct: has(HAS_FCT).then(|| Duration::from_ps(fct)),
        ideal_fct: Duration::from_ps(ideal_fct),
        handshake: has(HAS_HANDSHAKE).then(|| Duration::from_ps(handshake)),
        payload_sent: Bytes(if has(HAS_PAYLOAD) { payload } else { size }),
        retransmissions: counts[0],
        timeouts: counts[1],
        copies: counts[2],
        class,
    }
}

fn u32_at(bytes: &[u8; LONGEST], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
