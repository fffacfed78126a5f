//! Identity of an executable file. Results of two builds with the same identity are interchangeable.

use object::Object;
use object::read::ReadCache;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Seek};
use std::path::Path;
use tailcut_record::Fingerprint;

/// Returns the identity of an executable file, in hexadecimal digits.
///
/// The identity is the GNU build id that the linker computes from the content of the program.
/// Without a build id, the identity is the hash of the whole file.
/// The build id is much faster to read, because an executable with debug sections has more than 100 MB.
///
/// # Errors
/// The file cannot be read.
pub fn identity(executable: &Path) -> io::Result<String> {
    let mut file = File::open(executable)?;
    if let Some(id) = build_id(&file) {
        return Ok(id);
    }
    file.rewind()?;
    let mut hash = Fingerprint::new();
    io::copy(&mut file, &mut hash)?;
    Ok(hash.digits())
}

fn build_id(file: &File) -> Option<String> {
    let cache = ReadCache::new(file);
    let program = object::File::parse(&cache).ok()?;
    let id = program.build_id().ok()??;
    // Some linkers write an empty or constant id if they cannot compute one.
    if id.iter().all(|byte| *byte == 0) {
        return None;
    }
    let mut digits = String::new();
    for byte in id {
        // Writing to a string never fails.
        let _ = write!(digits, "{byte:02x}");
    }
    Some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    /// Builds a program with rustc that prints a number.
    fn build(dir: &Path, name: &str, number: u32, flags: &[&str]) -> String {
        let source = dir.join("program.rs");
        fs::write(&source, format!("fn main() {{ println!(\"{number}\") }}")).expect("written");
        let program = dir.join(name);
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let status = Command::new(rustc)
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .args(flags)
            .status();
        assert!(status.expect("rustc starts").success());
        identity(&program).expect("the program exists")
    }

    #[test]
    fn one_changed_constant_is_another_program_and_a_second_build_of_one_source_is_not() {
        for flags in [
            &["-Clink-arg=-Wl,--build-id=sha1"][..],
            &["-Clink-arg=-Wl,--build-id=none"][..],
        ] {
            let dir = tempfile::tempdir().expect("a directory");
            let first = build(dir.path(), "first", 1, flags);
            let again = build(dir.path(), "first", 1, flags);
            let other = build(dir.path(), "first", 2, flags);
            assert_eq!(first, again, "{flags:?}");
            assert_ne!(first, other, "{flags:?}");
        }
    }

    #[test]
    fn a_copy_without_debug_sections_has_the_same_identity() {
        let dir = tempfile::tempdir().expect("a directory");
        let whole = build(
            dir.path(),
            "program",
            1,
            &["-g", "-Clink-arg=-Wl,--build-id=sha1"],
        );
        let copy = dir.path().join("stripped");
        let mut strip = Command::new("strip");
        let strip = strip.arg(dir.path().join("program")).arg("-o").arg(&copy);
        let status = strip.status().expect("strip starts");
        assert!(status.success());
        assert_eq!(identity(&copy).expect("the copy exists"), whole);
    }

    #[test]
    fn a_file_that_is_no_program_has_the_hash_of_its_bytes() {
        let dir = tempfile::tempdir().expect("a directory");
        let script = dir.path().join("script");
        fs::write(&script, "#!/bin/sh\n").expect("written");
        let first = identity(&script).expect("the script exists");
        fs::write(&script, "#!/bin/sh\n\n").expect("written");
        assert_ne!(identity(&script).expect("the script exists"), first);
        assert!(identity(&dir.path().join("missing")).is_err());
    }
}
