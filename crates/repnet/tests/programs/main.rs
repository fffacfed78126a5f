//! Tests with real servers through two proxies. The path is plain TCP, RepNet, plain TCP.
//! Either proxy can be the npm package's proxy.

mod proxies;
mod servers;

use proxies::{Kind, Running, route};
use servers::{Server, find, run};
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

/// Client connection that is read line by line.
struct Lines(BufReader<TcpStream>);

impl Lines {
    async fn connect(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        Ok(Self(BufReader::new(stream)))
    }

    async fn ask(&mut self, request: &[u8]) -> io::Result<String> {
        self.0.write_all(request).await?;
        let mut line = String::new();
        self.0.read_line(&mut line).await?;
        Ok(line.trim_end().to_owned())
    }

    async fn bytes(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).await?;
        Ok(bytes)
    }
}

async fn redis_works(port: u16) -> io::Result<()> {
    let mut redis = Lines::connect(port).await?;
    assert_eq!(redis.ask(b"SET small 1\r\n").await?, "+OK");
    for count in 2..=100 {
        assert_eq!(redis.ask(b"INCR small\r\n").await?, format!(":{count}"));
    }
    let large = vec![b'v'; 300_000];
    let head = b"*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n$300000\r\n";
    let set = [&head[..], &large, b"\r\n"].concat();
    assert_eq!(redis.ask(&set).await?, "+OK");
    assert_eq!(redis.ask(b"GET large\r\n").await?, "$300000");
    assert_eq!(redis.bytes(300_002).await?[..300_000], large);
    assert_eq!(redis.ask(b"QUIT\r\n").await?, "+OK");
    // The server ends the connection with a FIN, without an error.
    assert_eq!(redis.0.read(&mut [0; 1]).await?, 0);
    Ok(())
}

async fn memcached_works(port: u16) -> io::Result<()> {
    let mut memcached = Lines::connect(port).await?;
    let value = vec![b'm'; 50_000];
    let set = [&b"set key 0 60 50000\r\n"[..], &value, b"\r\n"].concat();
    assert_eq!(memcached.ask(&set).await?, "STORED");
    assert_eq!(memcached.ask(b"get key\r\n").await?, "VALUE key 0 50000");
    assert_eq!(memcached.bytes(50_002).await?[..50_000], value);
    assert_eq!(memcached.ask(b"").await?, "END");
    assert_eq!(memcached.ask(b"get absent\r\n").await?, "END");
    Ok(())
}

async fn nginx_works(port: u16) -> io::Result<()> {
    // All requests use one connection, as browsers and connection pools do.
    let mut nginx = Lines::connect(port).await?;
    for (name, bytes) in files() {
        let request = format!("GET /{name} HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(nginx.ask(request.as_bytes()).await?, "HTTP/1.1 200 OK");
        let mut length = 0;
        loop {
            let line = nginx.ask(b"").await?;
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.parse().expect("a number");
            }
        }
        assert_eq!(nginx.bytes(length).await?, bytes, "{name}");
    }
    Ok(())
}

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let bytes = |count: u32| (0..count).map(|at| (at % 251) as u8).collect();
    vec![
        ("small", bytes(700)),
        ("large", bytes(400_000)),
        ("empty", bytes(0)),
    ]
}

async fn postgresql_works(port: u16) -> io::Result<()> {
    let commands = "create temporary table flows (name text, bytes int);
         insert into flows select 'flow ' || n, n * 100 from generate_series(1, 500) n;
         select sum(bytes) from flows; select length(repeat('x', 300000));
         select repeat('x', 300000);";
    let mut psql = Command::new(find("psql"));
    psql.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", "postgres"]);
    psql.args(["-X", "-q", "-t", "-A", "-c", commands]);
    let answer = run(&mut psql).await?;
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(&lines[..2], ["12525000", "300000"]);
    assert_eq!(lines[2], "x".repeat(300_000));
    Ok(())
}

