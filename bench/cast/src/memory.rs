//! Sender and receiver of `tailcut cast` without files. They transfer objects of 16 MiB from memory.
//! The sender and the receiver hash the objects, and the receiver drops them after that.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tailcut_cast::driver::{Endpoint, Options, Sending};

/// Size of an object without its hash, in bytes. A slab of `tailcut cast` has the same size.
const OBJECT: usize = 16 << 20;
const HASH: usize = blake3::OUT_LEN;
/// Number of objects in flight at the same time, the same as in `tailcut cast`.
const AT_ONCE: usize = 2;

fn other(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

/// Object that is sent repeatedly.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn objects(bytes: u64) -> u64 {
    bytes.div_ceil(OBJECT as u64)
}

pub fn receive(listen: SocketAddr, bytes: u64) -> io::Result<()> {
    let endpoint = Endpoint::bind(listen, &Options::default())?;
    for _ in 0..objects(bytes) {
        let received = endpoint.receive().ok_or_else(|| other("closed"))?;
        let bytes = received.into_bytes();
        let (object, told) = bytes
            .split_at_checked(OBJECT)
            .ok_or_else(|| other("an object that is too short"))?;
        if blake3::hash(object).as_bytes() != told {
            return Err(other("the hashes differ"));
        }
        endpoint.recycle(bytes);
    }
    // The last acknowledgments need time to reach the sender.
    std::thread::sleep(std::time::Duration::from_millis(100));
    Ok(())
}

pub fn send(to: SocketAddr, bytes: u64, mtu: u16) -> io::Result<()> {
    let options = Options {
        mtu,
        ..Options::default()
    };
    let endpoint = Endpoint::bind((Ipv4Addr::UNSPECIFIED, 0).into(), &options)?;
    let mut random = blake3::Hasher::new().update(b"cast memory").finalize_xof();
    // While two objects are in flight, another object is hashed, so there is one more buffer.
    let mut buffers: VecDeque<Arc<Vec<u8>>> = (0..=AT_ONCE)
        .map(|_| {
            let mut buffer = vec![0; OBJECT + HASH];
            random.fill(&mut buffer);
            Arc::new(buffer)
        })
        .collect();
    let mut under_way: VecDeque<Sending> = VecDeque::new();
    for _ in 0..objects(bytes) {
        let Some(mut buffer) = buffers.pop_front() else {
            return Err(other("no buffer"));
        };
        // The endpoint may still hold a completed object for a short time.
        let object = loop {
            match Arc::get_mut(&mut buffer) {
                Some(object) => break object,
                None => std::thread::yield_now(),
            }
        };
        let hash = blake3::hash(&object[..OBJECT]);
        object[OBJECT..].copy_from_slice(hash.as_bytes());
        under_way.push_back(endpoint.send(to, Shared(Arc::clone(&buffer))));
        buffers.push_back(buffer);
        if under_way.len() == AT_ONCE
            && let Some(first) = under_way.pop_front()
        {
            first.wait().map_err(other)?;
        }
    }
    under_way
        .into_iter()
        .try_for_each(|sending| sending.wait().map(drop))
        .map_err(other)
}
