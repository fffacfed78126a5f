//! Tests of a lab that an ordinary user starts.

use crate::harness::{Lab, SMALL, TAILCUT, own_name, text};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// User and group number of an unprivileged account that exists on all systems.
const NOBODY: u32 = 65_534;

/// Ordinary user, with a copy of the program `tailcut` that this user may execute.
pub struct Nobody {
    directory: TempDir,
}

impl Nobody {
    /// Copies a program for this user.
    pub fn new(program: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("ours");
        // A child process makes the copy. If this process wrote the file, a child of another test could keep it open.
        // The kernel does not execute a file that is open for writing ("Text file busy").
        let copied = Command::new("cp")
            .arg(program)
            .arg(directory.path())
            .status();
        assert!(copied.expect("cp runs").success());
        Self { directory }
    }

    /// Returns a command that runs the program as this user.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.directory.path().join("tailcut"));
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
        command
    }
}

#[test]
fn an_ordinary_user_has_a_lab_where_the_kernel_allows_user_namespaces() {
    let mode = fs::metadata("/dev/net/tun").expect("missing: the kernel's TUN driver");
    assert_eq!(
        mode.permissions().mode() & 0o666,
        0o666,
        "missing: access of all users to /dev/net/tun (chmod 666 /dev/net/tun)"
    );
    let nobody = Nobody::new(TAILCUT);
    let lab = Lab::up_as(&mut nobody.command(), SMALL);
    let exec = |host: &str, program: &[&str]| {
        let mut command = nobody.command();
        command
            .args(["lab", "exec", "--lab", &lab.name, host, "--"])
            .args(program);
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert_eq!(
        exec("h1", &["id", "-u"]),
        "0\n",
        "on the host, the user is root"
    );
    exec("h1", &["ping", "-c", "1", "h3"]);
    let said = exec("h1", &["sh", "-c", "cat /etc/shadow 2>&1 || true"]);
    assert!(
        said.contains("Permission denied"),
        "outside of the lab, the user is not root: {said}"
    );
    // A lab of root is not visible to the ordinary user.
    let other = lab.command("status").output().expect("it runs");
    assert!(!other.status.success());
}

#[test]
fn a_name_that_another_user_has_taken_is_refused_and_gets_no_request() {
    let name = own_name();
    // An ordinary user listens with the name of a lab of root, and prints all bytes that it receives.
    let script = format!(
        "import socket\ns = socket.socket(socket.AF_UNIX)\n\
         s.bind('\\0tailcut-lab/0/{name}')\ns.listen(9)\nprint('ready', flush=True)\n\
         while True: print(s.accept()[0].recv(100), flush=True)\n"
    );
    let mut taker = Command::new("python3");
    taker.args(["-c", &script]).uid(NOBODY).gid(NOBODY);
    let mut taker = taker.stdout(Stdio::piped()).spawn().expect("python3 runs");
    let mut printed = BufReader::new(taker.stdout.take().expect("a pipe")).lines();
    let mut line = || printed.next().expect("a line").expect("text");
    assert_eq!(line(), "ready");
    let refused = |arguments: &[&str], expected: &str| {
        let output = Command::new(TAILCUT).arg("lab").args(arguments).output();
        let output = output.expect("it runs");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    };
    let up = [&["up", "--name", &name], SMALL].concat();
    refused(
        &up,
        "a process of another user has taken; allowed: another name",
    );
    assert_eq!(line(), "b''");
    refused(
        &["status", "--lab", &name],
        "in use by a process of another user",
    );
    assert_eq!(line(), "b''");
    taker.kill().expect("it is there");
    taker.wait().expect("it ends");
}
