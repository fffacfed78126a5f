//! TLS for servers and clients, with the libraries rustls and ring.
//! The module handles certificates and keys in PEM, ALPN, and client certificates.

use crate::config::{File, KeyFile, Table};
use anyhow::{Context as _, Result, anyhow, bail};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore};
use serde::Deserialize;
use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

pub use rustls::ServerConfig;
pub use rustls::pki_types::ServerName;

fn identity(
    certificates: &File,
    key: &KeyFile,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let key = PrivateKeyDer::from_pem_slice(&key.0.bytes)
        .map_err(|error| anyhow!("found no private key in PEM: {error}"))?;
    Ok((chain(&certificates.bytes)?, key))
}

fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all =
        all.map_err(|error| anyhow!("found an entry that is not a certificate in PEM: {error}"))?;
    match all.is_empty() {
        true => bail!("found no certificate in PEM"),
        false => Ok(all),
    }
}

fn roots(pem: &[u8]) -> Result<Arc<RootCertStore>> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(pem)? {
        roots.add(certificate)?;
    }
    Ok(Arc::new(roots))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// TLS settings of a listener. The key of the configuration is `tls`.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct ServerTls {
    certificate: File,
    key: KeyFile,
    /// Certificate authorities that may sign client certificates. `None`: clients need no certificate.
    #[serde(default)]
    client_ca: Option<File>,
    /// Further certificates. A client gets the first one that is valid for the name that it has sent (SNI).
    #[serde(default)]
    certificates: Vec<Identity>,
}

/// Certificate of a listener, with its key.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
struct Identity {
    certificate: File,
    key: KeyFile,
}

/// Certificates of a listener.
#[derive(Debug)]
struct ByName(Vec<Arc<CertifiedKey>>);

fn is_valid_for(identity: &CertifiedKey, name: &ServerName<'_>) -> bool {
    let certificate = identity.end_entity_cert().ok();
    let parsed = certificate.and_then(|der| ParsedCertificate::try_from(der).ok());
    parsed.is_some_and(|parsed| verify_server_name(&parsed, name).is_ok())
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello
            .server_name()
            .and_then(|name| ServerName::try_from(name).ok());
        let mut all = self.0.iter();
        let fitting = name.and_then(|name| all.find(|identity| is_valid_for(identity, &name)));
        // A client without a known name gets the first certificate, as with other servers.
        fitting.or_else(|| self.0.first()).cloned()
    }
}

impl ServerTls {
    /// Returns a configuration with TLS 1.2 and 1.3 that offers `protocols` by ALPN. Clients without ALPN are accepted.
    ///
    /// # Errors
    /// A certificate or a key cannot be read, or they do not belong together.
    pub fn config(&self, protocols: &[&str]) -> Result<Arc<ServerConfig>> {
        let first = [(&self.certificate, &self.key)].into_iter();
        let more = self
            .certificates
            .iter()
            .map(|more| (&more.certificate, &more.key));
        let identities = first.chain(more).map(|(certificate, key)| {
            let (chain, key) = identity(certificate, key)?;
            Ok(Arc::new(CertifiedKey::from_der(chain, key, &provider())?))
        });
        let identities = identities.collect::<Result<_>>()?;
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?;
        let builder = match &self.client_ca {
            Some(ca) => {
                let roots = roots(&ca.bytes)?;
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
                builder.with_client_cert_verifier(verifier.build()?)
            }
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(ByName(identities)));
        let protocols = protocols.iter().map(|name| name.as_bytes().to_vec());
        config.alpn_protocols = protocols.collect();
        Ok(Arc::new(config))
    }

    /// Checks the files of the key `tls` in the table `at`.
    ///
    /// # Errors
    /// The error names the key and the cause.
    pub fn check(&self, at: &Table<'_>) -> Result<()> {
        let config = self.config(&HTTP);
        config.map(drop).map_err(|error| refused(at, "tls", &error))
    }

    /// Returns the paths of the certificate and key files.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        let files = [
            Some(&self.certificate),
            Some(&self.key.0),
            self.client_ca.as_ref(),
        ];
        let more = self.certificates.iter();
        let more = more.flat_map(|more| [Some(&more.certificate), Some(&more.key.0)]);
        paths(files.into_iter().chain(more))
    }
}

fn paths<'a>(files: impl IntoIterator<Item = Option<&'a File>>) -> impl Iterator<Item = PathBuf> {
    files.into_iter().flatten().map(|file| file.path.clone())
}

fn refused(at: &Table<'_>, key: &str, cause: &anyhow::Error) -> anyhow::Error {
    at.refuse(key, &format!("files that TLS can use ({cause:#})"))
}

/// ALPN names of HTTP.
pub const HTTP: [&str; 2] = ["h2", "http/1.1"];

/// TLS settings for connections to servers. The key of the configuration is `replica_tls`.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug, Default)]
#[serde(default)]
pub struct ClientTls {
    /// Certificate authorities that may sign server certificates. `None`: all authorities that the system trusts.
    ca: Option<File>,
    /// Name that the certificate of each server must contain. `None`: the server's host.
    pub server_name: Option<String>,
    /// Client certificate.
    certificate: Option<File>,
    key: Option<KeyFile>,
}

