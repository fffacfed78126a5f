//! Hello of RepNet, version 1: `docs/repnet-wire.md`.
//! This crate and the npm package are tested with the same vectors, in `packages/repnet/spec/wire-vectors.json`.
//!
//! A hello arrives in a stream, in pieces of any size. A decoder checks the bytes that have arrived.
//! The decoder rejects the bytes at the first byte that cannot belong to a hello. A hello has [`HELLO_BYTES`] bytes.
//! If a connection rejoins its flow, the hello has [`MAX_PREAMBLE_BYTES`] bytes.
//! The bytes after the hello belong to the application.

use crate::codec::{DecodeError, Reader, Writer};
use core::fmt;
use tailcut_transport::repnet::{
    Banner, FlowKey, InstanceId, Leg, Mode, Preamble, Purpose, Rejoin, Status,
};

/// Length in bytes of a banner, and of a preamble that does not rejoin a flow.
pub const HELLO_BYTES: usize = 32;
/// Length in bytes of a preamble that rejoins a flow. No hello is longer.
pub const MAX_PREAMBLE_BYTES: usize = 56;
/// Version of the hello that this crate supports.
pub const VERSION: u8 = 1;

const PREAMBLE_MAGIC: [u8; 8] = *b"\xd7REPNE\r\n";
const BANNER_MAGIC: [u8; 8] = *b"\xe9banne\r\n";
const PROBE: u8 = 0x01;
const REPSYN: u8 = 0x02;
const REJOIN: u8 = 0x04;
/// Statuses of a banner. The index of a status in this list is its number on the wire.
const STATUSES: [Status; 5] = [
    Status::Opened,
    Status::Joined,
    Status::Probed,
    Status::Unsupported,
    Status::Busy,
];
/// Largest number in a rejoin, because a JavaScript number (a double) is exact only up to this integer.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// Reason why bytes are not a complete hello. They are too few, or a field is wrong.
/// If several fields are wrong, the reason is the first wrong field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rejection {
    /// All bytes that have arrived are valid, but the hello is not complete.
    Incomplete,
    /// The bytes belong to another protocol.
    Magic,
    /// The version is not supported.
    Version,
    /// A flag is unknown, or two flags exclude each other.
    Flags,
    /// The number of the status is unknown.
    Status,
    /// The number of the connection (leg) is neither 0 nor 1, or it is 1 in a probe.
    Leg,
    /// A reserved byte is not 0.
    Reserved,
    /// The flow ID is zero.
    FlowId,
    /// A number in a rejoin is above 2^53 - 1, or its message number is 0.
    Offsets,
    /// The instance ID is zero.
    InstanceId,
}

impl Rejection {
    /// Returns the name of the wrong field, as in the documentation of the format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Magic => "magic",
            Self::Version => "version",
            Self::Flags => "flags",
            Self::Status => "status",
            Self::Leg => "leg",
            Self::Reserved => "reserved",
            Self::FlowId => "flow_id",
            Self::Offsets => "offsets",
            Self::InstanceId => "instance_id",
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete => f.write_str("not a whole RepNet hello"),
            wrong => write!(f, "not a RepNet hello: its {} is not allowed", wrong.name()),
        }
    }
}

impl core::error::Error for Rejection {}

/// Converts the error of a decoder: the bytes end before the hello is complete.
impl From<DecodeError> for Rejection {
    fn from(_: DecodeError) -> Self {
        Self::Incomplete
    }
}

/// Encodes a preamble. The caller sends only the first [`preamble_length`] bytes.
pub fn encode_preamble(preamble: &Preamble) -> [u8; MAX_PREAMBLE_BYTES] {
    let (flags, numbers) = match preamble.purpose {
        Purpose::Probe => (PROBE, [0; 3]),
        Purpose::Open(Mode::RepFlow) => (0, [0; 3]),
        Purpose::Open(Mode::RepSyn) => (REPSYN, [0; 3]),
        Purpose::Rejoin(rejoin) => (REJOIN, [rejoin.message, rejoin.sent, rejoin.received]),
    };
    let mut bytes = [0; MAX_PREAMBLE_BYTES];
    write(&mut bytes, |writer| {
        writer.put(PREAMBLE_MAGIC)?;
        writer.put([VERSION, flags, preamble.leg as u8])?;
        writer.put([0; 5])?;
        writer.put(preamble.flow.0.to_be_bytes())?;
        // A larger number is replaced by this largest number, because the decoder would refuse a larger number.
        numbers
            .into_iter()
            .try_for_each(|number| writer.put(number.min(MAX_NUMBER).to_be_bytes()))
    });
    bytes
}

/// Returns the length of a preamble on the wire in bytes.
pub const fn preamble_length(preamble: &Preamble) -> usize {
    match preamble.purpose {
        Purpose::Rejoin(_) => MAX_PREAMBLE_BYTES,
        Purpose::Probe | Purpose::Open(_) => HELLO_BYTES,
    }
}

