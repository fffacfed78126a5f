mod at_once;
mod many;
mod moves;
mod one;
mod relay;
mod replicas;
mod restarts;

use super::common::bytes;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread::JoinHandle;
use tailcut_cast::driver::{Endpoint, Options};
use tailcut_cast::files::Sink;
use tailcut_cast::transfer::{Error, Listener, Taken};

/// Stop flag that is never set, so that transfers run to their end.
pub static GOES_ON: AtomicBool = AtomicBool::new(false);

pub fn bind() -> Endpoint {
    let local = "127.0.0.1:0".parse().expect("an address");
    Endpoint::bind(local, &Options::default()).expect("a port")
}

/// Receives one transfer in a separate thread.
pub fn receiver(
    make: impl FnOnce() -> Box<dyn Sink> + Send + 'static,
) -> (SocketAddr, JoinHandle<Result<Taken, Error>>) {
    let endpoint = bind();
    let at = endpoint.local();
    let thread = std::thread::spawn(move || {
        let mut listener = Listener::new(&endpoint, &GOES_ON);
        let offered = listener.accept()?;
        listener.receive(offered, make(), &mut |_| ())
    });
    (at, thread)
}

/// Creates a file named `file` with `length` bytes in a directory. Returns its path and its contents.
fn file_of(folder: &Path, length: usize) -> (PathBuf, Vec<u8>) {
    let (file, contents) = (folder.join("file"), bytes(length, 1));
    fs::write(&file, &contents).expect("a file");
    (file, contents)
}

/// Pipe that returns some bytes and then blocks.
pub struct Waits(pub mpsc::Receiver<Vec<u8>>);

impl std::io::Read for Waits {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let Ok(bytes) = self.0.recv() else {
            return Ok(0);
        };
        into[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}
