//! A small program over TCP that verifies as `tailcut cast` does: BLAKE3 at both ends, and what arrives is
//! thrown away. It shows what a transfer with hashes can reach on the machine, when the kernel does the rest.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;

/// Bytes of a read and of a write: they fit into the cache of a core, and are long enough for BLAKE3's vectors.
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

/// Sends a file, or as many bytes of memory.
pub fn send(to: SocketAddr, path: &Path, is_from_memory: bool) -> io::Result<()> {
    let mut stream = TcpStream::connect(to)?;
    let mut file = std::fs::File::open(path)?;
    let mut left = file.metadata()?.len();
    let mut hasher = blake3::Hasher::new();
    // Memory is as large as the slabs of `cast` that are in use at once, so that it is in no cache either.
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
        false => Err(io::Error::other("the hashes do not agree")),
    }
}

/// Reads until the buffer is full or nothing comes any more.
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
