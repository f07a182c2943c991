//! TLS over a connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::Error;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::api::Tls;

/// Shakes hands. A server without a name is met by its address, which is not sent.
pub(super) async fn handshake(stream: TcpStream, tls: &Tls, address: SocketAddr) -> io::Result<TlsStream<TcpStream>> {
    let name = tls.server_name().cloned().unwrap_or_else(|| ServerName::from(address.ip()));
    TlsConnector::from(Arc::clone(tls.config())).connect(name, stream).await
}

/// Whether a connection broke because the server's certificate was not believed.
pub(super) fn is_distrust(error: &io::Error) -> bool {
    let error = error.get_ref().and_then(|error| error.downcast_ref());
    matches!(error, Some(Error::InvalidCertificate(_)))
}
