//! A host's network card: a TAP device in the host's namespace, whose other side is a file of ours.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Updater, opcode};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What a host calls its network card.
pub const DEVICE: &str = "eth0";

const TUNSETIFF: u32 = opcode::write::<i32>(b'T', 202);
const IFF_TAP: u16 = 0x0002;
const IFF_NO_PI: u16 = 0x1000;

/// `struct ifreq` as far as TUNSETIFF reads it, in its full size.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// The file of a TAP device. The device goes when it is closed.
#[derive(Debug)]
pub struct Tap(OwnedFd);

impl Tap {
    /// Makes the device in this thread's network namespace.
    ///
    /// # Errors
    /// The system refuses: there is no TUN driver, or it may not be used.
    pub fn create() -> rustix::io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty())?;
        let mut request = InterfaceRequest {
            name: [0; 16],
            flags: IFF_TAP | IFF_NO_PI,
            rest: [0; 22],
        };
        request.name[..DEVICE.len()].copy_from_slice(DEVICE.as_bytes());
        // SAFETY: TUNSETIFF reads and writes a `struct ifreq`, 40 bytes on 64-bit Linux, which is what
        // `InterfaceRequest` is (checked below); it keeps no pointer to it.
        unsafe {
            let ioctl = Updater::<TUNSETIFF, InterfaceRequest>::new(&mut request);
            rustix::ioctl::ioctl(&file, ioctl)?;
        }
        Ok(Self(file))
    }

    /// The next frame that the host has sent, into `buffer`; its length, or `None` where there is none.
    ///
    /// # Errors
    /// What the system says.
    pub fn receive(&self, buffer: &mut [u8]) -> rustix::io::Result<Option<usize>> {
        loop {
            match rustix::io::read(&self.0, &mut *buffer) {
                Ok(length) => return Ok(Some(length)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives the host a frame.
    ///
    /// # Errors
    /// What the system says.
    pub fn send(&self, frame: &[u8]) -> rustix::io::Result<()> {
        loop {
            match rustix::io::write(&self.0, frame) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

const _: () = assert!(size_of::<InterfaceRequest>() == 40);