/// Encodes a banner.
pub fn encode_banner(banner: &Banner) -> [u8; HELLO_BYTES] {
    let status = STATUSES.iter().position(|one| *one == banner.status);
    let mut bytes = [0; HELLO_BYTES];
    write(&mut bytes, |writer| {
        writer.put(BANNER_MAGIC)?;
        writer.put([VERSION, status.unwrap_or(0) as u8, banner.leg as u8, 0])?;
        writer.put(banner.check.to_be_bytes())?;
        writer.put(banner.instance.0.to_be_bytes())
    });
    bytes
}

/// Returns the banner that answers a preamble with an unsupported version.
/// `preamble` contains the first `HELLO_BYTES` bytes.
/// The numbers of the connection and the flow are copied without a check.
pub fn unsupported(preamble: &[u8; HELLO_BYTES], instance: InstanceId) -> [u8; HELLO_BYTES] {
    let mut reader = Reader::new(preamble);
    // Magic, version and flags precede the connection's number, and five reserved bytes follow it.
    let fields = reader.take::<10>().and_then(|_| {
        let leg = reader.u8()?;
        reader.take::<5>()?;
        Ok((leg, reader.u32()?))
    });
    let (leg, check) = fields.unwrap_or_default();
    encode_banner(&Banner {
        status: Status::Unsupported,
        leg: if leg == 1 { Leg::Second } else { Leg::First },
        check,
        instance,
    })
}

fn write(bytes: &mut [u8], fields: impl FnOnce(&mut Writer<'_>) -> Result<(), crate::EncodeError>) {
    let length = bytes.len();
    // The buffer has exactly the length of all fields, so the encoder cannot fail.
    let written = Writer::new(bytes, length).and_then(|mut writer| fields(&mut writer));
    debug_assert!(written.is_ok());
}

/// Decodes the preamble at the start of a client's bytes. Returns the preamble and its length.
///
/// # Errors
/// The reason for the first wrong field. [`Rejection::Incomplete`] if all bytes so far are valid.
pub fn decode_preamble(bytes: &[u8]) -> Result<(Preamble, usize), Rejection> {
    let mut reader = magic(bytes, &PREAMBLE_MAGIC)?;
    if reader.u8()? != VERSION {
        return Err(Rejection::Version);
    }
    let flags = reader.u8()?;
    if ![0, PROBE, REPSYN, REJOIN].contains(&flags) {
        return Err(Rejection::Flags);
    }
    let leg = match reader.u8()? {
        0 => Leg::First,
        1 if flags != PROBE => Leg::Second,
        _ => return Err(Rejection::Leg),
    };
    // Bytes 11 to 15 are reserved.
    for _ in 11..16 {
        if reader.u8()? != 0 {
            return Err(Rejection::Reserved);
        }
    }
    let flow = FlowKey(u128::from_be_bytes(reader.take()?));
    if flow.0 == 0 {
        return Err(Rejection::FlowId);
    }
    let purpose = match flags {
        PROBE => Purpose::Probe,
        REPSYN => Purpose::Open(Mode::RepSyn),
        REJOIN => {
            let numbers = (reader.u64(), reader.u64(), reader.u64());
            let (message, sent, received) = (numbers.0?, numbers.1?, numbers.2?);
            if message == 0 || [message, sent, received].iter().any(|n| *n > MAX_NUMBER) {
                return Err(Rejection::Offsets);
            }
            Purpose::Rejoin(Rejoin {
                message,
                sent,
                received,
            })
        }
        _ => Purpose::Open(Mode::RepFlow),
    };
    let preamble = Preamble { purpose, leg, flow };
    let length = preamble_length(&preamble);
    Ok((preamble, length))
}

/// Decodes the banner at the start of a server's bytes.
///
/// # Errors
/// The reason for the first wrong field. [`Rejection::Incomplete`] if all bytes so far are valid.
pub fn decode_banner(bytes: &[u8]) -> Result<Banner, Rejection> {
    let mut reader = magic(bytes, &BANNER_MAGIC)?;
    if reader.u8()? != VERSION {
        return Err(Rejection::Version);
    }
    let status = STATUSES.get(usize::from(reader.u8()?));
    let status = *status.ok_or(Rejection::Status)?;
    let leg = match reader.u8()? {
        0 => Leg::First,
        1 => Leg::Second,
        _ => return Err(Rejection::Leg),
    };
    if reader.u8()? != 0 {
        return Err(Rejection::Reserved);
    }
    let check = reader.u32()?;
    let instance = InstanceId(u128::from_be_bytes(reader.take()?));
    if instance.0 == 0 {
        return Err(Rejection::InstanceId);
    }
    Ok(Banner {
        status,
        leg,
        check,
        instance,
    })
}

/// Checks the bytes of the magic that have arrived. Returns a decoder for the bytes after the magic.
fn magic<'a>(bytes: &'a [u8], magic: &[u8; 8]) -> Result<Reader<'a>, Rejection> {
    if bytes
        .iter()
        .zip(magic)
        .any(|(found, wanted)| found != wanted)
    {
        return Err(Rejection::Magic);
    }
    let mut reader = Reader::new(bytes);
    reader.take::<8>()?;
    Ok(reader)
}
