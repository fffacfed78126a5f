//! Command `tailcut cast key`.

use super::common::{CommandEvent, Failed};
use crate::seal::{self, Cipher, Key};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Flags of `tailcut cast key`.
#[derive(Args, Debug)]
pub struct KeyOf {
    /// File to create; it must not exist
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Cipher of the key; AES is faster on processors with instructions for it
    #[arg(long, value_name = "NAME", default_value = "aes-128-gcm")]
    cipher: CipherName,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum CipherName {
    /// AES-128-GCM
    #[value(name = "aes-128-gcm")]
    Aes,
    /// ChaCha20-Poly1305
    #[value(name = "chacha20-poly1305")]
    ChaCha,
}

pub(super) fn execute(
    arguments: &KeyOf,
    notify: &mut dyn FnMut(CommandEvent<'_>),
) -> Result<(), Failed> {
    let cipher = match arguments.cipher {
        CipherName::Aes => Cipher::Aes128Gcm,
        CipherName::ChaCha => Cipher::ChaCha20Poly1305,
    };
    let key = Key::generate(cipher).map_err(|error| Failed::system(error.to_string()))?;
    let saved = seal::save(&arguments.file, &key);
    saved.map_err(|error| Failed::system(error.to_string()))?;
    let file = arguments.file.display();
    let fingerprint = key.fingerprint();
    let text = format!("{file}: new key, fingerprint {fingerprint}; copy the file to all ends");
    notify(CommandEvent::Note { text: &text });
    Ok(())
}
