//! Tests of trimming switches with real sockets that receive the trimmed datagrams.

use crate::harness::{Lab, text};

/// Topology whose hosts send at 10 Mb/s.
const NETWORK: &[&str] = &[
    "--topology",
    "single-switch:hosts=3,rate=10Mbps",
    "--design",
    "scdp",
    "--dscp-trimmed",
    "35",
];

/// Program that receives 240 datagrams at port 7000.
/// For each sender, the program prints the numbers of complete datagrams, trimmed datagrams and wrong payload bytes.
/// A datagram counts only if its trim flag and its DSCP are right.
const SINK: &str = r#"
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
s.bind(('::', 7000))
s.settimeout(20)
print('ready')
seen = {}
for _ in range(240):
    data, told, _, at = s.recvmsg(2048, 512)
    codes = {value[0] >> 2 for _, _, value in told}
    sender = 'v4' if at[0].startswith('::ffff:') else 'v6'
    whole, trimmed, odd = seen.get(sender, (0, 0, 0))
    if len(data) == 1200:
        whole += data[1] == 0 and codes == {0}
    else:
        trimmed += len(data) == 32 and data[1] == 1 and codes == {35}
    seen[sender] = (whole, trimmed, len(data[32:].strip(b'x')) + odd)
for sender in sorted(seen):
    print(sender, *seen[sender])
errors = [line for line in open('/proc/self/net/snmp') if line.startswith('Udp:')]
print(dict(zip(*[line.split() for line in errors]))['InCsumErrors'])
"#;

/// Program that sends 120 symbols of version 2 of SCDP to h0.
const SOURCE: &str = r#"
import socket, struct, sys
def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff
family = socket.AF_INET if sys.argv[1] == 'h0' else socket.AF_INET6
s = socket.socket(family, socket.SOCK_DGRAM)
for number in range(120):
    header = struct.pack('>BBHQIIII', 0x20, 0, 0, 9, number, 1, number << 8, 77)
    s.sendto(header + struct.pack('>I', crc32c(header)) + b'x' * 1168, (sys.argv[1], 7000))
"#;

#[test]
fn a_symbol_that_finds_no_room_reaches_the_socket_as_its_header() {
    let lab = Lab::up(NETWORK);
    // Each sender alone offers twice the rate of h0's link.
    // On a busy machine, the two senders may not send at the same time.
    let slow = ["h0-s0", "--rate", "5Mbps"];
    let changed = lab.command("link").args(slow).output().expect("it runs");
    assert!(changed.status.success(), "{}", text(&changed.stderr));
    let mut sink = lab.python("h0", SINK);
    std::thread::scope(|scope| {
        for (from, to) in [("h1", "h0"), ("h2", "h0-6")] {
            let lab = &lab;
            scope.spawn(move || {
                let sent = lab.exec(from, &["python3", "-c", SOURCE, to]);
                assert!(sent.status.success(), "{}", text(&sent.stderr));
            });
        }
    });
    let mut trimmed = 0;
    for version in ["v4", "v6"] {
        let line = sink.line();
        let mut words = line.split(' ');
        assert_eq!(words.next(), Some(version), "{line}");
        let counts: Vec<u32> = words.map(|word| word.parse().expect("a number")).collect();
        assert_eq!(
            counts[0] + counts[1],
            120,
            "each datagram is complete or trimmed: {line}"
        );
        assert_eq!(counts[2], 0, "no payload byte is wrong: {line}");
        trimmed += counts[1];
    }
    assert!(trimmed > 50, "{trimmed} of 240");
    assert_eq!(sink.line(), "0", "wrong checksums");
}

#[test]
fn a_code_point_that_stands_for_two_things_is_refused() {
    let both = ["--dscp-trimmable", "20", "--dscp-trimmed", "20"];
    let mut command = std::process::Command::new(crate::harness::TAILCUT);
    let output = command.args(["lab", "up"]).args(both).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    let expected = "--dscp-trimmed: found 20, which --dscp-trimmable also has; allowed: any other value, 0 to 63";
    assert!(said.contains(expected), "{said}");
}
