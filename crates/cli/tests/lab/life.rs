//! Tests of the end of a lab: all its parts are removed.

use crate::harness::{Lab, SMALL, TAILCUT, own_name, processes_with, text, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Command, Stdio};

/// Starts a program that would run for days. Returns a word in the program's command line that identifies it.
fn start_something(lab: &Lab) -> String {
    // The word is the duration of `sleep` in seconds. No other process has this number in its command line.
    let mark = format!("9{:0>8}", lab.name.replace(['-', 't', 'e', 's'], ""));
    let mut command = lab.command("exec");
    command.args(["h0", "--", "sleep", &mark]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("the program runs");
    wait_until("the program runs", || !processes_with(&mark).is_empty());
    std::thread::spawn(move || child.wait());
    mark
}

/// Returns whether this user has a running lab with this name.
fn runs(name: &str) -> bool {
    let table = std::fs::read_to_string("/proc/net/unix").expect("the kernel's table");
    table
        .lines()
        .any(|line| line.ends_with(&format!("/{name}")))
}

/// Returns the number of the lab's own process.
fn own_process(lab: &Lab) -> Pid {
    let number = lab.said.split("process ").nth(1).expect("its number");
    let number = number.lines().next().expect("a line");
    Pid::from_raw(number.parse().expect("a number")).expect("a process")
}

fn nothing_is_left(lab: &Lab, mark: &str) {
    wait_until("programs die", || processes_with(mark).is_empty());
    wait_until("the name is free", || !runs(&lab.name));
    wait_until("its processes die", || processes_with(&lab.name).is_empty());
}

#[test]
fn down_ends_the_lab_and_every_program_on_it() {
    let mut lab = Lab::up(SMALL);
    let mark = start_something(&lab);
    let down = lab.command("down").output().expect("it runs");
    assert!(down.status.success(), "{}", text(&down.stderr));
    assert!(lab.up.wait().expect("it ends").success());
    nothing_is_left(&lab, &mark);
}

#[test]
fn an_interrupt_ends_it_too() {
    let mut lab = Lab::up(SMALL);
    let mark = start_something(&lab);
    kill_process(Pid::from_child(&lab.up), Signal::INT).expect("it is there");
    assert!(lab.up.wait().expect("it ends").success());
    nothing_is_left(&lab, &mark);
}

#[test]
fn nothing_is_left_when_the_command_is_killed() {
    let mut lab = Lab::up(SMALL);
    let mark = start_something(&lab);
    kill_process(Pid::from_child(&lab.up), Signal::KILL).expect("it is there");
    lab.up.wait().expect("it ends");
    nothing_is_left(&lab, &mark);
}

#[test]
fn nothing_is_left_when_the_labs_own_process_is_killed() {
    let mut lab = Lab::up(SMALL);
    let mark = start_something(&lab);
    kill_process(own_process(&lab), Signal::KILL).expect("it is there");
    assert_eq!(lab.up.wait().expect("it ends").code(), Some(2));
    nothing_is_left(&lab, &mark);
}

#[test]
fn a_sigterm_ends_the_labs_own_process_unless_a_program_on_a_host_has_sent_it() {
    let mut lab = Lab::up(SMALL);
    let mark = start_something(&lab);
    // On the hosts of the lab, the lab's own process has the number 1.
    let sent = lab.exec("h0", &["sh", "-c", "kill -TERM 1"]);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    assert_eq!(lab.sh("h1", "hostname"), "h1\n");
    // The kernel keeps only one pending signal of each kind, so a signal is lost if an earlier signal is still unread.
    let process = own_process(&lab);
    wait_until("it ends", || {
        let _ = kill_process(process, Signal::TERM);
        lab.up.try_wait().expect("a child").is_some()
    });
    assert_eq!(lab.up.wait().expect("it ends").code(), Some(0));
    nothing_is_left(&lab, &mark);
}

#[test]
fn a_detached_lab_goes_on_until_it_is_ended() {
    let name = own_name();
    let tailcut = |arguments: &[&str]| {
        let mut command = Command::new(TAILCUT);
        // The command ends only if the background lab does not keep the command's pipes open.
        let output = command
            .arg("lab")
            .args(arguments)
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    tailcut(&[&["up", "-d", "--name", &name], SMALL].concat());
    let host = tailcut(&["exec", "--lab", &name, "h1", "--", "hostname"]);
    assert_eq!(host, "h1\n");
    tailcut(&["down", "--lab", &name]);
    assert!(!runs(&name));
}
