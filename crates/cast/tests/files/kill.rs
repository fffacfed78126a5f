//! Tests of full disks and killed processes. Source and sink run in a child process.

use super::common::{SLAB, bytes, folder, look, names, sink, source, state};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use tailcut_cast::files::{Delivered, Error, Next, Pool, Sink, Source};

/// Environment variable of the child process: path of the source.
const FROM: &str = "TAILCUT_TEST_FROM";
/// Environment variable of the child process: path of the destination.
const TO: &str = "TAILCUT_TEST_TO";
/// Environment variable of the child process: largest file size in bytes. Not set: no limit.
const FILE_SIZE: &str = "TAILCUT_TEST_FILE_SIZE";
/// Environment variable of the test: number of kills.
const KILLS: &str = "TAILCUT_CAST_KILLS";

/// Copies files and prints a line for each slab. Other tests run this test as a child process.
#[test]
fn child() {
    let (Some(from), Some(to)) = (std::env::var_os(FROM), std::env::var_os(TO)) else {
        return;
    };
    if let Ok(most) = std::env::var(FILE_SIZE) {
        let most = Some(most.parse().expect("a number"));
        let limit = rustix::process::Rlimit {
            current: most,
            maximum: most,
        };
        rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).expect("a limit");
    }
    let (mut source, mut sink) = (source(Path::new(&from)), sink(Path::new(&to)));
    let copied = copy(&mut source, &mut sink);
    match copied {
        Ok(kept) => println!("\ndone {kept}"),
        Err(error) => println!("\nerror {error}"),
    }
}

fn copy(source: &mut dyn Source, sink: &mut dyn Sink) -> Result<u64, Error> {
    let pool = Pool::new(1);
    let out = std::io::stdout();
    loop {
        match sink.next()? {
            Next::Fetch(slab) => {
                let mut buffer = pool.take();
                let label = source.read(slab, &mut buffer)?;
                assert_eq!(sink.deliver(label, buffer)?, Delivered::Verified);
                writeln!(&out, "\nslab {slab}").expect("a pipe");
            }
            Next::Kept { .. } => {}
            Next::Wait => panic!("every slab was delivered"),
            Next::End => break,
        }
    }
    writeln!(&out, "\nend").expect("a pipe");
    sink.finish(&source.root()?)?;
    Ok(sink.amount().kept)
}

/// Runs the child process, and kills it after it has printed `lines` lines. Returns the last line that it printed.
fn run(from: &Path, to: &Path, file_size: Option<usize>, lines: usize) -> Option<String> {
    // A file above the limit causes a signal, which would end the child.
    // If the signal is ignored, the write returns an error.
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "kill::child", "--nocapture", "--test-threads=1"])
        .env(FROM, from)
        .env(TO, to)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(most) = file_size {
        command.env(FILE_SIZE, most.to_string());
    }
    let mut child = command.spawn().expect("a child");
    let out = BufReader::new(child.stdout.take().expect("a pipe"));
    let words = ["slab ", "end", "done ", "error "];
    let mut said = out
        .lines()
        .map_while(Result::ok)
        .filter(|line| words.iter().any(|word| line.starts_with(word)));
    let mut last = said.by_ref().take(lines).last();
    // After its last line, the child may have done more work, or may have ended. So the result is ignored.
    let _ = child.kill();
    last = said.last().or(last);
    child.wait().expect("an end");
    last
}

#[test]
fn a_copy_that_is_killed_again_and_again_ends_with_the_same_bytes() {
    let kills: usize = std::env::var(KILLS).map_or(4, |kills| kills.parse().expect("a number"));
    let from = folder();
    let root = from.path().join("tree");
    fs::create_dir_all(root.join("small")).expect("folders");
    fs::write(root.join("large"), bytes(9 * SLAB + 5, 1)).expect("a file");
    for name in 0..500 {
        let path = root.join("small").join(name.to_string());
        fs::write(path, bytes(6_000, name)).expect("a file");
    }
    fs::hard_link(root.join("large"), root.join("same")).expect("a link");
    std::os::unix::fs::symlink("small", root.join("link")).expect("a link");
    let mut killed = 0;
    let mut round = 0;
    while killed < kills {
        let to = folder();
        round += 1;
        loop {
            // A complete copy prints 15 lines. The child is killed after 1 to 6 lines.
            let lines = bytes(4, (killed * 31 + round) as u64)[1] as usize % 6 + 1;
            let last = run(&root, to.path(), None, lines);
            killed += 1;
            let done = last.is_some_and(|line| line.starts_with("done "));
            if done || to.path().join("tree").exists() {
                break;
            }
        }
        if to.path().join(".tailcut").exists() {
            // The child was killed after it had renamed the tree, and before it had removed the other files.
            assert!(to.path().join("tree").exists());
        }
        assert_eq!(look(&root), look(&to.path().join("tree")));
    }
}

#[test]
fn a_full_disk_is_told_and_what_is_verified_stays() {
    let (from, to) = (folder(), folder());
    let file = from.path().join("file");
    fs::write(&file, bytes(4 * SLAB, 1)).expect("a file");
    let last = run(&file, to.path(), Some(2 * SLAB + 100), usize::MAX);
    let last = last.expect("some words");
    let expected = format!("error {}: no space", state(to.path(), "data").display());
    assert!(last.starts_with(&expected), "{last}");
    let last = run(&file, to.path(), None, usize::MAX);
    assert_eq!(last, Some(format!("done {}", 2 * SLAB)));
    assert_eq!(names(to.path()), ["file"]);
    let copy = fs::read(to.path().join("file")).expect("a file");
    assert!(copy == fs::read(&file).expect("a file"));
}
