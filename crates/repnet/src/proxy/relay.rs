//! Relay of one flow through the proxy: it copies bytes between two connections in both directions.
//! A FIN or a reset of one connection is forwarded to the other connection.

use crate::stream::TcpStream;
use std::io;
use tailcut_proxy::tls::Stream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};

/// Largest number of bytes in the buffer of one direction.
const BUFFER: usize = 16_384;

/// Reason why a flow failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failed {
    Accepted,
    Target,
    /// The proxy stops, and resets all open flows.
    Cut,
}

/// Result of a flow that has ended.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct RelayEnd {
    /// Number of bytes from the accepted connection.
    pub bytes_in: u64,
    /// Number of bytes from the target.
    pub bytes_out: u64,
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
    let (mut from_client, mut to_client) = split(accepted);
    let (mut from_target, mut to_target) = split(target);
    let up = copy(&mut from_client, &mut to_target, &mut end.bytes_in);
    let down = copy(&mut from_target, &mut to_client, &mut end.bytes_out);
    let both = async {
        tokio::try_join!(
            async {
                up.await
                    .map_err(|side| side.of(Failed::Accepted, Failed::Target))
            },
            async {
                down.await
                    .map_err(|side| side.of(Failed::Target, Failed::Accepted))
            },
        )
    };
    let failed = tokio::select! {
        ended = both => ended.err(),
        () = cut => Some(Failed::Cut),
    };
    end.failed = failed;
    if failed.is_some() {
        from_client.unsplit(to_client).into_socket().reset();
        from_target.unsplit(to_target).reset();
    }
    end
}

#[derive(Clone, Copy)]
enum Side {
    Source,
    Sink,
}

impl Side {
    const fn of(self, source: Failed, sink: Failed) -> Failed {
        match self {
            Self::Source => source,
            Self::Sink => sink,
        }
    }
}

/// Copies the bytes of one direction, and then forwards its FIN.
async fn copy(
    from: &mut ReadHalf<impl AsyncRead>,
    to: &mut WriteHalf<impl AsyncWrite>,
    count: &mut u64,
) -> Result<(), Side> {
    let source = |_: io::Error| Side::Source;
    let sink = |_: io::Error| Side::Sink;
    let mut bytes = vec![0; BUFFER];
    loop {
        let read = from.read(&mut bytes).await.map_err(source)?;
        if read == 0 {
            return to.shutdown().await.map_err(sink);
        }
        *count += read as u64;
        to.write_all(&bytes[..read]).await.map_err(sink)?;
    }
}
