//! Abstract Unix sockets, and messages that carry file descriptors.

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

/// Prefix of the socket names of labs. A socket name consists of the prefix, the user's number and the lab's name.
const PREFIX: &str = "tailcut-lab";
/// Maximum length of a message in bytes.
const MOST_BYTES: usize = 8 << 20;
/// Maximum number of file descriptors in a message.
const MOST_FILES: usize = 8;

/// Returns the socket name of a lab.
fn socket_name(lab: &str) -> String {
    // In a user namespace of the lab, this process has another user number.
    // The first call happens before the process enters the namespace.
    // Later calls of the function therefore reuse the number of the first call.
    static USER: OnceLock<u32> = OnceLock::new();
    let user = USER.get_or_init(|| rustix::process::getuid().as_raw());
    format!("{PREFIX}/{user}/{lab}")
}

/// Returns the names of this user's labs, from the kernel's table of Unix sockets.
pub fn running() -> Vec<String> {
    let prefix = socket_name("");
    let table = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let names = table.lines().filter_map(|line| {
        let (listens, name) = (line.split_whitespace().nth(3)?, line.split_once('@')?.1);
        // In the flags of this table, 00010000 marks a socket that accepts connections.
        let lab = name.strip_prefix(prefix.as_str())?;
        (listens == "00010000").then(|| lab.to_owned())
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names
}

/// Binds the socket of a lab.
///
/// # Errors
/// The name is in use, or the kernel rejects the call.
pub fn listen(lab: &str) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(socket_name(lab))?)
}

/// Connects to a lab.
///
/// # Errors
/// The lab does not exist, or it belongs to another user.
pub fn connect(lab: &str) -> io::Result<UnixStream> {
    let stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(socket_name(lab))?)?;
    match is_same_user(&stream) {
        true => Ok(stream),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "its name is in use by a process of another user",
        )),
    }
}

/// Returns whether a process of another user has taken the name of a lab.
pub fn is_foreign(lab: &str) -> bool {
    connect(lab).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Returns whether the process at the other end belongs to this user.
/// The check is necessary because any user can bind any abstract name.
pub fn is_same_user(stream: &UnixStream) -> bool {
    let peer = getsockopt(stream, PeerCredentials);
    peer.is_ok_and(|peer| peer.uid() == rustix::process::getuid().as_raw())
}

/// Sends a message with file descriptors.
fn send(stream: &UnixStream, message: &impl Serialize, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::Error::other("too many files for one message"));
    }
    let mut sent = 0;
    while sent < bytes.len() {
        let part = [IoSlice::new(&bytes[sent..])];
        sent += rustix::net::sendmsg(stream, &part, &mut control, SendFlags::NOSIGNAL)?;
        // The kernel must send the file descriptors only once: with the first part of the message.
        control.clear();
    }
    Ok(())
}

/// Receives a message with file descriptors.
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

/// Sends a request to a lab, and returns its reply.
///
/// # Errors
/// The lab has ended, or its reply is not valid.
pub fn request(stream: &UnixStream, request: &Request) -> io::Result<(Reply, Vec<OwnedFd>)> {
    send(stream, request, &[])?;
    receive(stream)
}

/// Reads the request of a command.
///
/// # Errors
/// The command has disconnected, or its request is not valid.
pub fn read_request(stream: &UnixStream) -> io::Result<Request> {
    receive(stream).map(|(request, _)| request)
}

/// Sends a reply with file descriptors to a command.
///
/// # Errors
/// The command has disconnected.
pub fn send_reply(stream: &UnixStream, reply: &Reply, files: &[OwnedFd]) -> io::Result<()> {
    let files: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
    send(stream, reply, &files)
}
