//! Network between a client and a server. The flow's seed selects a fault for one of the two connections.
//! The other connection always passes.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tailcut_transport::repnet::FlowKey;
use tailcut_wire::repnet::{HELLO_BYTES, decode_preamble};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Fault of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Pass,
    /// The connection reaches the server after this delay.
    Late(Duration),
    /// After this number of bytes in one direction, nothing passes for this duration.
    Stall(usize, u64, Duration),
    /// After this number of bytes in one direction, the connections to client and server are reset.
    Reset(usize, u64),
    /// The server's FIN arrives before its banner is complete.
    EarlyFin(u64),
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn fate(&mut self) -> Fate {
        let wait = Duration::from_millis(1 + self.below(40));
        let direction = self.below(2) as usize;
        let after = match self.below(3) {
            0 => self.below(HELLO_BYTES as u64 + 1),
            1 => HELLO_BYTES as u64 + self.below(2_000),
            _ => HELLO_BYTES as u64 + self.below(100_000),
        };
        match self.below(5) {
            0 => Fate::Pass,
            1 => Fate::Late(wait),
            2 => Fate::Stall(direction, after, wait),
            3 => Fate::Reset(direction, after),
            _ => Fate::EarlyFin(self.below(HELLO_BYTES as u64)),
        }
    }
}

struct Fates {
    draw: Draw,
    /// Faults that the second connections of flows will have.
    second: HashMap<FlowKey, Fate>,
}

impl Fates {
    fn of(&mut self, flow: FlowKey) -> Fate {
        if let Some(fate) = self.second.remove(&flow) {
            return fate;
        }
        let fate = self.draw.fate();
        let (first, second) = match self.draw.below(2) {
            0 => (fate, Fate::Pass),
            _ => (Fate::Pass, fate),
        };
        self.second.insert(flow, second);
        first
    }
}

/// Relay in front of the replica ports and the service ports of a server.
pub struct Relay {
    pub ports: [u16; 3],
    tasks: JoinSet<()>,
}

impl Relay {
    pub async fn start(to: [u16; 3], seed: u64) -> io::Result<Self> {
        let draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let fates = Arc::new(Mutex::new(Fates {
            draw,
            second: HashMap::new(),
        }));
        let mut tasks = JoinSet::new();
        let mut ports = [0; 3];
        for (port, to) in ports.iter_mut().zip(to) {
            let (own, next) = neighbours().await?;
            *port = own.local_addr()?.port();
            // Connections to the service port are relayed without faults.
            for (listener, to, greets) in [(own, to, false), (next, to + 1, true)] {
                let fates = Arc::clone(&fates);
                tasks.spawn(async move {
                    while let Ok((leg, _)) = listener.accept().await {
                        let fates = Arc::clone(&fates);
                        tokio::spawn(async move {
                            match greets {
                                true => relay(leg, to, &fates).await,
                                false => pass(leg, to).await,
                            }
                        });
                    }
                });
            }
        }
        Ok(Self { ports, tasks })
    }

    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

async fn neighbours() -> io::Result<(TcpListener, TcpListener)> {
    loop {
        let own = TcpListener::bind("127.0.0.1:0").await?;
        let mut next = own.local_addr()?;
        next.set_port(next.port().wrapping_add(1));
        if let Ok(next) = TcpListener::bind(next).await {
            return Ok((own, next));
        }
    }
}

fn reset(leg: &TcpStream) {
    let _ = leg.set_zero_linger();
}

async fn pass(mut client: TcpStream, to: u16) {
    if let Ok(mut server) = TcpStream::connect(("127.0.0.1", to)).await
        && tokio::io::copy_bidirectional(&mut client, &mut server)
            .await
            .is_err()
    {
        reset(&client);
        reset(&server);
    }
}

async fn relay(mut client: TcpStream, to: u16, fates: &Mutex<Fates>) {
    let mut hello = [0; HELLO_BYTES];
    if client.read_exact(&mut hello).await.is_err() {
        return;
    }
    let fate = match decode_preamble(&hello) {
        Ok((preamble, _)) => fates.lock().expect("a lock").of(preamble.flow),
        Err(_) => Fate::Pass,
    };
    if let Fate::Late(wait) = fate {
        tokio::time::sleep(wait).await;
    }
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", to)).await else {
        return reset(&client);
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    if matches!(fate, Fate::Reset(0, after) if after < HELLO_BYTES as u64)
        || server.write_all(&hello).await.is_err()
    {
        reset(&client);
        return reset(&server);
    }
    let passed = {
        let (client_reads, client_writes) = client.split();
        let (server_reads, server_writes) = server.split();
        let up = lane(client_reads, server_writes, HELLO_BYTES as u64, 0, fate);
        let down = lane(server_reads, client_writes, 0, 1, fate);
        tokio::try_join!(up, down)
    };
    if passed.is_err() {
        reset(&client);
        reset(&server);
    }
}

/// Relays one direction. An error resets the connections to client and server.
async fn lane(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut passed: u64,
    direction: usize,
    fate: Fate,
) -> io::Result<()> {
    let mut bytes = vec![0; 16_384];
    let mut stop = match fate {
        Fate::Stall(at, after, _) | Fate::Reset(at, after) if at == direction => Some(after),
        Fate::EarlyFin(after) if direction == 1 => Some(after),
        _ => None,
    };
    loop {
        if stop.is_some_and(|stop| passed >= stop) {
            stop = None;
            match fate {
                Fate::Stall(.., wait) => tokio::time::sleep(wait).await,
                Fate::EarlyFin(_) => {
                    to.shutdown().await?;
                    // Bytes that arrive later are discarded.
                    while from.read(&mut bytes).await? > 0 {}
                    return Ok(());
                }
                _ => return Err(io::ErrorKind::ConnectionReset.into()),
            }
        }
        let most = stop.map_or(bytes.len(), |stop| (stop - passed) as usize);
        let most = most.min(bytes.len());
        let count = from.read(&mut bytes[..most]).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        to.write_all(&bytes[..count]).await?;
        passed += count as u64;
    }
}
