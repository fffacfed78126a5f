//! One flow through the proxy: two connections, with bytes in both directions. A FIN or a reset of one side is
//! forwarded to the other.

use crate::stream::TcpStream;
use std::io;
use tailcut_proxy::tls::Stream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};

/// Largest number of bytes in the buffer of one direction.
const BUFFER: usize = 16_384;

/// Side of a flow that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failed {
    Accepted,
    Target,
    /// No side failed: the proxy stops.
    Cut,
}

/// Result of a flow.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct RelayEnd {
    /// Bytes from the accepted side.
    pub bytes_in: u64,
    /// Bytes from the target.
    pub bytes_out: u64,
    pub failed: Option<Failed>,
}

/// Joins both connections until both have ended, or until `cut` completes. If one fails, the other is reset, so that
/// its peer does not mistake an incomplete stream for a complete one.
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

/// Copies one direction, including its end.
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
