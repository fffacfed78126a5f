//! Tests of programs that run on hosts of a lab.

use crate::harness::{Lab, SMALL, text};
use std::io::Write;
use std::process::Stdio;

#[test]
fn a_program_keeps_its_exit_code_its_output_and_its_input() {
    let lab = Lab::up(SMALL);
    let output = lab.exec("h2", &["sh", "-c", "hostname; echo wrong >&2; exit 7"]);
    assert_eq!(text(&output.stdout), "h2\n");
    assert_eq!(text(&output.stderr), "wrong\n");
    assert_eq!(output.status.code(), Some(7));
    let killed = lab.exec("h2", &["sh", "-c", "kill -KILL $$"]);
    assert_eq!(killed.status.code(), Some(128 + 9));
    let missing = lab.exec("h2", &["no-such-program"]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(text(&missing.stderr).contains("cannot run no-such-program on h2"));

    let mut command = lab.command("exec");
    command
        .args(["h0", "--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut cat = command.spawn().expect("the program runs");
    cat.stdin
        .take()
        .expect("a pipe")
        .write_all(b"through and back")
        .expect("written");
    let output = cat.wait_with_output().expect("it ends");
    assert_eq!(text(&output.stdout), "through and back");
}

#[test]
fn each_host_has_its_own_files_and_no_way_out() {
    let lab = Lab::up(SMALL);
    lab.sh("h0", "echo mine > /tmp/note; echo mine > /run/note");
    assert_eq!(lab.sh("h0", "cat /tmp/note /run/note"), "mine\nmine\n");
    assert_eq!(
        lab.sh("h1", "ls /tmp /run | grep note; echo none"),
        "none\n"
    );
    let out = "import socket\ntry: socket.create_connection(('192.0.2.1', 80))\n\
               except OSError as error: print(error.errno)";
    let output = lab.exec("h0", &["python3", "-c", out]);
    assert_eq!(text(&output.stdout), "101\n", "the network is unreachable");
    assert_eq!(
        lab.sh("h0", "ls /proc | grep -c '^1$'"),
        "1\n",
        "its own processes"
    );
}

#[test]
fn a_signal_to_the_command_reaches_the_program() {
    let lab = Lab::up(SMALL);
    let script = "import signal, sys\n\
                  signal.signal(signal.SIGTERM, lambda *_: sys.exit(42))\n\
                  print('ready')\nsignal.pause()";
    let mut program = lab.python("h1", script);
    let command = rustix::process::Pid::from_child(&program.child);
    rustix::process::kill_process(command, rustix::process::Signal::TERM).expect("it is there");
    let status = program.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(42));
}