/// MariaDB's server sends first: its greeting precedes all bytes of the client.
async fn mariadb_works(port: u16) -> io::Result<()> {
    let commands = "create or replace database flows; use flows;
         create temporary table flows (name text, bytes int);
         insert into flows select concat('flow ', seq), seq * 100 from seq_1_to_500;
         select sum(bytes) from flows; select repeat('x', 300000);";
    let mut client = Command::new(find("mariadb"));
    client.args([
        "--no-defaults",
        "--protocol=tcp",
        "-h",
        "127.0.0.1",
        "-u",
        "root",
    ]);
    client.args(["-P", &port.to_string(), "-N", "-B", "-e", commands]);
    let answer = run(&mut client).await?;
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(lines, ["12525000", &"x".repeat(300_000)]);
    Ok(())
}

/// Runs the dialogue between a client and its server through every pair of proxies.
async fn works_through_proxies(
    server: &Server,
    conversation: impl AsyncFn(u16) -> io::Result<()>,
) -> io::Result<()> {
    let all = [
        (Kind::Rust, Kind::Rust, "repflow", "port"),
        (Kind::Rust, Kind::Rust, "repflow", "hello"),
        (Kind::Rust, Kind::Rust, "repsyn", "hello"),
        (Kind::Node, Kind::Rust, "repflow", "hello"),
        (Kind::Node, Kind::Rust, "repsyn", "hello"),
        (Kind::Rust, Kind::Node, "repflow", "hello"),
        (Kind::Rust, Kind::Node, "repsyn", "hello"),
    ];
    for (behind, before, mode, pairing) in all {
        let inner = Running::start(before, route(server.port, "in", mode, pairing)).await?;
        let outer = Running::start(behind, route(inner.port(), "out", mode, pairing)).await?;
        let done = conversation(outer.port()).await;
        let place = format!("{behind:?} to {before:?}, {mode}, {pairing}");
        done.unwrap_or_else(|error| panic!("{place}: {error}; {}", server.log()));
        for (end, is_client) in [(&outer, true), (&inner, false)] {
            if let Running::Rust(proxy) = end {
                let stats = proxy.stats();
                let replicated = match is_client {
                    true => stats.opened,
                    false => stats.accepted,
                };
                assert_eq!((replicated, stats.diverged), (1, 0), "{place}: {stats:?}");
            }
        }
        outer.stop().await?;
        inner.stop().await?;
    }
    Ok(())
}

#[tokio::test]
async fn redis_answers_through_two_proxies() -> io::Result<()> {
    works_through_proxies(&Server::redis().await?, redis_works).await
}

#[tokio::test]
async fn memcached_answers_through_two_proxies() -> io::Result<()> {
    works_through_proxies(&Server::memcached().await?, memcached_works).await
}

#[tokio::test]
async fn nginx_answers_through_two_proxies() -> io::Result<()> {
    works_through_proxies(&Server::nginx(&files()).await?, nginx_works).await
}

#[tokio::test]
async fn postgresql_answers_through_two_proxies() -> io::Result<()> {
    works_through_proxies(&Server::postgresql().await?, postgresql_works).await
}

#[tokio::test]
async fn mariadb_which_speaks_first_answers_through_two_proxies() -> io::Result<()> {
    works_through_proxies(&Server::mariadb().await?, mariadb_works).await
}

#[tokio::test]
async fn a_target_without_repnet_is_reached_over_one_connection_and_a_refused_one_is_an_error()
-> io::Result<()> {
    let redis = Server::redis().await?;
    let plain = Running::start(Kind::Rust, route(redis.port, "out", "repflow", "hello")).await?;
    redis_works(plain.port()).await?;
    plain.stop().await?;
    let nobody = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
    let refused = Running::start(Kind::Rust, route(nobody, "out", "repflow", "hello")).await?;
    let mut client = TcpStream::connect(("127.0.0.1", refused.port())).await?;
    let error = client.read(&mut [0; 1]).await.expect_err("a reset");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    refused.stop().await
}
