//! TUN device in a network namespace that only the calling thread uses.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, Timespec};
use rustix::ioctl::{Opcode, Setter, Updater, ioctl, opcode};
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Address of the kernel's end.
pub const OWN: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
/// Address of the peer, which the case plays.
pub const PEER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

const NAME: &[u8] = b"cases0";
const TUNSETIFF: Opcode = opcode::write::<i32>(b'T', 202);
const IFF_UP: u16 = 0x0001;
const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;
const SIOCSIFFLAGS: Opcode = 0x8914;
const SIOCSIFADDR: Opcode = 0x8916;
const SIOCSIFNETMASK: Opcode = 0x891c;

/// Structure `ifreq` of the kernel: a name, and 24 bytes whose meaning depends on the request.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    value: [u8; 24],
}

const _: () = assert!(size_of::<InterfaceRequest>() == 40);

impl InterfaceRequest {
    fn new(value: &[u8]) -> Self {
        let mut request = Self {
            name: [0; 16],
            value: [0; 24],
        };
        request.name[..NAME.len()].copy_from_slice(NAME);
        request.value[..value.len()].copy_from_slice(value);
        request
    }

    /// Returns a request that contains a `struct sockaddr_in`: family, port and address.
    fn with_address(address: Ipv4Addr) -> Self {
        let mut value = [0; 8];
        value[..2].copy_from_slice(&AddressFamily::INET.as_raw().to_ne_bytes());
        value[4..].copy_from_slice(&address.octets());
        Self::new(&value)
    }
}

/// File of the TUN device. The device disappears when the file is closed.
pub struct Device(OwnedFd);

impl Device {
    /// Moves the calling thread into its own network namespace, and creates the device there.
    pub fn in_own_namespace() -> Result<Self, String> {
        // SAFETY: the call is unsafe only for flags that remove file descriptors or memory from other threads.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
            .map_err(|error| format!("a new network namespace needs root ({error})"))?;
        Self::create().map_err(|error| format!("no TUN device at /dev/net/tun ({error})"))
    }

    fn create() -> rustix::io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty())?;
        let mut request = InterfaceRequest::new(&(IFF_TUN | IFF_NO_PI).to_ne_bytes());
        let control = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        // SAFETY: the two `ioctl` requests use a `struct ifreq`, which has 40 bytes on 64-bit Linux.
        // The kernel keeps no pointer to the `struct ifreq`.
        unsafe {
            ioctl(
                &file,
                Updater::<TUNSETIFF, InterfaceRequest>::new(&mut request),
            )?;
            let address = InterfaceRequest::with_address(OWN);
            ioctl(
                &control,
                Setter::<SIOCSIFADDR, InterfaceRequest>::new(address),
            )?;
            let mask = InterfaceRequest::with_address(Ipv4Addr::new(255, 255, 255, 0));
            ioctl(
                &control,
                Setter::<SIOCSIFNETMASK, InterfaceRequest>::new(mask),
            )?;
            let up = InterfaceRequest::new(&IFF_UP.to_ne_bytes());
            ioctl(&control, Setter::<SIOCSIFFLAGS, InterfaceRequest>::new(up))?;
        }
        Ok(Self(file))
    }

    /// Waits until the kernel sends a packet, and reads the packet. Returns `None` if no packet arrives before `until`.
    pub fn receive(&self, buffer: &mut [u8], until: Instant) -> Option<usize> {
        loop {
            if let Ok(length) = rustix::io::read(&self.0, &mut *buffer) {
                return Some(length);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            self.wait(left);
        }
    }

    fn wait(&self, left: Duration) {
        let timeout = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let file = self.0.as_fd();
        // A signal may interrupt the wait and make it shorter, so the error is ignored.
        let _ = poll(
            &mut [PollFd::from_borrowed_fd(file, PollFlags::IN)],
            Some(&timeout),
        );
    }

    /// Sends a packet to the kernel. The kernel processes the packet before the call returns.
    pub fn send(&self, packet: &[u8]) -> Result<(), String> {
        let sent = rustix::io::write(&self.0, packet);
        sent.map(drop)
            .map_err(|error| format!("cannot send a packet ({error})"))
    }
}
