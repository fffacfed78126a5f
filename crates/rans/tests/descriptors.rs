//! A guard under a hard limit of open files. The limit holds for the whole process, so this file has one test.
#![cfg(feature = "guard")]

use clap::Parser;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::SocketAddr;
use tailcut_rans::guard::program::{GuardCommand, execute};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    guard: GuardCommand,
}

async fn free_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("an address")
}

/// Starts a service that answers each connection once.
async fn service() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 1_024]).await;
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                let _ = stream.write_all(answer).await;
            });
        }
    });
    address
}

/// This process may open 600 files. Both the guard and 280 slow clients have their sockets here.
/// The guard may have 600 / 2 - 32 = 268 connections to clients.
#[tokio::test]
async fn half_sent_heads_under_a_hard_limit_of_files_stop_no_other_client() {
    let limit = Rlimit {
        current: Some(100),
        maximum: Some(600),
    };
    setrlimit(Resource::Nofile, limit).expect("a lower limit");
    let (to, guard, admin) = (service().await, free_port().await, free_port().await);
    let [listen, to, admin] = [guard, to, admin].map(|at| at.to_string());
    let flags = [
        "guard",
        "--listen",
        &listen,
        "--to",
        &to,
        "--workers",
        "4",
        "--admin",
        &admin,
    ];
    let flags = Flags::parse_from(flags);
    std::thread::spawn(move || execute(&flags.guard));
    while TcpStream::connect(guard).await.is_err() {
        tokio::task::yield_now().await;
    }
    assert_eq!(getrlimit(Resource::Nofile).current, Some(600));
    let mut slow = Vec::new();
    for _ in 0..280 {
        let mut stream = TcpStream::connect(guard).await.expect("a backlog");
        let head = b"GET / HTTP/1.1\r\nHost: x\r\nX-";
        stream.write_all(head).await.expect("sent");
        slow.push(stream);
    }
    for _ in 0..20 {
        let mut stream = TcpStream::connect(guard).await.expect("a backlog");
        let request = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request).await.expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
    }
    drop(slow);
}
