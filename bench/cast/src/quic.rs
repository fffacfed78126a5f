//! Small program that transfers a file over quinn in one stream. Both ends hash the file.
//! TLS 1.3 uses AES-128-GCM, which is also the default cipher of `tailcut cast` with a key.

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

/// Size of a read from the file, in bytes.
const STEP: usize = 1 << 20;

fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites = vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256];
    Arc::new(provider)
}

fn transport() -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    // The windows are large, so that they do not limit the rate.
    config.send_window(16 << 20);
    config.stream_receive_window(VarInt::from_u32(16 << 20));
    config.receive_window(VarInt::from_u32(16 << 20));
    Arc::new(config)
}

fn other(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

fn run(work: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work)
}

pub fn receive(listen: SocketAddr, is_bare: bool) -> io::Result<()> {
    run(async {
        let own = rcgen::generate_simple_self_signed(vec!["bench".to_owned()]).map_err(other)?;
        let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
        let tls = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(other)?
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key.into())
            .map_err(other)?;
        let tls = QuicServerConfig::try_from(tls).map_err(other)?;
        let mut config = ServerConfig::with_crypto(Arc::new(tls));
        config.transport_config(transport());
        let endpoint = Endpoint::server(config, listen)?;
        let incoming = endpoint.accept().await.ok_or_else(|| other("closed"))?;
        let connection = incoming.await.map_err(other)?;
        let (mut answer, mut stream) = connection.accept_bi().await.map_err(other)?;
        let mut hasher = blake3::Hasher::new();
        // The chunks of the stream are joined into larger pieces.
        // Single chunks are too short for fast hashing with vector instructions.
        let mut piece = Vec::with_capacity(STEP);
        while let Some(chunk) = stream.read_chunk(1 << 18, true).await.map_err(other)? {
            if is_bare {
                continue;
            }
            piece.extend_from_slice(&chunk.bytes);
            if piece.len() >= STEP - (1 << 18) {
                hasher.update(&piece);
                piece.clear();
            }
        }
        hasher.update(&piece);
        answer
            .write_all(hasher.finalize().as_bytes())
            .await
            .map_err(other)?;
        answer.finish().map_err(other)?;
        connection.closed().await;
        Ok(())
    })
}

pub fn send(to: SocketAddr, path: &Path, is_bare: bool) -> io::Result<()> {
    run(async {
        let mut tls = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody))
            .with_no_client_auth();
        tls.enable_early_data = false;
        let tls = QuicClientConfig::try_from(tls).map_err(other)?;
        let mut config = ClientConfig::new(Arc::new(tls));
        config.transport_config(transport());
        let mut endpoint = Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
        endpoint.set_default_client_config(config);
        let connection = endpoint
            .connect(to, "bench")
            .map_err(other)?
            .await
            .map_err(other)?;
        let (mut stream, mut answer) = connection.open_bi().await.map_err(other)?;
        let mut file = std::fs::File::open(path)?;
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; STEP];
        if is_bare {
            let mut left = file.metadata()?.len();
            while left > 0 {
                let count = left.min(STEP as u64);
                stream
                    .write_all(&buffer[..count as usize])
                    .await
                    .map_err(other)?;
                left -= count;
            }
        } else {
            loop {
                let count = file.read(&mut buffer)?;
                if count == 0 {
                    break;
                }
                hasher.update(&buffer[..count]);
                stream.write_all(&buffer[..count]).await.map_err(other)?;
            }
        }
        stream.finish().map_err(other)?;
        let told = answer.read_to_end(32).await.map_err(other)?;
        connection.close(VarInt::from_u32(0), b"");
        endpoint.wait_idle().await;
        match told == hasher.finalize().as_bytes() {
            true => Ok(()),
            false => Err(other("the hashes differ")),
        }
    })
}

/// Verifier that accepts any certificate, because the identity of the peer does not matter in a measurement.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.3 only".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &provider().signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}
