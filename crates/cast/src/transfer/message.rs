//! Messages between the ends of a transfer. Each message is one object. docs/wire/transfer.md describes the format.
//!
//! A message consists of a body and a footer of 20 bytes. The footer is at the end.
//! So the bytes of a slab are at the start of the object and need not be moved.

use crate::files::{Hash, LARGEST_SLAB, Label};

/// Version of the format of messages.
pub const VERSION: u8 = 2;
/// Size of the footer in bytes: two numbers, kind, version, magic.
pub const FOOTER: usize = 20;
/// Last two bytes of every message, "tc".
const MAGIC: [u8; 2] = *b"tc";
/// Size of an encoded label in bytes.
const LABEL: usize = 41;
/// Largest number of slabs in one request.
/// The same limit applies to the queue of requests that a sender keeps for each receiver.
pub const MOST_WANTED: usize = 256;
/// Largest number of hashes in one message. With more hashes, the first slab waits longer for them.
pub const MOST_HASHES: usize = 8_192;
/// Largest length of a reason's text in bytes.
pub const LONGEST_REASON: usize = 1_000;
/// Encoded value of an unknown number of bytes.
const UNKNOWN: u64 = u64::MAX;

/// Category of the reason why an end gives up a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// The end has refused the offer or the request.
    Refused,
    /// Data that the end has received does not match its hash.
    Mismatch,
    /// The system of the end has failed, for example its disk or its memory.
    System,
    /// The user of the end has interrupted the transfer.
    Interrupted,
    /// The end does not have the object that was requested.
    NotFound,
    /// The end was too slow, and the other receivers have waited for it too long.
    Dropped,
}

impl Code {
    const ALL: [Self; 6] = [
        Self::Refused,
        Self::Mismatch,
        Self::System,
        Self::Interrupted,
        Self::NotFound,
        Self::Dropped,
    ];

    const fn byte(self) -> u8 {
        self as u8
    }

    /// Returns the name of the category, for other programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Mismatch => "mismatch",
            Self::System => "system",
            Self::Interrupted => "interrupted",
            Self::NotFound => "not_found",
            Self::Dropped => "dropped",
        }
    }

    fn of(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }
}

/// Number of bytes that a receiver has verified.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ReceivedBytes {
    /// Number of verified bytes of slabs, including bytes that were kept from an earlier transfer.
    pub verified: u64,
    /// Number of bytes that were kept from an earlier transfer.
    pub kept: u64,
}

/// Numbers in the footer of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Footer {
    /// Session number of the other end. 0: it has none yet.
    pub to: u64,
    /// Number of the process that sends the message. Each process draws it at random when it starts.
    /// A new number shows that the process has restarted.
    pub process: u64,
}

/// Hashes of slabs of contents. All hashes together give the root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hashes {
    /// Number of the slab of contents that the first hash belongs to.
    pub first: u32,
    /// Number of all slabs of contents.
    pub count: u32,
    /// Hash of the manifest, as in its header.
    pub manifest: Hash,
    /// Hash of the first slab if it is the whole data.
    pub alone: Hash,
    /// Hashes of the slabs as parts of the data, at most 8,192.
    pub parts: Vec<Hash>,
}

/// Offer of a sender to transfer its data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Offer {
    /// Session number that messages to this sender must have.
    pub from: u64,
    /// Session number in the slabs of this sender. It is the same for all receivers.
    pub slabs: u64,
    /// Size of all slabs in bytes. `None`: the data is a stream.
    pub total: Option<u64>,
    /// Size of the manifest in bytes.
    pub manifest: u64,
    /// Base-2 logarithm of the size of a slab of contents in bytes, 20 to 24.
    pub slab_log2: u8,
}

impl Offer {
    /// Returns whether the data of both offers is split into the same slabs.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        let layout = |offer: &Self| (offer.total, offer.manifest, offer.slab_log2);
        layout(self) == layout(other)
    }
}

