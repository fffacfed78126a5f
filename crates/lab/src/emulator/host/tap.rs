//! Network card of a host: a TAP device in the host's namespace. The fabric reads and writes its file.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Updater, opcode};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Name of the network card on the host.
pub const DEVICE: &str = "eth0";

const TUNSETIFF: u32 = opcode::write::<i32>(b'T', 202);
const IFF_TAP: u16 = 0x0002;
const IFF_NO_PI: u16 = 0x1000;

/// Structure `ifreq` of the kernel, with the fields that TUNSETIFF uses.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// File of a TAP device. The device disappears when the file is closed.
#[derive(Debug)]
pub struct Tap(OwnedFd);

impl Tap {
    /// Creates the device in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel has no TUN driver, or this process may not use it.
    pub fn create() -> rustix::io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty())?;
        let mut request = InterfaceRequest {
            name: [0; 16],
            flags: IFF_TAP | IFF_NO_PI,
            rest: [0; 22],
        };
        request.name[..DEVICE.len()].copy_from_slice(DEVICE.as_bytes());
        // SAFETY: TUNSETIFF reads and writes a `struct ifreq`, which has 40 bytes on 64-bit Linux.
        // `InterfaceRequest` has the same size (checked below). The kernel keeps no pointer to it.
        unsafe {
            let ioctl = Updater::<TUNSETIFF, InterfaceRequest>::new(&mut request);
            rustix::ioctl::ioctl(&file, ioctl)?;
        }
        Ok(Self(file))
    }

    /// Reads the next frame of the host into `buffer`. Returns its length, or `None` if no frame is waiting.
    ///
    /// # Errors
    /// The kernel rejects the call.
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

    /// Sends a frame to the host.
    ///
    /// # Errors
    /// The kernel rejects the call.
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
