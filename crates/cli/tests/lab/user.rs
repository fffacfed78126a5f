//! Tests of a lab that an ordinary user starts.

use crate::harness::{Lab, SMALL, TAILCUT, text};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
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
        // The copy is made by another process. If this process wrote the file, a child that another test forks at the
        // same time would keep the file open for writing. The kernel would then not execute it ("Text file busy").
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
        "missing: /dev/net/tun for everybody (chmod 666 /dev/net/tun)"
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
        "it is no root outside: {said}"
    );
    // A lab of root is not visible to the ordinary user.
    let other = lab.command("status").output().expect("it runs");
    assert!(!other.status.success());
}