impl ClientTls {
    /// Checks the settings of the key `replica_tls` in the table `at`.
    ///
    /// # Errors
    /// The error names the key and the cause.
    pub fn check(&self, at: &Table<'_>) -> Result<()> {
        let inner = at.table("replica_tls");
        let pem = "the path of a file in PEM";
        match (&self.certificate, &self.key) {
            (None, Some(_)) => return Err(inner.refuse("certificate", pem)),
            (Some(_), None) => return Err(inner.refuse("key", pem)),
            _ => {}
        }
        if self
            .server_name
            .as_deref()
            .is_some_and(|name| server_name(name).is_err())
        {
            return Err(inner.refuse("server_name", "a host's name or an address"));
        }
        // HTTP/1.1 and HTTP/2 use the same files, so a check with HTTP/1.1 is enough.
        let client = Client::new(self, false);
        client
            .map(drop)
            .map_err(|error| refused(at, "replica_tls", &error))
    }

    /// Returns the paths of the certificate and key files.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        let files = [
            self.ca.as_ref(),
            self.certificate.as_ref(),
            self.key.as_ref().map(|key| &key.0),
        ];
        paths(files)
    }
}

/// TLS client.
#[derive(Clone, Debug)]
pub struct Client {
    config: Arc<ClientConfig>,
    is_http2: bool,
}

impl Client {
    /// Creates a client for servers with HTTP/2, or with HTTP/1.1 if `is_http2` is false.
    ///
    /// # Errors
    /// A certificate or a key cannot be read, or they do not belong together.
    pub fn new(tls: &ClientTls, is_http2: bool) -> Result<Self> {
        let roots = match &tls.ca {
            Some(ca) => roots(&ca.bytes)?,
            None => system_roots()?,
        };
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let mut config = match (&tls.certificate, &tls.key) {
            (Some(certificate), Some(key)) => {
                let (chain, key) = identity(certificate, key)?;
                builder.with_client_auth_cert(chain, key)?
            }
            _ => builder.with_no_client_auth(),
        };
        let protocol: &[u8] = if is_http2 { b"h2" } else { b"http/1.1" };
        config.alpn_protocols = vec![protocol.to_vec()];
        let config = Arc::new(config);
        Ok(Self { config, is_http2 })
    }

    /// Performs the TLS handshake with the server `name` on an open connection.
    ///
    /// # Errors
    /// The server's certificate is not valid for this name, or the server does not support the protocol.
    pub async fn connect(
        &self,
        name: ServerName<'static>,
        stream: TcpStream,
    ) -> io::Result<Stream> {
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let stream = connector.connect(name, stream).await?;
        let agreed = stream.get_ref().1.alpn_protocol();
        // A server without HTTP/2 would answer in HTTP/1.1, which an HTTP/2 connection cannot read.
        if self.is_http2 && agreed != Some(b"h2") {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the server does not speak HTTP/2 (ALPN)",
            ));
        }
        Ok(Stream::Tls(Box::new(stream.into())))
    }
}

/// Parses the name of a server in TLS: a host name or an IP address.
///
/// # Errors
/// The text is neither a host name nor an IP address.
pub fn server_name(host: &str) -> Result<ServerName<'static>> {
    let name = ServerName::try_from(host.to_owned());
    name.with_context(|| format!("{host:?} is neither a host name nor an IP address"))
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

/// Connection with or without TLS.
#[derive(Debug)]
pub enum Stream<S = TcpStream> {
    /// Connection without TLS.
    Plain(S),
    /// Connection with TLS.
    Tls(Box<TlsStream<S>>),
}

impl<S> Stream<S> {
    /// Returns the underlying socket.
    pub fn socket(&self) -> &S {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }

    /// Returns the underlying socket.
    pub fn into_socket(self) -> S {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => match *stream {
                TlsStream::Client(stream) => stream.into_inner().0,
                TlsStream::Server(stream) => stream.into_inner().0,
            },
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

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on_either!(&mut *self, inner => Pin::new(inner).poll_read(cx, into))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
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

/// Performs the TLS handshake with a client, or returns the plain stream if `config` is `None`.
/// The second value is true if TLS is used.
///
/// # Errors
/// The client does not use TLS, or it does not send the valid certificate that the configuration requires.
pub async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
    config: Option<Arc<ServerConfig>>,
    stream: S,
) -> io::Result<(Stream<S>, bool)> {
    match config {
        Some(config) => {
            let stream = TlsAcceptor::from(config).accept(stream).await?;
            Ok((Stream::Tls(Box::new(stream.into())), true))
        }
        None => Ok((Stream::Plain(stream), false)),
    }
}

/// Reason why a TLS handshake has failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TlsFault {
    /// The certificate of the peer has expired, or is not valid yet.
    Expired,
    /// The certificate does not contain the peer's name.
    Name,
    /// The certificate comes from an unknown authority, or is not valid in another way.
    Untrusted,
    /// Another reason, such as an alert of the peer.
    Other,
}

/// Returns the fault of TLS that has caused an error, if there is one.
pub fn fault(error: &io::Error) -> Option<TlsFault> {
    use rustls::CertificateError::{
        Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet,
        NotValidYetContext,
    };
    let fault = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(match fault {
        rustls::Error::InvalidCertificate(why) => match why {
            Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. } => {
                TlsFault::Expired
            }
            NotValidForName | NotValidForNameContext { .. } => TlsFault::Name,
            _ => TlsFault::Untrusted,
        },
        _ => TlsFault::Other,
    })
}
