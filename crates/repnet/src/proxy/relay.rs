//! Relay of one flow through the proxy: it copies bytes between two connections in both directions.
//! A FIN or a reset of one connection is forwarded to the other connection.

use crate::stream::TcpStream;
use std::fmt;
use std::io;
use tailcut_proxy::tls::Stream;
use tailcut_transport::repnet::Leg;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::time::Instant;

/// Largest number of bytes in the buffer of one direction.
const BUFFER: usize = 16_384;

/// Reason why a flow failed.
#[derive(Debug)]
pub(crate) enum Failed {
    Accepted(io::Error),
    Target(io::Error),
    /// The proxy stops, and resets all open flows.
    Cut,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted(error) => write!(f, "the accepted connection: {error}"),
            Self::Target(error) => write!(f, "the connection to the target: {error}"),
            Self::Cut => write!(f, "it was open at the end of the drain timeout"),
        }
    }
}

/// Result of a flow that has ended.
#[derive(Default, Debug)]
pub(crate) struct RelayEnd {
    /// Number of bytes from the accepted connection.
    pub bytes_in: u64,
    /// Number of bytes from the target.
    pub bytes_out: u64,
    /// Time at which the first byte from the target was sent to the accepted connection.
    pub answered: Option<Instant>,
    /// Connection that was faster for most bytes of the replicated stream, if there were two.
    pub winner: Option<Leg>,
    pub failed: Option<Failed>,
}

/// Copies bytes in both directions until both connections have ended, or until `cut` completes.
/// If one connection fails, the other one is reset.
/// Otherwise the peer of the other one would mistake an incomplete stream for a complete one.
pub(crate) async fn relay(
    accepted: Stream<TcpStream>,
    target: TcpStream,
    cut: impl Future<Output = ()>,
) -> RelayEnd {
    let mut end = RelayEnd::default();
    let mut asked = None;
    let (mut from_client, mut to_client) = split(accepted);
    let (mut from_target, mut to_target) = split(target);
    let up = copy(
        &mut from_client,
        &mut to_target,
        &mut end.bytes_in,
        &mut asked,
    );
    let down = copy(
        &mut from_target,
        &mut to_client,
        &mut end.bytes_out,
        &mut end.answered,
    );
    let both = async {
        tokio::try_join!(
            async {
                up.await.map_err(|broken| match broken {
                    Broken::Source(error) => Failed::Accepted(error),
                    Broken::Sink(error) => Failed::Target(error),
                })
            },
            async {
                down.await.map_err(|broken| match broken {
                    Broken::Source(error) => Failed::Target(error),
                    Broken::Sink(error) => Failed::Accepted(error),
                })
            },
        )
    };
    end.failed = tokio::select! {
        ended = both => ended.err(),
        () = cut => Some(Failed::Cut),
    };
    let accepted = from_client.unsplit(to_client).into_socket();
    let target = from_target.unsplit(to_target);
    end.winner = accepted.winner().or_else(|| target.winner());
    if end.failed.is_some() {
        accepted.reset();
        target.reset();
    }
    end
}

/// Failure of one direction.
enum Broken {
    Source(io::Error),
    Sink(io::Error),
}

/// Copies the bytes of one direction, and then forwards its FIN. `first` is the time of the first copied bytes.
async fn copy(
    from: &mut ReadHalf<impl AsyncRead>,
    to: &mut WriteHalf<impl AsyncWrite>,
    count: &mut u64,
    first: &mut Option<Instant>,
) -> Result<(), Broken> {
    let mut bytes = vec![0; BUFFER];
    loop {
        let read = from.read(&mut bytes).await.map_err(Broken::Source)?;
        if read == 0 {
            return to.shutdown().await.map_err(Broken::Sink);
        }
        *count += read as u64;
        let read = bytes.get(..read).unwrap_or_default();
        to.write_all(read).await.map_err(Broken::Sink)?;
        first.get_or_insert_with(Instant::now);
    }
}
