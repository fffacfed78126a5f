//! Tests of `tailcut cast` with full disks, readers that do not read, killed processes, and ECN marks.

use super::{Listening, bytes, recv, until_a_slab_is_there};
use crate::test_dir::TestDir;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;
use tailcut_cast::udp::{Inbox, Socket, SocketOptions};

/// Environment variable that sets the number of kills.
const KILLS: &str = "TAILCUT_CAST_KILLS";

fn signal(child: &std::process::Child, signal: Signal) {
    let pid = Pid::from_raw(child.id() as i32).expect("a process");
    kill_process(pid, signal).expect("a signal");
}

/// Returns a command that runs on a file system of this size. Its new namespaces end when the shell ends.
fn on_a_small_disk(command: &Command, megabytes: u32) -> Command {
    let mut inside = Command::new("unshare");
    let script = format!(
        "mount -t tmpfs -o size={megabytes}m small in && \"$0\" \"$@\"; code=$?; cp -a in/. kept/; exit $code"
    );
    inside.args(["--mount", "sh", "-c", &script]);
    inside.arg(command.get_program()).args(command.get_args());
    if let Some(directory) = command.get_current_dir() {
        inside.current_dir(directory);
    }
    inside
}

#[test]
fn a_disk_without_room_is_reported_to_both_ends_before_the_first_slab() {
    let test_dir = TestDir::new();
    fs::write(test_dir.path().join("file"), bytes(60_000_000)).expect("a file");
    // Everything in `in` is copied to `kept` at the end.
    for directory in ["in", "kept"] {
        fs::create_dir(test_dir.path().join(directory)).expect("a directory");
    }
    let command = test_dir.command(&recv(&["in", "--once", "--listen", "0"]));
    let receiver = Listening::run(&mut on_a_small_disk(&command, 40));
    let sent = test_dir.run(&["cast", "send", "file", &receiver.host]);
    assert_eq!(sent.code, Some(2), "{}", sent.stderr);
    let received = receiver.end();
    assert_eq!(received.code, Some(2), "{}", received.stderr);
    for ended in [&sent, &received] {
        assert!(ended.complaint().contains("no space"), "{}", ended.stderr);
    }
    let kept = fs::read_dir(test_dir.path().join("kept")).expect("a directory");
    assert_eq!(kept.count(), 0);
}

#[test]
fn a_pipe_that_nobody_reads_ends_at_the_first_interrupt() {
    let test_dir = TestDir::new();
    fs::write(test_dir.path().join("file"), bytes(20_000_000)).expect("a file");
    // The receiver writes to a pipe that this test does not read.
    let mut receiver = Listening::start(&test_dir, &recv(&["-"]));
    let stuck = receiver.child.stdout.take().expect("a pipe");
    let mut command = test_dir.command(&["cast", "send", "file", &receiver.host]);
    let mut sender = command.stderr(Stdio::null()).spawn().expect("it runs");
    // The loop waits until the pipe of 64 KiB is almost full.
    while rustix::io::ioctl_fionread(&stuck).expect("a pipe") < 48 << 10 {
        std::thread::yield_now();
    }
    receiver.signal(Signal::INT);
    assert_eq!(receiver.child.wait().expect("it ends").code(), Some(130));
    assert_eq!(sender.wait().expect("it ends").code(), Some(2));
}

/// Kills the receiver and the sender at random moments.
/// Each new transfer continues the partial file until it has arrived.
#[test]
fn ends_that_are_killed_at_any_moment_go_on_from_there() {
    let kills = std::env::var(KILLS).map_or(5, |kills| kills.parse().expect("a number"));
    let test_dir = TestDir::new();
    let contents = bytes(48 << 20);
    fs::write(test_dir.path().join("file"), &contents).expect("a file");
    let directory = test_dir.path().join("in");
    fs::create_dir(&directory).expect("a directory");
    let (mut killed, mut whole) = (0, 0);
    let mut state = 20_261_120u64;
    while killed < kills {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let draw = state >> 33;
        let receiver = Listening::start(&test_dir, &recv(&["in", "--once"]));
        let mut command =
            test_dir.command(&["cast", "send", "file", &receiver.host, "--rate", "800Mbps"]);
        let mut sender = command.stderr(Stdio::null()).spawn().expect("it runs");
        std::thread::sleep(Duration::from_millis(draw % 700));
        // The receiver and the sender are killed in random order. Either of them may already have finished.
        let mut receiver = receiver.child;
        let mut ends = [&mut receiver, &mut sender];
        ends.rotate_left((draw >> 20 & 1) as usize);
        for end in ends {
            end.kill().expect("killed");
            end.wait().expect("it ends");
        }
        killed += 1;
        if directory.join("file").exists() {
            assert!(fs::read(directory.join("file")).expect("a file") == contents);
            fs::remove_file(directory.join("file")).expect("removed");
            whole += 1;
        }
    }
    let receiver = Listening::start(&test_dir, &recv(&["in", "--once"]));
    let sent = test_dir.run(&["cast", "send", "file", &receiver.host]);
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    assert_eq!(receiver.end().code, Some(0));
    assert!(fs::read(directory.join("file")).expect("a file") == contents);
    eprintln!("{killed} kills, {} finished transfers", whole + 1);
}

#[test]
fn the_code_point_is_on_every_packet() {
    let test_dir = TestDir::new();
    test_dir.file("file", "x");
    let local = "127.0.0.1:0".parse().expect("an address");
    let socket = Socket::bind(local, &SocketOptions::default()).expect("a port");
    let at = socket.local().to_string();
    let mut command = test_dir.command(&["cast", "send", "file", &at, "--dscp", "34"]);
    let mut sender = command.stderr(Stdio::null()).spawn().expect("it runs");
    let mut inbox = Inbox::full();
    let mut seen = 0;
    while seen < 5 {
        let mut files = [rustix::event::PollFd::new(
            &socket,
            rustix::event::PollFlags::IN,
        )];
        rustix::event::poll(&mut files, None).expect("datagrams");
        let mut take = |incoming: &tailcut_cast::udp::Incoming<'_>| {
            assert_eq!(incoming.class().dscp(), 34);
            seen += 1;
        };
        socket.receive(&mut inbox, &mut take).expect("datagrams");
    }
    signal(&sender, Signal::INT);
    assert_eq!(sender.wait().expect("it ends").code(), Some(130));
}

#[test]
fn a_sender_that_is_killed_is_noticed_and_the_receiver_takes_the_next_one() {
    let test_dir = TestDir::new();
    fs::write(test_dir.path().join("file"), bytes(100_000_000)).expect("a file");
    let directory = test_dir.path().join("in");
    fs::create_dir(&directory).expect("a directory");
    let receiver = Listening::start(&test_dir, &recv(&["in"]));
    let arguments = ["cast", "send", "file", &receiver.host, "--rate", "200Mbps"];
    let mut sender = test_dir.command(&arguments).stderr(Stdio::null()).spawn();
    let sender = sender.as_mut().expect("it runs");
    until_a_slab_is_there(&directory);
    sender.kill().expect("killed");
    sender.wait().expect("it ends");
    let sent = test_dir.run(&["cast", "send", "file", &receiver.host]);
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    receiver.signal(Signal::INT);
    let ended = receiver.end();
    assert_eq!(ended.code, Some(130));
    assert!(ended.stderr.contains("lost"), "{}", ended.stderr);
}
