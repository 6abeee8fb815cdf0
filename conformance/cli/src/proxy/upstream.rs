//! Connections to the server behind the proxy.

use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::HeaderValue;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::interim::Rewritten;
use super::tee::{Tee, failed, failure};
use super::{AsyncStream, MOST_BUFFERED};
use animal_store_conformance::http::tls::{UnusableTls, configuration};
use animal_store_rules::trace::exchange::{Failure, FailureKind};

/// A server that cannot be reached with these settings.
#[derive(Debug, thiserror::Error)]
pub enum UnusableUpstream {
    /// The address is not that of a server.
    #[error("--to {0}: not an address such as https://api.example.com/v1")]
    Address(String),
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] UnusableTls),
}

/// The address of the server, and the settings of connections to it.
pub(super) struct Upstream {
    host: String,
    port: u16,
    /// The value of `Host`.
    pub(super) authority: HeaderValue,
    /// The path of the service, without a trailing slash.
    pub(super) base_path: String,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    pub(super) timeout: Duration,
}

impl Upstream {
    /// The server of a base URL.
    pub(super) fn new(base_url: &str, ca_certificates: &[u8], timeout: Duration) -> Result<Upstream, UnusableUpstream> {
        let unusable = || UnusableUpstream::Address(base_url.to_owned());
        let url = reqwest::Url::parse(base_url).map_err(|_| unusable())?;
        let bracketed = url.host_str().ok_or_else(unusable)?;
        let host = bracketed.trim_start_matches('[').trim_end_matches(']').to_owned();
        let authority = match url.port() {
            Some(port) => format!("{bracketed}:{port}"),
            None => bracketed.to_owned(),
        };
        let tls = match url.scheme() {
            "https" => {
                let name = ServerName::try_from(host.clone()).map_err(|_| unusable())?;
                Some((TlsConnector::from(Arc::new(configuration(ca_certificates, &[])?)), name))
            }
            _ => None,
        };
        Ok(Upstream {
            port: url.port_or_known_default().ok_or_else(unusable)?,
            authority: HeaderValue::from_str(&authority).map_err(|_| unusable())?,
            base_path: url.path().trim_end_matches('/').to_owned(),
            host,
            tls,
            timeout,
        })
    }

    /// Opens a connection.
    pub(super) async fn connect(&self) -> Result<SendRequest<Tee>, Failure> {
        let unconnected = |error: std::io::Error| failure(&error, FailureKind::Connect);
        let connecting = async {
            let addresses = tokio::net::lookup_host((self.host.as_str(), self.port)).await;
            let addresses: Vec<_> =
                addresses.map_err(|_| failed(FailureKind::Unresolved, "the host name does not resolve"))?.collect();
            let stream = TcpStream::connect(addresses.as_slice()).await.map_err(unconnected)?;
            let _without_delay = stream.set_nodelay(true);
            match &self.tls {
                None => handshake(stream).await,
                Some((connector, name)) => {
                    handshake(connector.connect(name.clone(), stream).await.map_err(unconnected)?).await
                }
            }
        };
        let connected = tokio::time::timeout(self.timeout, connecting).await;
        connected.unwrap_or_else(|_| Err(failed(FailureKind::Timeout, "no connection within the timeout")))
    }
}

async fn handshake(stream: impl AsyncStream) -> Result<SendRequest<Tee>, Failure> {
    let mut builder = http1::Builder::new();
    builder.preserve_header_case(true).max_buf_size(MOST_BUFFERED);
    let handshake = builder.handshake(TokioIo::new(Rewritten::to_server(stream))).await;
    let (sender, connection) = handshake.map_err(|error| failure(&error, FailureKind::Broken))?;
    // The connection ends with the sender, or when the server closes it.
    tokio::spawn(connection.with_upgrades());
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_authority_and_the_path_of_its_service() {
        let upstream = |url: &str| Upstream::new(url, &[], Duration::from_secs(1)).expect("an address");
        let plain = upstream("http://[::1]:8080/shop/v1");
        assert_eq!((plain.host.as_str(), plain.port, plain.base_path.as_str()), ("::1", 8080, "/shop/v1"));
        assert_eq!((plain.authority.to_str().ok(), plain.tls.is_some()), (Some("[::1]:8080"), false));
        let secure = upstream("https://api.example.com");
        assert_eq!((secure.port, secure.base_path.as_str(), secure.tls.is_some()), (443, "", true));
        assert!(matches!(
            Upstream::new("https://h/v1", b"no PEM", Duration::from_secs(1)),
            Err(UnusableUpstream::Tls(UnusableTls::Authorities))
        ));
    }
}
