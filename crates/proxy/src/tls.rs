//! TLS on both sides, by rustls with ring: certificates and keys in PEM, ALPN, clients that show a
//! certificate.

use anyhow::{Context as _, Result, anyhow, bail};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

pub use rustls::ServerConfig;
pub use rustls::pki_types::ServerName;

/// Who somebody is: a chain of certificates and the key of the first one, both in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The chain.
    pub certificates: Vec<u8>,
    /// The key.
    pub key: Vec<u8>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A key is nobody's to read.
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

impl Identity {
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| anyhow!("found no private key in PEM: {error}"))?;
        Ok((certificates(&self.certificates)?, key))
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|error| anyhow!("found what is no certificate in PEM: {error}"))?;
    match all.is_empty() {
        true => bail!("found no certificate in PEM"),
        false => Ok(all),
    }
}

fn roots(pem: &[u8]) -> Result<Arc<RootCertStore>> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem)? {
        roots.add(certificate)?;
    }
    Ok(Arc::new(roots))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// What a listener speaks: TLS 1.2 and 1.3, with ALPN for HTTP/2 and HTTP/1.1. With `client_ca`, in PEM, clients
/// have to show a certificate that one of these has signed.
///
/// # Errors
/// Certificates or keys that cannot be read, or do not belong together.
pub fn server(identity: &Identity, client_ca: Option<&[u8]>) -> Result<Arc<ServerConfig>> {
    let (chain, key) = identity.read()?;
    let builder =
        ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
    let builder = match client_ca {
        Some(pem) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(roots(pem)?, provider());
            builder.with_client_cert_verifier(verifier.build()?)
        }
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// How servers are met.
#[derive(Clone, Debug)]
pub struct Client {
    config: Arc<ClientConfig>,
    is_http2: bool,
}

impl Client {
    /// Servers have to show a certificate that one of `ca` (in PEM), or of the system's authorities, has signed.
    /// With `identity` the client shows one, too.
    ///
    /// # Errors
    /// Certificates or keys that cannot be read, or do not belong together.
    pub fn new(ca: Option<&[u8]>, identity: Option<&Identity>, is_http2: bool) -> Result<Self> {
        let roots = match ca {
            Some(pem) => roots(pem)?,
            None => system_roots()?,
        };
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let mut config = match identity {
            Some(identity) => {
                let (chain, key) = identity.read()?;
                builder.with_client_auth_cert(chain, key)?
            }
            None => builder.with_no_client_auth(),
        };
        let protocol: &[u8] = if is_http2 { b"h2" } else { b"http/1.1" };
        config.alpn_protocols = vec![protocol.to_vec()];
        let config = Arc::new(config);
        Ok(Self { config, is_http2 })
    }

    /// Speaks TLS on a connection to a server of this name.
    ///
    /// # Errors
    /// A server that is not who it should be, or speaks another protocol.
    pub async fn connect(
        &self,
        name: ServerName<'static>,
        stream: TcpStream,
    ) -> io::Result<Stream> {
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let stream = connector.connect(name, stream).await?;
        let agreed = stream.get_ref().1.alpn_protocol();
        if self.is_http2 && agreed != Some(b"h2") {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the server does not speak HTTP/2 (ALPN)",
            ));
        }
        Ok(Stream::Tls(Box::new(stream.into())))
    }
}

/// A server's name in TLS: a host's name or an address.
///
/// # Errors
/// Anything else.
pub fn server_name(host: &str) -> Result<ServerName<'static>> {
    let name = ServerName::try_from(host.to_owned());
    name.with_context(|| format!("{host:?} is no name of a server"))
}

fn system_roots() -> Result<Arc<RootCertStore>> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    match roots.is_empty() {
        true => bail!("found no certificates of authorities on this system; name some as \"ca\""),
        false => Ok(Arc::new(roots)),
    }
}

/// A connection with TLS or without.
#[derive(Debug)]
pub enum Stream {
    /// Without.
    Plain(TcpStream),
    /// With.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// What it is over.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }
}

macro_rules! on_either {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Stream::Plain($inner) => $call,
            Stream::Tls($inner) => $call,
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on_either!(&mut *self, inner => Pin::new(inner).poll_read(cx, into))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        on_either!(&mut *self, inner => Pin::new(inner).poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        on_either!(&mut *self, inner => Pin::new(inner).poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        on_either!(self, inner => inner.is_write_vectored())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_either!(&mut *self, inner => Pin::new(inner).poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_either!(&mut *self, inner => Pin::new(inner).poll_shutdown(cx))
    }
}

/// Speaks TLS with a client, where there is a configuration for it. Gives also whether it does.
///
/// # Errors
/// A client that does not speak TLS, or shows no certificate where it should.
pub async fn accept(
    config: Option<Arc<ServerConfig>>,
    stream: TcpStream,
) -> io::Result<(Stream, bool)> {
    match config {
        Some(config) => {
            let stream = TlsAcceptor::from(config).accept(stream).await?;
            Ok((Stream::Tls(Box::new(stream.into())), true))
        }
        None => Ok((Stream::Plain(stream), false)),
    }
}
