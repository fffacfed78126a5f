//! Ethernet frames in reusable buffers.

use std::rc::Rc;

/// Ethernet frame. Clones share one buffer.
#[derive(Clone, Debug)]
pub struct Frame {
    buffer: Rc<Box<[u8]>>,
    length: usize,
    /// DSCP that a switch sets when it trims the frame; `None` means no change.
    trimmed_code: Option<u8>,
}

impl Frame {
    /// Returns the bytes of the frame.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    /// Returns the bytes of the frame for writing.
    /// If other clones share the buffer, this clone first gets a separate copy.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if Rc::get_mut(&mut self.buffer).is_none() {
            self.buffer = Rc::new(self.buffer.as_ref().clone());
        }
        let buffer = Rc::get_mut(&mut self.buffer).expect("the only owner");
        &mut buffer[..self.length]
    }

    /// Returns the DSCP that a switch sets when it trims the frame; `None` means no change.
    pub const fn trimmed_code(&self) -> Option<u8> {
        self.trimmed_code
    }

    /// Sets the DSCP that a switch sets when it trims the frame.
    pub const fn set_trimmed_code(&mut self, code: Option<u8>) {
        self.trimmed_code = code;
    }

    /// Removes all bytes after the first `length`.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }
}

/// Pool of free buffers for frames.
#[derive(Debug)]
pub struct Buffers {
    free: Vec<Rc<Box<[u8]>>>,
    size: usize,
}

impl Buffers {
    /// Creates an empty pool for frames of at most `size` bytes.
    pub const fn new(size: usize) -> Self {
        Self {
            free: Vec::new(),
            size,
        }
    }

    /// Returns a frame with the bytes that `read` writes into a buffer. `read` returns the number of written bytes.
    ///
    /// # Errors
    /// The error of `read`. After an error, the buffer returns to the pool.
    pub fn fill<E>(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<Frame, E> {
        let free = self.free.pop();
        let mut buffer = free.unwrap_or_else(|| Rc::new(vec![0; self.size].into_boxed_slice()));
        let bytes = Rc::get_mut(&mut buffer).expect("free buffers have no other owner");
        match read(bytes) {
            Ok(length) => Ok(Frame {
                length: length.min(bytes.len()),
                trimmed_code: None,
                buffer,
            }),
            Err(error) => {
                self.free.push(buffer);
                Err(error)
            }
        }
    }

    /// Returns the buffer of a frame to the pool, unless other clones still use it.
    pub fn release(&mut self, frame: Frame) {
        let mut buffer = frame.buffer;
        if Rc::get_mut(&mut buffer).is_some() {
            self.free.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(buffers: &mut Buffers, bytes: &[u8]) -> Frame {
        let read = |buffer: &mut [u8]| -> Result<usize, ()> {
            buffer[..bytes.len()].copy_from_slice(bytes);
            Ok(bytes.len())
        };
        buffers.fill(read).expect("read")
    }

    #[test]
    fn a_buffer_is_used_again_when_its_last_copy_has_left() {
        let mut buffers = Buffers::new(16);
        let frame = filled(&mut buffers, b"one");
        let place = frame.bytes().as_ptr();
        let copy = frame.clone();
        buffers.release(frame);
        assert_ne!(filled(&mut buffers, b"two").bytes().as_ptr(), place);
        assert_eq!(copy.bytes(), b"one");
        buffers.release(copy);
        assert_eq!(filled(&mut buffers, b"three").bytes().as_ptr(), place);
    }

    #[test]
    fn a_change_of_one_copy_is_not_seen_in_the_others() {
        let mut buffers = Buffers::new(16);
        let frame = filled(&mut buffers, b"one");
        let mut copy = frame.clone();
        copy.bytes_mut()[0] = b'O';
        copy.truncate(2);
        assert_eq!((frame.bytes(), copy.bytes()), (&b"one"[..], &b"On"[..]));
    }
}
