//! Destination of a download that can seek. Each byte is written at its position.

use super::body::RangesBody;
use super::digest::Check;
use super::error::{Cause, RangesError};
use super::transfer::Sink;
use bytes::Bytes;
use http_body::Body;
use std::future::poll_fn;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::pin::pin;
use std::task::Context;

/// Size in bytes of the buffer for reading an object back.
const BUFFER: usize = 1 << 16;

/// Destination of a download, with the present write position.
pub(super) struct FileSink<P> {
    file: P,
    /// Present position in the destination. `None`: unknown.
    at: Option<u64>,
}

impl<P: Read + Write + Seek> FileSink<P> {
    pub const fn new(file: P) -> Self {
        Self { file, at: None }
    }

    /// Writes a body whose bytes arrive in order.
    pub async fn take_all<R>(&mut self, body: RangesBody<R>) -> Result<(), RangesError>
    where
        R: Body,
        R::Error: Into<Cause>,
    {
        let (mut body, mut at) = (pin!(body), 0);
        while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            if let Ok(bytes) = frame?.into_data() {
                let length = bytes.len() as u64;
                self.put(at, bytes).map_err(RangesError::Destination)?;
                at += length;
            }
        }
        self.file.flush().map_err(RangesError::Destination)
    }

    /// Flushes the destination after the last byte.
    /// With a `check`, reads all bytes back and compares them with the digest.
    pub async fn verify(&mut self, total: u64, check: Option<Check>) -> Result<(), RangesError> {
        self.file.flush().map_err(RangesError::Destination)?;
        let Some(mut check) = check.filter(Check::is_known) else {
            return Ok(());
        };
        self.file.rewind().map_err(RangesError::Destination)?;
        let mut buffer = vec![0; BUFFER];
        let mut left = total;
        while left > 0 {
            let length = left.min(BUFFER as u64) as usize;
            let bytes = &mut buffer[..length];
            self.file
                .read_exact(bytes)
                .map_err(RangesError::Destination)?;
            check.add(bytes);
            left -= length as u64;
            // Reading back takes a long time, so other tasks may run between two reads.
            tokio::task::yield_now().await;
        }
        match check.holds() {
            true => Ok(()),
            false => Err(RangesError::Digest),
        }
    }
}

impl<P: Read + Write + Seek> Sink for FileSink<P> {
    fn put(&mut self, from: u64, bytes: Bytes) -> io::Result<()> {
        // If the seek or the write fails, the position is unknown.
        if self.at.take() != Some(from) {
            self.file.seek(SeekFrom::Start(from))?;
        }
        self.file.write_all(&bytes)?;
        self.at = Some(from + bytes.len() as u64);
        Ok(())
    }

    fn taken(&mut self, _: &mut Context<'_>) -> u64 {
        // Bytes may be written in any order, so no byte waits for a reader.
        0
    }
}