/// Message from one end to the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// From a sender: offers a transfer.
    Offer(Offer),
    /// From a receiver: accepts the offer. The number is the session number that messages to this receiver must have.
    Accept(u64),
    /// From a receiver: requests slabs.
    Want {
        /// All slabs with smaller numbers are verified or requested.
        below: u32,
        /// Number of bytes that the receiver has verified.
        received: ReceivedBytes,
        /// Numbers of the requested slabs, 256 at most.
        slabs: Vec<u32>,
    },
    /// From a receiver: these slabs are not needed any more, because another holder has sent them.
    Skip(Vec<u32>),
    /// From a sender: a slab, which consists of its label and its bytes.
    Slab(Label, Vec<u8>),
    /// From a receiver: all slabs are verified, and the root is requested.
    Close(ReceivedBytes),
    /// From a sender: the root of all data.
    Root(Hash),
    /// From a receiver: all data is written to its destination.
    Done,
    /// From either end: the transfer ends, for this reason.
    Fail(Code, String),
    /// From either end: tests whether the other end can be reached. A ping that is delivered needs no answer.
    Ping,
    /// From either end: the process does not know the session with this number. So the other end must not wait for it.
    Unknown(u64),
    /// From a receiver: requests the hashes of the slabs of contents, beginning with this slab.
    Prove(u32),
    /// From a sender: hashes of slabs.
    Hashes(Hashes),
    /// From a receiver: the offer waits, for this reason. An acceptance or a refusal follows later.
    Wait(String),
    /// From either end: asks the end at a new address to return this random number.
    Challenge(u64),
    /// From either end: returns the number of a challenge. So the end receives packets at its new address.
    Response(u64),
    /// From a receiver: requests the data with this root.
    /// The number is the session number that messages to this receiver must have.
    Get(u64, Hash),
}

/// Reason why bytes are not a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a malformed message: {0}")]
pub struct Malformed(&'static str);

impl Message {
    const fn kind(&self) -> u8 {
        match self {
            Self::Offer(_) => 1,
            Self::Accept(_) => 2,
            Self::Want { .. } => 3,
            Self::Skip(_) => 4,
            Self::Slab(..) => 5,
            Self::Close(_) => 6,
            Self::Root(_) => 7,
            Self::Done => 8,
            Self::Fail(..) => 9,
            Self::Ping => 10,
            Self::Get(..) => 11,
            Self::Unknown(_) => 12,
            Self::Prove(_) => 13,
            Self::Hashes(_) => 14,
            Self::Wait(_) => 15,
            Self::Challenge(_) => 16,
            Self::Response(_) => 17,
        }
    }

    /// Encodes the message as an object.
    pub fn encode(&self, footer: Footer) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Offer(offer) => {
                let total = offer.total.unwrap_or(UNKNOWN);
                for number in [offer.from, offer.slabs, total, offer.manifest] {
                    out.extend(number.to_be_bytes());
                }
                out.push(offer.slab_log2);
            }
            Self::Accept(number)
            | Self::Unknown(number)
            | Self::Challenge(number)
            | Self::Response(number) => out.extend(number.to_be_bytes()),
            Self::Want {
                below,
                received,
                slabs,
            } => {
                out.extend(below.to_be_bytes());
                received.encode(&mut out);
                out.extend(slabs.iter().flat_map(|slab| slab.to_be_bytes()));
            }
            Self::Skip(slabs) => out.extend(slabs.iter().flat_map(|slab| slab.to_be_bytes())),
            Self::Slab(label, bytes) => {
                out.extend(bytes);
                seal_slab(&mut out, label, footer);
                return out;
            }
            Self::Close(received) => received.encode(&mut out),
            Self::Prove(first) => out.extend(first.to_be_bytes()),
            Self::Hashes(hashes) => {
                out.extend(hashes.first.to_be_bytes());
                out.extend(hashes.count.to_be_bytes());
                out.extend(hashes.manifest.0);
                out.extend(hashes.alone.0);
                out.extend(hashes.parts.iter().flat_map(|part| part.0));
            }
            Self::Root(hash) => out.extend(hash.0),
            Self::Done | Self::Ping => {}
            Self::Fail(code, reason) => {
                out.push(code.byte());
                put_reason(&mut out, reason);
            }
            Self::Wait(reason) => put_reason(&mut out, reason),
            Self::Get(from, hash) => {
                out.extend(from.to_be_bytes());
                out.extend(hash.0);
            }
        }
        put_footer(&mut out, footer, self.kind());
        out
    }

    /// Decodes an object. Returns the message and the numbers in its footer.
    ///
    /// # Errors
    /// The bytes are not a message in this version of the format.
    pub fn decode(mut bytes: Vec<u8>) -> Result<(Footer, Self), Malformed> {
        let Some((rest, [kind, version, magic @ ..])) = bytes.split_last_chunk::<4>() else {
            return Err(Malformed("it is too short"));
        };
        if *magic != MAGIC {
            return Err(Malformed("it does not end with 'tc'"));
        }
        if *version != VERSION {
            return Err(Malformed("its version is not 2; both ends need the same"));
        }
        let kind = *kind;
        let Some((rest, process)) = rest.split_last_chunk::<8>() else {
            return Err(Malformed("it is too short"));
        };
        let Some((body, to)) = rest.split_last_chunk::<8>() else {
            return Err(Malformed("it is too short"));
        };
        let footer = Footer {
            to: u64::from_be_bytes(*to),
            process: u64::from_be_bytes(*process),
        };
        // A slab is decoded in place. So its bytes are not copied.
        if kind == 5 {
            let label = body.split_last_chunk::<LABEL>();
            let (slab, label) = label.ok_or(Malformed("a slab without a label"))?;
            let label = read_label(label, slab.len())?;
            let length = slab.len();
            bytes.truncate(length);
            return Ok((footer, Self::Slab(label, bytes)));
        }
        let mut body = Body(body);
        let message = match kind {
            1 => Self::Offer(read_offer(&mut body)?),
            2 => Self::Accept(body.u64()?),
            3 => Self::Want {
                below: body.u32()?,
                received: ReceivedBytes::read(&mut body)?,
                slabs: body.slabs()?,
            },
            4 => Self::Skip(body.slabs()?),
            6 => Self::Close(ReceivedBytes::read(&mut body)?),
            7 => Self::Root(Hash(body.take()?)),
            8 => Self::Done,
            9 => {
                let [code] = body.take()?;
                let code = Code::of(code).ok_or(Malformed("a reason with an unknown code"))?;
                Self::Fail(code, body.text()?)
            }
            10 => Self::Ping,
            11 => Self::Get(body.u64()?, Hash(body.take()?)),
            12 => Self::Unknown(body.u64()?),
            13 => Self::Prove(body.u32()?),
            14 => Self::Hashes(read_hashes(&mut body)?),
            15 => Self::Wait(body.text()?),
            16 => Self::Challenge(body.u64()?),
            17 => Self::Response(body.u64()?),
            _ => return Err(Malformed("its kind is unknown")),
        };
        match body.0 {
            [] => Ok((footer, message)),
            _ => Err(Malformed("it is too long")),
        }
    }
}

