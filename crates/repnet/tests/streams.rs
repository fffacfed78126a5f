//! Tests of the library as client and as server, over the loopback interface, as an application uses it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tailcut_repnet::{
    Connector, Counters, FlowSettings, Mode, Pairing, Settings, Stats, TcpListener, TcpStream,
};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};

const ANY: &str = "127.0.0.1:0";

fn settings(mode: Mode, pairing: Pairing) -> Settings {
    Settings {
        flow: FlowSettings {
            mode: Some(mode),
            pairing,
            assume_capable: true,
            ..FlowSettings::default()
        },
        ..Settings::default()
    }
}

fn every_kind() -> [Settings; 4] {
    [
        settings(Mode::RepFlow, Pairing::Hello),
        settings(Mode::RepSyn, Pairing::Hello),
        settings(Mode::RepFlow, Pairing::Port),
        settings(Mode::RepSyn, Pairing::Port),
    ]
}

async fn listen(settings: Settings) -> io::Result<TcpListener> {
    let any: SocketAddr = ANY.parse().expect("an address");
    TcpListener::bind_with(any, settings, Counters::new()).await
}

/// Returns `length` bytes without a repeated pattern.
fn pattern(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; 8_192];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return stream.shutdown().await,
            count => stream.write_all(&buffer[..count]).await?,
        }
    }
}

fn serve_echo(listener: Arc<TcpListener>) {
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(echo(stream));
        }
    });
}

/// Writes and reads at the same time, until the end of the stream.
async fn exchange(stream: TcpStream, sent: &[u8]) -> io::Result<Vec<u8>> {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut received = Vec::new();
    let write = async {
        writer.write_all(sent).await?;
        writer.shutdown().await
    };
    let (written, read) = tokio::join!(write, reader.read_to_end(&mut received));
    written?;
    read?;
    Ok(received)
}

