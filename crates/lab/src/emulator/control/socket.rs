//! Sockets with names but no files, and messages with files of other processes.

use super::message::{Reply, Request};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::OnceLock;

/// What the names of all labs' sockets begin with; the user's number and the lab's name follow.
const PREFIX: &str = "tailcut-lab";
/// The longest message.
const MOST_BYTES: usize = 8 << 20;
/// The most files beside a message.
const MOST_FILES: usize = 8;

/// The name of a lab's socket.
fn socket_name(lab: &str) -> String {
    // In a user namespace of its own a process has another number; labs go by the one outside.
    static USER: OnceLock<u32> = OnceLock::new();
    let user = USER.get_or_init(|| rustix::process::getuid().as_raw());
    format!("{PREFIX}/{user}/{lab}")
}

/// The names of this user's labs, from the kernel's table of sockets.
pub fn running() -> Vec<String> {
    let prefix = socket_name("");
    let table = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let names = table.lines().filter_map(|line| {
        let (listens, name) = (line.split_whitespace().nth(3)?, line.split_once('@')?.1);
        // The flag of sockets that accept connections.
        let lab = name.strip_prefix(prefix.as_str())?;
        (listens == "00010000").then(|| lab.to_owned())
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names
}

/// Takes a lab's name.
///
/// # Errors
/// The name is taken, or the system refuses.
pub fn listen(lab: &str) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(socket_name(lab))?)
}

/// Connects to a lab.
///
/// # Errors
/// There is none of that name, or it is not this user's.
pub fn connect(lab: &str) -> io::Result<UnixStream> {
    let stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(socket_name(lab))?)?;
    match is_same_user(&stream) {
        true => Ok(stream),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "its name is held by a process of another user",
        )),
    }
}

/// Whether the process at the other end is of this user. Names of sockets belong to nobody.
pub fn is_same_user(stream: &UnixStream) -> bool {
    let peer = getsockopt(stream, PeerCredentials);
    peer.is_ok_and(|peer| peer.uid() == rustix::process::getuid().as_raw())
}

/// Sends a message, with files.
fn send(stream: &UnixStream, message: &impl Serialize, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::Error::other("too many files beside a message"));
    }
    let mut sent = 0;
    while sent < bytes.len() {
        let part = [IoSlice::new(&bytes[sent..])];
        sent += rustix::net::sendmsg(stream, &part, &mut control, SendFlags::NOSIGNAL)?;
        control.clear();
    }
    Ok(())
}

/// Receives a message, with files.
fn receive<T: DeserializeOwned>(stream: &UnixStream) -> io::Result<(T, Vec<OwnedFd>)> {
    let (mut bytes, mut files) = (Vec::new(), Vec::new());
    let mut part = vec![0; 64 << 10];
    while bytes.last() != Some(&b'\n') {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(&mut part)];
        let got = rustix::net::recvmsg(stream, into, &mut control, RecvFlags::CMSG_CLOEXEC)?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                files.extend(rights);
            }
        }
        if got.bytes == 0 || got.flags.contains(ReturnFlags::CTRUNC) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&part[..got.bytes]);
        if bytes.len() > MOST_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    Ok((serde_json::from_slice(&bytes)?, files))
}

/// Asks a lab.
///
/// # Errors
/// The lab has gone, or what it says is no answer.
pub fn ask(stream: &UnixStream, request: &Request) -> io::Result<(Reply, Vec<OwnedFd>)> {
    send(stream, request, &[])?;
    receive(stream)
}

/// Reads what a command asks.
///
/// # Errors
/// The command has gone, or what it says is no request.
pub fn asked(stream: &UnixStream) -> io::Result<Request> {
    receive(stream).map(|(request, _)| request)
}

/// Answers a command, with files.
///
/// # Errors
/// The command has gone.
pub fn answer(stream: &UnixStream, reply: &Reply, files: &[OwnedFd]) -> io::Result<()> {
    let files: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
    send(stream, reply, &files)
}