/// Appends the text of a reason. It is cut at its longest allowed length, but not inside a character.
fn put_reason(out: &mut Vec<u8>, reason: &str) {
    let ends = reason.char_indices().map(|(at, next)| at + next.len_utf8());
    let length = ends.take_while(|end| *end <= LONGEST_REASON).last();
    let length = length.unwrap_or(0);
    out.extend(reason.as_bytes().iter().take(length));
}

/// Turns the bytes of a slab into a message: appends the label and the footer.
pub fn seal_slab(bytes: &mut Vec<u8>, label: &Label, footer: Footer) {
    bytes.reserve(LABEL + FOOTER);
    bytes.extend(label.slab.to_be_bytes());
    bytes.extend(label.length.to_be_bytes());
    bytes.push(label.last.into());
    bytes.extend(label.hash.0);
    put_footer(bytes, footer, 5);
}

fn put_footer(out: &mut Vec<u8>, footer: Footer, kind: u8) {
    out.extend(footer.to.to_be_bytes());
    out.extend(footer.process.to_be_bytes());
    out.extend([kind, VERSION]);
    out.extend(MAGIC);
}

fn read_label(bytes: &[u8; LABEL], found: usize) -> Result<Label, Malformed> {
    let mut body = Body(bytes);
    let (slab, length) = (body.u32()?, body.u32()?);
    let [last] = body.take()?;
    if length as usize != found || length > LARGEST_SLAB {
        return Err(Malformed("a slab with a wrong length"));
    }
    if last > 1 {
        return Err(Malformed(
            "a label whose flag for the last slab is neither 0 nor 1",
        ));
    }
    let hash = Hash(body.take()?);
    Ok(Label {
        slab,
        length,
        last: last == 1,
        hash,
    })
}

fn read_hashes(body: &mut Body<'_>) -> Result<Hashes, Malformed> {
    let (first, count) = (body.u32()?, body.u32()?);
    let (manifest, alone) = (Hash(body.take()?), Hash(body.take()?));
    if body.0.len() > MOST_HASHES * 32 {
        return Err(Malformed("it lists more than 8192 hashes"));
    }
    let mut parts = Vec::with_capacity(body.0.len() / 32);
    while !body.0.is_empty() {
        parts.push(Hash(body.take()?));
    }
    Ok(Hashes {
        first,
        count,
        manifest,
        alone,
        parts,
    })
}

fn read_offer(body: &mut Body<'_>) -> Result<Offer, Malformed> {
    let (from, slabs, total) = (body.u64()?, body.u64()?, body.u64()?);
    let manifest = body.u64()?;
    let [slab_log2] = body.take()?;
    if !(20..=24).contains(&slab_log2) {
        return Err(Malformed("slabs whose size is not 1, 2, 4, 8 or 16 MiB"));
    }
    Ok(Offer {
        from,
        slabs,
        total: (total != UNKNOWN).then_some(total),
        manifest,
        slab_log2,
    })
}

