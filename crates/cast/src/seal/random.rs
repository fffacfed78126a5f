//! Random bytes of the operating system.

use ring::rand::{SecureRandom, SystemRandom};

/// Error: the operating system has returned no random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the operating system returned no random bytes")]
pub struct NoRandomness;

/// Returns `N` random bytes of the operating system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map(|()| bytes).map_err(|_| NoRandomness)
}
