//! Small program that transfers a file over TCP. Like `tailcut cast`, it verifies the data with BLAKE3 at both ends.
//! The program drops the received bytes.
//! The kernel does all other work, so the program shows the highest rate of transfers with hashes on this machine.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;

/// Size of a read and of a write, in bytes.
/// A block of this size fits into the cache of a core, and is long enough for fast hashing.
const STEP: usize = 128 << 10;

pub fn receive(listen: SocketAddr) -> io::Result<()> {
    let (mut stream, _) = TcpListener::bind(listen)?.accept()?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; STEP];
    loop {
        let filled = fill(&mut stream, &mut buffer)?;
        hasher.update(&buffer[..filled]);
        if filled < buffer.len() {
            break;
        }
    }
    stream.write_all(hasher.finalize().as_bytes())
}

/// Sends a file, or the same number of bytes from memory.
pub fn send(to: SocketAddr, path: &Path, is_from_memory: bool) -> io::Result<()> {
    let mut stream = TcpStream::connect(to)?;
    let mut file = std::fs::File::open(path)?;
    let mut left = file.metadata()?.len();
    let mut hasher = blake3::Hasher::new();
    // The buffer for bytes from memory has the size of all block buffers that `cast` uses at the same time.
    // The buffer of `cast` and the buffer here are too large for a cache.
    let mut buffer = vec![7; if is_from_memory { 48 << 20 } else { STEP }];
    let mut at = 0;
    while left > 0 {
        let count = left.min(STEP as u64) as usize;
        let step = &mut buffer[at..at + count];
        if !is_from_memory {
            file.read_exact(step)?;
        }
        hasher.update(step);
        stream.write_all(step)?;
        left -= count as u64;
        at = (at + STEP) % buffer.len();
    }
    stream.shutdown(Shutdown::Write)?;
    let mut told = [0; blake3::OUT_LEN];
    stream.read_exact(&mut told)?;
    match told == *hasher.finalize().as_bytes() {
        true => Ok(()),
        false => Err(io::Error::other("the hashes differ")),
    }
}

/// Reads until the buffer is full or the stream ends. Returns the number of bytes that were read.
fn fill(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}
