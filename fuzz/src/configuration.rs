//! Targets for configurations of guard, gateway and proxy, and for keys of `tailcut cast`.

use std::fmt::Debug;
use std::path::Path;
use std::str::from_utf8;
use tailcut_cast::seal::Key;
use tailcut_proxy::config::Draft;
use tailcut_rans::gateway::GatewayConfig;
use tailcut_rans::guard::program::ProgramConfig;
use tailcut_repnet::proxy::{ProxyConfig, add_route};

/// Line between the file and the flags of an input.
const FLAGS: &str = "\n---\n";

/// Reads the text as the configuration of each program.
/// After a line `---`, each line is a flag: `--route` if the line starts with `name=`, and otherwise `--set`.
///
/// # Panics
/// If the text of an error is empty, has several lines or can control a terminal.
/// If an accepted text has another value when it is read again.
pub fn configuration(bytes: &[u8]) {
    let Ok(text) = from_utf8(bytes) else { return };
    // A configuration names files of certificates. A read of a device or of a file of the kernel may never end.
    if ["/dev", "/proc", "/sys"]
        .iter()
        .any(|path| text.contains(path))
    {
        return;
    }
    reads(text, ProgramConfig::read);
    reads(text, GatewayConfig::read);
    reads(text, ProxyConfig::read);
}

fn reads<C: Debug>(text: &str, read: fn(&Draft) -> anyhow::Result<C>) {
    let once = || read(&draft(text)?);
    match once() {
        Ok(config) => {
            let again = once().expect("an accepted text is accepted again");
            assert_eq!(format!("{config:?}"), format!("{again:?}"));
        }
        Err(error) => {
            let shown = error.to_string();
            assert!(
                !shown.is_empty() && !shown.contains(char::is_control),
                "{shown:?}"
            );
        }
    }
}

fn draft(text: &str) -> anyhow::Result<Draft> {
    let (file, flags) = text.split_once(FLAGS).unwrap_or((text, ""));
    let mut draft = Draft::of_text("f", Path::new("/nowhere"), file)?;
    for (number, flag) in flags.lines().enumerate() {
        match flag.starts_with("name=") {
            true => add_route(&mut draft, flag, number)?,
            false => draft.set(flag)?,
        }
    }
    Ok(draft)
}

/// Reads the text as the line of a key.
///
/// # Panics
/// If a key changes when it is written and read again.
/// If the text of an error is empty, has several lines or contains the input, which may be a secret.
pub fn cast_key(bytes: &[u8]) {
    let Ok(text) = from_utf8(bytes) else { return };
    match text.parse::<Key>() {
        Ok(key) => {
            let again: Key = key.to_line().parse().expect("a written key is read");
            assert_eq!(again.to_line(), key.to_line());
            assert_eq!(again.fingerprint(), key.fingerprint());
        }
        Err(error) => {
            let shown = error.to_string();
            assert!(
                !shown.is_empty() && !shown.contains(char::is_control),
                "{shown:?}"
            );
            let long = text.split_whitespace().filter(|word| word.len() >= 32);
            assert!(
                long.into_iter().all(|word| !shown.contains(word)),
                "{shown}"
            );
        }
    }
}
