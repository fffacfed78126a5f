//! Decoding of test files by the program tshark.

use std::path::Path;
use std::process::Command;

/// Decodes a file of frames with tshark. Returns the requested fields of each frame.
/// If a frame contains a field several times, commas separate its values.
///
/// tshark verifies checksums. The environment variable `TSHARK` may contain the path of tshark.
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
    // A separate home folder hides the user's settings, which could change the result.
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

/// Returns the tshark option that loads the dissector of tailcut's headers.
pub fn dissector() -> String {
    // Tests of other crates also include this file, so the path starts at the folder of the crate under test.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/wireshark/tailcut.lua");
    format!("lua_script:{}", path.display())
}
