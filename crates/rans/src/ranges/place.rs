//! Bytes that are written where they belong.

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

/// How much is read back at a time.
const BUFFER: usize = 1 << 16;

/// Progress of a download that is written to a place.
pub(super) struct Writing<P> {
    place: P,
    /// Where the place is.
    at: Option<u64>,
}

impl<P: Read + Write + Seek> Writing<P> {
    pub const fn new(place: P) -> Self {
        Self { place, at: None }
    }

    /// All of a body that comes in order.
    pub async fn take_all<R>(&mut self, body: RangesBody<R>) -> Result<(), RangesError>
    where
        R: Body,
        R::Error: Into<Cause>,
    {
        let (mut body, mut at) = (pin!(body), 0);
        while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            if let Ok(bytes) = frame?.into_data() {
                let length = bytes.len() as u64;
                self.put(at, bytes).map_err(RangesError::Place)?;
                at += length;
            }
        }
        self.place.flush().map_err(RangesError::Place)
    }

    /// Everything is written. Reads it back where it is to be checked.
    pub async fn verify(&mut self, total: u64, check: Option<Check>) -> Result<(), RangesError> {
        self.place.flush().map_err(RangesError::Place)?;
        let Some(mut check) = check else {
            return Ok(());
        };
        self.place.rewind().map_err(RangesError::Place)?;
        let mut buffer = vec![0; BUFFER];
        let mut left = total;
        while left > 0 {
            let length = left.min(BUFFER as u64) as usize;
            let bytes = &mut buffer[..length];
            self.place.read_exact(bytes).map_err(RangesError::Place)?;
            check.add(bytes);
            left -= length as u64;
            // Others may run meanwhile.
            tokio::task::yield_now().await;
        }
        match check.holds() {
            true => Ok(()),
            false => Err(RangesError::Digest),
        }
    }
}

impl<P: Read + Write + Seek> Sink for Writing<P> {
    fn put(&mut self, from: u64, bytes: Bytes) -> io::Result<()> {
        if self.at != Some(from) {
            self.at = None;
            self.place.seek(SeekFrom::Start(from))?;
        }
        self.place.write_all(&bytes)?;
        self.at = Some(from + bytes.len() as u64);
        Ok(())
    }

    fn taken(&mut self, _: &mut Context<'_>) -> u64 {
        // Bytes are written in any order.
        0
    }
}
