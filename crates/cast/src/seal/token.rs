//! Address validation with tokens. A host sends a token to the address of a sender.
//! If the sender returns the token, it can read packets that are sent to this address.

use super::random::{NoRandomness, random};
use core::net::SocketAddr;
use ring::hmac;
use tailcut_units::{Duration, Time};

/// Length of a token in bytes.
pub const TOKEN: usize = 32;

/// Length of an epoch. A token is valid in the epoch of its creation and in the next one.
/// With a shorter epoch, a sender on a slow path could not answer in time.
/// With a longer epoch, an attacker could use a recorded token for longer.
const EPOCH: Duration = Duration::from_ms(15_000);

/// Creates and verifies tokens without storing them.
/// A token is an HMAC-SHA-256 of the epoch, the address, the port and the session.
/// The key of the HMAC is drawn when the program starts. A token is valid for 15 to 30 seconds.
#[derive(Debug)]
pub struct Tokens(hmac::Key);

impl Tokens {
    /// Draws the key of the tokens.
    ///
    /// # Errors
    /// The operating system returned no random bytes.
    pub fn generate() -> Result<Self, NoRandomness> {
        Ok(Self::new(random()?))
    }

    /// Uses a given key for the tokens.
    pub fn new(key: [u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, &key))
    }

    /// Returns the token for a session of the sender at the address `from`.
    pub fn issue(&self, now: Time, from: SocketAddr, session: u64) -> [u8; TOKEN] {
        let tag = hmac::sign(&self.0, &claim(epoch(now), from, session));
        let mut token = [0; TOKEN];
        token.copy_from_slice(tag.as_ref());
        token
    }

    /// Returns whether `token` is valid for a session of the sender at the address `from`.
    /// The call takes the same time for all wrong tokens.
    pub fn check(&self, now: Time, from: SocketAddr, session: u64, token: &[u8]) -> bool {
        let epoch = epoch(now);
        let is_of = |epoch| hmac::verify(&self.0, &claim(epoch, from, session), token).is_ok();
        is_of(epoch) || (epoch > 0 && is_of(epoch - 1))
    }
}

fn epoch(now: Time) -> u64 {
    (now - Time::ZERO).as_ps() / EPOCH.as_ps()
}

/// Returns the bytes that a token protects. An IPv4 address and its IPv6-mapped form have the same bytes.
fn claim(epoch: u64, from: SocketAddr, session: u64) -> [u8; 34] {
    let address = match from.ip() {
        core::net::IpAddr::V4(address) => address.to_ipv6_mapped(),
        core::net::IpAddr::V6(address) => address,
    };
    let mut bytes = [0; 34];
    bytes[..8].copy_from_slice(&epoch.to_be_bytes());
    bytes[8..24].copy_from_slice(&address.octets());
    bytes[24..26].copy_from_slice(&from.port().to_be_bytes());
    bytes[26..].copy_from_slice(&session.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_ms(1_000 * seconds)
    }

    #[test]
    fn a_token_is_good_for_15_to_30_seconds() {
        let tokens = Tokens::new([1; 32]);
        let from = "192.0.2.7:4000".parse().expect("an address");
        let token = tokens.issue(at(0), from, 5);
        assert!(tokens.check(at(0), from, 5, &token));
        assert!(tokens.check(at(29), from, 5, &token));
        assert!(!tokens.check(at(30), from, 5, &token));
        let token = tokens.issue(at(44), from, 5);
        assert!(tokens.check(at(59), from, 5, &token));
        assert!(!tokens.check(at(60), from, 5, &token));
        assert!(!tokens.check(at(29), from, 5, &token), "before it was made");
    }

    #[test]
    fn an_address_may_be_mapped() {
        let tokens = Tokens::new([1; 32]);
        let token = tokens.issue(at(3), "192.0.2.7:4000".parse().expect("an address"), 5);
        let mapped = "[::ffff:192.0.2.7]:4000".parse().expect("an address");
        assert!(tokens.check(at(3), mapped, 5, &token));
    }

    #[test]
    fn programs_have_keys_of_their_own() {
        let from = "192.0.2.7:4000".parse().expect("an address");
        let [a, b] = [(); 2].map(|()| Tokens::generate().expect("randomness"));
        assert!(a.check(at(1), from, 1, &a.issue(at(1), from, 1)));
        assert!(!b.check(at(1), from, 1, &a.issue(at(1), from, 1)));
    }

    proptest! {
        #[test]
        fn a_token_fits_what_it_was_made_for_only(
            address in any::<[u8; 16]>(),
            port in any::<u16>(),
            session in any::<u64>(),
            bit in 0_usize..416,
        ) {
            // The test changes one bit of the token, the address, the port or the session.
            let tokens = Tokens::new([1; 32]);
            let mut token = tokens.issue(at(1), SocketAddr::from((address, port)), session);
            let (mut address, mut port, mut session) = (address, port, session);
            match bit {
                0..256 => token[bit / 8] ^= 1 << (bit % 8),
                256..384 => address[(bit - 256) / 8] ^= 1 << (bit % 8),
                384..400 => port ^= 1 << (bit - 384),
                _ => session ^= 1 << (bit - 400),
            }
            prop_assert!(!tokens.check(at(1), SocketAddr::from((address, port)), session, &token));
        }

        #[test]
        fn any_bytes_are_no_token(token in proptest::collection::vec(any::<u8>(), 0..80)) {
            let from = SocketAddr::from(([127, 0, 0, 1], 1));
            prop_assert!(!Tokens::new([1; 32]).check(at(1), from, 1, &token));
        }
    }
}