impl ReceivedBytes {
    fn encode(self, out: &mut Vec<u8>) {
        out.extend(self.verified.to_be_bytes());
        out.extend(self.kept.to_be_bytes());
    }

    fn read(body: &mut Body<'_>) -> Result<Self, Malformed> {
        let (verified, kept) = (body.u64()?, body.u64()?);
        match kept > verified {
            true => Err(Malformed("more bytes are kept than verified")),
            false => Ok(Self { verified, kept }),
        }
    }
}

/// Bytes of a body that are not decoded yet.
struct Body<'a>(&'a [u8]);

impl Body<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self
            .0
            .split_first_chunk()
            .ok_or(Malformed("it is too short"))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_be_bytes)
    }

    fn slabs(&mut self) -> Result<Vec<u32>, Malformed> {
        if self.0.len() > MOST_WANTED * 4 {
            return Err(Malformed("it lists more than 256 slabs"));
        }
        let mut slabs = Vec::with_capacity(self.0.len() / 4);
        while !self.0.is_empty() {
            slabs.push(self.u32()?);
        }
        Ok(slabs)
    }

    /// Decodes all bytes that are left as text, on one line.
    fn text(&mut self) -> Result<String, Malformed> {
        let bytes = std::mem::take(&mut self.0);
        if bytes.len() > LONGEST_REASON {
            return Err(Malformed("a reason of more than 1000 bytes"));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| Malformed("a reason that is no text"))?;
        // The text is printed on a terminal. So control characters are removed.
        Ok(text
            .chars()
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENDS: Footer = Footer { to: 99, process: 7 };

    fn messages() -> Vec<Message> {
        let received = ReceivedBytes {
            verified: 9,
            kept: 2,
        };
        let label = Label {
            slab: 3,
            length: 4,
            last: true,
            hash: Hash([7; 32]),
        };
        let offer = |total| Offer {
            from: 1,
            slabs: 2,
            total,
            manifest: 300,
            slab_log2: 24,
        };
        vec![
            Message::Offer(offer(Some(77))),
            Message::Offer(offer(None)),
            Message::Accept(8),
            Message::Want {
                below: 5,
                received,
                slabs: vec![1, 4],
            },
            Message::Skip(vec![2]),
            Message::Slab(label, vec![1, 2, 3, 4]),
            Message::Close(received),
            Message::Root(Hash([1; 32])),
            Message::Done,
            Message::Fail(Code::Dropped, "too slow".to_owned()),
            Message::Ping,
            Message::Get(6, Hash([2; 32])),
            Message::Unknown(5),
            Message::Prove(3),
            Message::Hashes(Hashes {
                first: 1,
                count: 3,
                manifest: Hash([3; 32]),
                alone: Hash([4; 32]),
                parts: vec![Hash([5; 32]), Hash([6; 32])],
            }),
            Message::Wait("others come first".to_owned()),
            Message::Challenge(11),
            Message::Response(12),
        ]
    }

    #[test]
    fn every_message_is_read_as_it_was_written_and_no_shorter_or_longer_one() {
        for message in messages() {
            let bytes = message.encode(ENDS);
            assert_eq!(Message::decode(bytes.clone()), Ok((ENDS, message.clone())));
            for cut in 1..=bytes.len() {
                assert!(Message::decode(bytes[..bytes.len() - cut].to_vec()).is_err());
            }
            let has_rest = matches!(
                message,
                Message::Want { .. } | Message::Skip(_) | Message::Fail(..) | Message::Wait(_)
            );
            if !has_rest {
                let longer = [vec![0], bytes].concat();
                assert!(Message::decode(longer).is_err(), "{message:?}");
            }
        }
    }

    #[test]
    fn another_version_is_refused_and_says_so() {
        let mut bytes = Message::Done.encode(ENDS);
        let at = bytes.len() - 3;
        bytes[at] = 1;
        let error = Message::decode(bytes).expect_err("another version");
        assert!(error.to_string().contains("version"), "{error}");
    }

    #[test]
    fn what_a_peer_says_cannot_steer_a_terminal() {
        let bytes = Message::Fail(Code::Refused, "a\u{1b}[2Jb\n".to_owned()).encode(ENDS);
        let read = Message::decode(bytes).expect("a message");
        let said = Message::Fail(Code::Refused, "a [2Jb ".to_owned());
        assert_eq!(read, (ENDS, said));
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_mean_what_they_are_written_as(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
            kind in 0u8..20,
        ) {
            let _ = Message::decode(bytes.clone());
            put_footer(&mut bytes, ENDS, kind);
            if let Ok((footer, message)) = Message::decode(bytes) {
                let again = message.encode(footer);
                prop_assert_eq!(Message::decode(again), Ok((footer, message)));
            }
        }
    }
}
