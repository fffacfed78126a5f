//! tshark reads what a test has written.

use std::path::Path;
use std::process::Command;

/// A file of frames as tshark sees it: for each frame, the fields that are asked for. A field that
/// a frame has several times has its values joined by commas.
///
/// Checksums are verified. `TSHARK` may say where tshark is.
pub fn read(file: &[u8], arguments: &[&str], fields: &[&str]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.pcapng");
    std::fs::write(&path, file).expect("a file in it");
    let program = std::env::var("TSHARK").unwrap_or_else(|_| "tshark".to_owned());
    let mut command = Command::new(&program);
    command.arg("-n").arg("-r").arg(&path).args(arguments);
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    for protocol in ["ip", "tcp", "udp"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    for field in fields {
        command.args(["-e", field]);
    }
    // Settings of the user's own would change what is seen.
    command.env("HOME", folder.path());
    command.env("WIRESHARK_CONFIG_DIR", folder.path());
    let output = command.output().unwrap_or_else(|error| {
        panic!("{program}: {error}; install it (Debian and Ubuntu: apt-get install tshark)")
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("Lua"), "{said}");
    let text = String::from_utf8(output.stdout).expect("text");
    let rows = text.lines().map(|line| {
        let cells: Vec<String> = line.split('|').map(str::to_owned).collect();
        assert_eq!(cells.len(), fields.len(), "{line}");
        cells
    });
    rows.collect()
}

/// The dissector of our headers.
pub fn dissector() -> String {
    // The command's tests use this, too.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/wireshark/tailcut.lua");
    format!("lua_script:{}", path.display())
}
