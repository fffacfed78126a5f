//! Targets for configurations of guard, gateway and proxy, and for keys of `tailcut cast`.

use std::fmt::Debug;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::str::from_utf8;
use std::sync::OnceLock;
use tailcut_cast::seal::{Key, load};
use tailcut_proxy::config::Draft;
use tailcut_rans::gateway::GatewayConfig;
use tailcut_rans::guard::program::ProgramConfig;
use tailcut_repnet::proxy::{ProxyConfig, add_route};
use tempfile::TempDir;

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

/// Reads a key file. The first byte selects the mode of the file.
///
/// # Panics
/// If a file is accepted that other users can read, or whose text is no key.
/// If the text of an error contains the input, which may be a secret.
pub fn cast_key_file(bytes: &[u8]) {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let Some((&first, bytes)) = bytes.split_first() else {
        return;
    };
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("a folder"));
    let path = folder.path().join("key");
    let modes = [0o600, 0o400, 0o640, 0o604, 0o660, 0o000];
    let mode = modes[usize::from(first) % modes.len()];
    let _ = fs::remove_file(&path);
    fs::write(&path, bytes).expect("a file");
    fs::set_permissions(&path, Permissions::from_mode(mode)).expect("the mode of an own file");
    let expected = from_utf8(bytes).ok().map(str::parse::<Key>);
    match load(&path) {
        Ok(key) => {
            assert_eq!(mode & 0o077, 0, "{mode:o}");
            let Some(Ok(expected)) = expected else {
                panic!("no key");
            };
            assert_eq!(key.to_line(), expected.to_line());
        }
        Err(error) => {
            let shown = error.to_string();
            assert!(!shown.contains(char::is_control), "{shown:?}");
            // The path is no secret, but a fuzzer finds it in comparisons and puts it into the input.
            let shown = shown.replace(&path.display().to_string(), "");
            let text = String::from_utf8_lossy(bytes);
            let mut long = text.split_whitespace().filter(|word| word.len() >= 32);
            assert!(long.all(|word| !shown.contains(word)), "{shown}");
        }
    }
}