async fn until(counters: impl Fn() -> Stats, holds: impl Fn(&Stats) -> bool) {
    let reached = async {
        while !holds(&counters()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(30), reached).await;
    assert!(found.is_ok(), "{:?}", counters());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_comes_back_whole_in_every_mode_and_pairing() -> io::Result<()> {
    for settings in every_kind() {
        let listener = Arc::new(listen(settings).await?);
        let port = listener.local_addr()?.port();
        serve_echo(Arc::clone(&listener));
        let connector = Connector::new(settings).expect("valid settings");
        for length in [0, 1, 1_000, 70_000, 300_000, 3_000_000] {
            let sent = pattern(length);
            let stream = connector.connect("127.0.0.1", port).await?;
            assert!(stream.is_replicated());
            assert_eq!(stream.peer_addr()?.port(), port);
            let received = exchange(stream, &sent).await?;
            assert!(received == sent, "{settings:?}: {length} bytes differ");
        }
        until(|| connector.stats(), |stats| stats.live == 0).await;
        until(|| listener.stats(), |stats| stats.live == 0).await;
        let (client, server) = (connector.stats(), listener.stats());
        assert_eq!((client.opened, server.accepted), (6, 6), "{settings:?}");
        assert_eq!((client.diverged, server.diverged), (0, 0));
        assert_eq!(client.plain_fallback + client.plain_silent, 0);
        if settings.flow.mode == Some(Mode::RepFlow) {
            assert!(client.legs_paired > 0, "{client:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_server_may_write_first_and_close_while_the_client_still_reads() -> io::Result<()> {
    for settings in every_kind() {
        let listener = listen(settings).await?;
        let port = listener.local_addr()?.port();
        let greeting = pattern(150_000);
        let expected = greeting.clone();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await?;
            stream.write_all(&greeting).await?;
            drop(stream);
            Ok::<_, io::Error>(())
        });
        let connector = Connector::new(settings).expect("valid settings");
        let mut stream = connector.connect("127.0.0.1", port).await?;
        let mut received = Vec::new();
        stream.read_to_end(&mut received).await?;
        assert!(received == expected, "{settings:?}");
        server.await.expect("the server")?;
    }
    Ok(())
}

#[tokio::test]
async fn an_unknown_target_runs_plain_and_is_asked_and_the_next_flow_is_replicated()
-> io::Result<()> {
    let listener = Arc::new(listen(Settings::default()).await?);
    let port = listener.local_addr()?.port();
    serve_echo(Arc::clone(&listener));
    let connector = Connector::new(Settings::default()).expect("valid settings");
    let first = connector.connect("127.0.0.1", port).await?;
    assert!(!first.is_replicated());
    assert_eq!(exchange(first, b"plain").await?, b"plain");
    // Flows are plain while the probe runs.
    let replicated = loop {
        let stream = connector.connect("127.0.0.1", port).await?;
        if stream.is_replicated() {
            break stream;
        }
        assert_eq!(exchange(stream, b"still").await?, b"still");
    };
    assert_eq!(exchange(replicated, b"twice").await?, b"twice");
    let stats = connector.stats();
    assert!(stats.plain_unknown >= 1 && stats.opened == 1, "{stats:?}");
    assert!(connector.probe("127.0.0.1", port).await?);
    Ok(())
}

/// Starts a service without RepNet, and a foreign service on the next port.
async fn neighbours() -> io::Result<(tokio::net::TcpListener, tokio::net::TcpListener)> {
    loop {
        let own = tokio::net::TcpListener::bind(ANY).await?;
        let mut next = own.local_addr()?;
        next.set_port(next.port() + 1);
        if let Ok(other) = tokio::net::TcpListener::bind(next).await {
            return Ok((own, other));
        }
    }
}

#[tokio::test]
async fn a_foreign_service_on_the_replica_port_gets_a_hello_and_no_byte_of_the_application()
-> io::Result<()> {
    let (own, other) = neighbours().await?;
    let port = own.local_addr()?.port();
    let foreign = tokio::spawn(async move {
        let mut seen = Vec::new();
        loop {
            let Ok((mut stream, _)) = other.accept().await else {
                return seen;
            };
            let mut bytes = [0; 512];
            // The foreign service is an echo service: it returns all bytes.
            while let Ok(count @ 1..) = stream.read(&mut bytes).await {
                seen.extend_from_slice(&bytes[..count]);
                let _ = stream.write_all(&bytes[..count]).await;
            }
            if seen.len() >= 64 {
                return seen;
            }
        }
    });
    let server = tokio::spawn(async move {
        let (mut stream, _) = own.accept().await?;
        let mut request = Vec::new();
        stream.read_to_end(&mut request).await?;
        Ok::<_, io::Error>(request)
    });
    let connector = Connector::new(settings(Mode::RepFlow, Pairing::Hello)).expect("valid");
    let mut stream = connector.connect("127.0.0.1", port).await?;
    assert!(!stream.is_replicated());
    stream.write_all(b"a secret").await?;
    stream.shutdown().await?;
    assert_eq!(server.await.expect("the server")?, b"a secret");
    let seen = foreign.await.expect("the foreign service");
    assert!(!seen.windows(8).any(|bytes| bytes == b"a secret"));
    assert_eq!(connector.stats().plain_fallback, 1);
    Ok(())
}

#[tokio::test]
async fn a_refused_replica_port_costs_nothing_but_the_second_path() -> io::Result<()> {
    let (own, other) = neighbours().await?;
    drop(other);
    let port = own.local_addr()?.port();
    let connector = Connector::new(settings(Mode::RepSyn, Pairing::Hello)).expect("valid");
    for plain in [1, 2] {
        let (stream, accepted) = tokio::join!(connector.connect("127.0.0.1", port), own.accept());
        assert!(!stream?.is_replicated());
        accepted?;
        let stats = connector.stats();
        assert_eq!(stats.plain_fallback + stats.plain_incapable, plain);
    }
    // The connector remembers the result, so only the first flow was opened as a replicated flow.
    assert_eq!(connector.stats().opened, 1);
    Ok(())
}

#[tokio::test]
async fn a_target_that_refuses_both_ports_is_down_and_the_first_flow_after_its_restart_is_replicated()
-> io::Result<()> {
    let kind = settings(Mode::RepFlow, Pairing::Hello);
    let connector = Connector::new(kind).expect("valid settings");
    let listener = listen(kind).await?;
    let address = listener.local_addr()?;
    let port = address.port();
    let (first, accepted) = tokio::join!(connector.connect("127.0.0.1", port), listener.accept());
    assert!(first?.is_replicated());
    drop((accepted?, listener));
    let refused = connector.connect("127.0.0.1", port).await;
    let error = refused.expect_err("nobody listens");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    let listener = TcpListener::bind_with(address, kind, Counters::new()).await?;
    let (again, accepted) = tokio::join!(connector.connect("127.0.0.1", port), listener.accept());
    accepted?;
    assert!(again?.is_replicated());
    Ok(())
}

#[tokio::test]
async fn a_probe_of_a_target_that_is_down_does_not_stop_replication_after_its_start()
-> io::Result<()> {
    let settings = settings(Mode::RepFlow, Pairing::Hello);
    let connector = Connector::new(settings).expect("valid settings");
    let first = listen(settings).await?;
    let address = first.local_addr()?;
    let port = address.port();
    drop(first);
    assert!(!connector.probe("127.0.0.1", port).await?);
    let second = TcpListener::bind_with(address, settings, Counters::new()).await?;
    let (stream, accepted) = tokio::join!(connector.connect("127.0.0.1", port), second.accept());
    assert!(stream?.is_replicated());
    accepted?;
    Ok(())
}

#[tokio::test]
async fn a_replica_port_that_says_nothing_costs_a_flow_the_fallback_delay_once() -> io::Result<()> {
    let (own, other) = neighbours().await?;
    let port = own.local_addr()?.port();
    let mut silent = settings(Mode::RepFlow, Pairing::Hello);
    silent.flow.fallback_delay = Some(Duration::from_millis(30));
    let connector = Connector::new(silent).expect("valid settings");
    for _ in 0..2 {
        let (stream, accepted) = tokio::join!(connector.connect("127.0.0.1", port), own.accept());
        assert!(!stream?.is_replicated());
        accepted?;
    }
    let stats = connector.stats();
    assert_eq!((stats.plain_silent, stats.plain_doubtful), (1, 1));
    drop(other);
    Ok(())
}

#[tokio::test]
async fn a_client_that_leaves_the_replica_port_ends_its_connections_and_resets_none()
-> io::Result<()> {
    for by in ["fallback delay", "leg deadline", "cancelled connect"] {
        let (own, other) = neighbours().await?;
        let port = own.local_addr()?.port();
        let mut slow = settings(Mode::RepFlow, Pairing::Hello);
        slow.flow.fallback_delay = (by == "fallback delay").then_some(Duration::from_millis(30));
        if by == "leg deadline" {
            slow.flow.leg_deadline = Duration::from_millis(30);
        }
        let connector = Connector::new(slow).expect("valid settings");
        let flow = tokio::spawn(async move { connector.connect("127.0.0.1", port).await });
        // This server is too slow: it has read both hellos, and has sent no banner yet.
        let mut legs = [other.accept().await?.0, other.accept().await?.0];
        for leg in &mut legs {
            leg.read_exact(&mut [0; 32]).await?;
        }
        if by == "cancelled connect" {
            flow.abort();
        }
        for leg in &mut legs {
            let end = leg.read(&mut [0; 1]).await;
            assert!(matches!(end, Ok(0)), "{by}: {end:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_cancelled_accept_loses_no_flow_and_a_cancelled_connect_leaves_none() -> io::Result<()> {
    let settings = settings(Mode::RepFlow, Pairing::Hello);
    let listener = listen(settings).await?;
    let port = listener.local_addr()?.port();
    let connector = Connector::new(settings).expect("valid settings");
    for _ in 0..50 {
        // The future is polled once and then dropped.
        let once = tokio::time::timeout(Duration::ZERO, listener.accept()).await;
        assert!(once.is_err());
        let (stream, accepted) =
            tokio::join!(connector.connect("127.0.0.1", port), listener.accept());
        let (_stream, _accepted) = (stream?, accepted?);
    }
    for _ in 0..50 {
        let _ = tokio::time::timeout(Duration::ZERO, connector.connect("127.0.0.1", port)).await;
    }
    until(|| connector.stats(), |stats| stats.live == 0).await;
    Ok(())
}

#[tokio::test]
async fn a_reset_is_seen_as_an_error_and_a_drop_as_the_end() -> io::Result<()> {
    let settings = settings(Mode::RepFlow, Pairing::Hello);
    let listener = listen(settings).await?;
    let port = listener.local_addr()?.port();
    let connector = Connector::new(settings).expect("valid settings");
    for by_reset in [true, false] {
        let (stream, accepted) =
            tokio::join!(connector.connect("127.0.0.1", port), listener.accept());
        let (mut stream, (mut accepted, _)) = (stream?, accepted?);
        stream.write_all(b"x").await?;
        assert_eq!(accepted.read_u8().await?, b'x');
        match by_reset {
            true => stream.reset(),
            false => drop(stream),
        }
        let end = accepted.read(&mut [0; 8]).await;
        match by_reset {
            true => assert_eq!(end.unwrap_err().kind(), io::ErrorKind::ConnectionReset),
            false => assert_eq!(end?, 0),
        }
    }
    Ok(())
}

#[tokio::test]
async fn flows_that_nobody_accepted_are_reset_with_their_listener_and_those_that_wait_are_bounded()
-> io::Result<()> {
    let mut settings = settings(Mode::RepFlow, Pairing::Hello);
    settings.accept_backlog = 1;
    let listener = listen(settings).await?;
    let port = listener.local_addr()?.port();
    let connector = Connector::new(settings).expect("valid settings");
    let mut first = connector.connect("127.0.0.1", port).await?;
    assert!(first.is_replicated());
    // One flow waits for `accept`. The server refuses the next flow with "busy".
    // The plain connection of this flow then waits in the kernel.
    let second = connector.connect("127.0.0.1", port).await?;
    assert!(!second.is_replicated());
    assert!(listener.stats().refused_full > 0);
    drop(listener);
    let error = first.read(&mut [0; 1]).await.expect_err("a reset");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    Ok(())
}

#[tokio::test]
async fn a_writer_is_held_back_when_nobody_reads() -> io::Result<()> {
    for settings in every_kind() {
        let listener = listen(settings).await?;
        let port = listener.local_addr()?.port();
        let connector = Connector::new(settings).expect("valid settings");
        let (stream, accepted) =
            tokio::join!(connector.connect("127.0.0.1", port), listener.accept());
        let (mut client, (mut server, _)) = (stream?, accepted?);
        // The kernels and the flows on both sides cannot hold this number of bytes.
        let all = 64 << 20;
        let writer = tokio::spawn(async move {
            let chunk = pattern(1 << 16);
            let mut written = 0;
            while written < all {
                let wait = Duration::from_millis(200);
                match tokio::time::timeout(wait, client.write(&chunk)).await {
                    Ok(count) => written += count?,
                    Err(_) => return Ok((client, written)),
                }
            }
            Ok::<_, io::Error>((client, written))
        });
        let (client, written) = writer.await.expect("the writer")?;
        assert!(written < all, "{settings:?}");
        drop(client);
        let mut received = 0;
        let mut buffer = vec![0; 1 << 16];
        while received < written {
            received += match server.read(&mut buffer).await? {
                0 => break,
                count => count,
            };
        }
        assert_eq!(received, written, "{settings:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_kept_alive_connection_gets_a_second_leg_again_when_it_was_idle() -> io::Result<()> {
    let settings = settings(Mode::RepFlow, Pairing::Hello);
    let listener = Arc::new(listen(settings).await?);
    let port = listener.local_addr()?.port();
    serve_echo(Arc::clone(&listener));
    let connector = Connector::new(settings).expect("valid settings");
    let mut stream = connector.connect("127.0.0.1", port).await?;
    for message in 1..=3 {
        // The flow is too long for two connections, so it continues on one connection.
        let sent = pattern(200_000);
        let (mut reader, mut writer) = tokio::io::split(stream);
        let mut received = vec![0; sent.len()];
        let (wrote, read) = tokio::join!(writer.write_all(&sent), reader.read_exact(&mut received));
        wrote?;
        read?;
        assert!(received == sent);
        stream = reader.unsplit(writer);
        until(|| listener.stats(), |stats| stats.legs_rejoined >= message).await;
        until(|| connector.stats(), |stats| stats.legs_rejoined >= message).await;
    }
    let received = exchange(stream, b"the last one").await?;
    assert_eq!(received, b"the last one");
    assert_eq!(connector.stats().diverged + listener.stats().diverged, 0);
    Ok(())
}

#[test]
fn streams_may_be_used_and_dropped_outside_of_their_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    for settings in every_kind() {
        let (listener, mut clients, servers) = runtime.block_on(async {
            let listener = listen(settings).await.expect("two ports");
            let port = listener.local_addr().expect("an address").port();
            let connector = Connector::new(settings).expect("valid settings");
            let (mut clients, mut servers) = (Vec::new(), Vec::new());
            for _ in 0..8 {
                let (stream, accepted) =
                    tokio::join!(connector.connect("127.0.0.1", port), listener.accept());
                clients.push(stream.expect("a flow"));
                servers.push(accepted.expect("a flow").0);
            }
            (listener, clients, servers)
        });
        // The first connection of the flow has arrived. The second one often arrives later.
        for (client, mut server) in clients.iter_mut().zip(servers) {
            let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
            let written = std::pin::Pin::new(client).poll_write(&mut cx, b"word");
            assert!(written.is_ready());
            let mut word = [0; 4];
            let read = runtime.block_on(server.read_exact(&mut word));
            assert_eq!((read.expect("a word"), &word), (4, b"word"));
        }
        drop((clients, listener));
    }
    runtime.shutdown_background();
}

/// Runs another test of this file in a separate network namespace with this range of ephemeral ports.
/// That test is ignored in other runs.
fn in_a_network_with_ports(range: &str, test: &str) {
    let set = format!("echo {range} > /proc/sys/net/ipv4/ip_local_port_range && exec \"$@\"");
    let own = std::env::current_exe().expect("this test's program");
    let ended = std::process::Command::new("unshare")
        .args(["--map-root-user", "--net", "sh", "-c", &set, "sh"])
        .arg(own)
        .args(["--exact", test, "--ignored"])
        .output()
        .expect("unshare, of util-linux");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&ended.stderr)
    );
}

/// Listens on all of these ports, and then on port 0. Returns the port that the listener chose.
async fn port_beside(taken: &[u16]) -> u16 {
    let everywhere = |port| SocketAddr::from(([0, 0, 0, 0], port));
    let held = taken
        .iter()
        .map(|port| std::net::TcpListener::bind(everywhere(*port)));
    let held: Vec<_> = held.collect::<Result<_, _>>().expect("free ports");
    let listener = TcpListener::bind(everywhere(0)).await.expect("two ports");
    drop(held);
    listener.local_addr().expect("an address").port()
}

#[test]
fn port_zero_finds_the_only_port_whose_next_one_is_free() {
    in_a_network_with_ports("40000 40007", "only_40007_has_a_free_next_port");
}

#[tokio::test]
#[ignore = "runs in a separate network, by port_zero_finds_the_only_port_whose_next_one_is_free"]
async fn only_40007_has_a_free_next_port() {
    let taken = [40_000, 40_002, 40_004, 40_006];
    assert_eq!(port_beside(&taken).await, 40_007);
}

#[test]
fn port_zero_looks_beyond_the_kernels_range_where_nothing_in_it_will_do() {
    in_a_network_with_ports("40000 40007", "no_port_of_the_range_has_a_free_next_port");
}

#[tokio::test]
#[ignore = "runs in a separate network, by port_zero_looks_beyond_the_kernels_range_where_nothing_in_it_will_do"]
async fn no_port_of_the_range_has_a_free_next_port() {
    let taken = [40_000, 40_002, 40_004, 40_006, 40_008];
    let found = port_beside(&taken).await;
    assert!(!(40_000..40_008).contains(&found), "{found}");
}
