//! Servers that do what they are told.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use super::{TIMEOUT, Target, probe};

/// What a server does once it has read the request.
#[derive(Clone, Debug)]
pub enum Step {
    Send(Vec<u8>),
    /// A packet for each of the pieces, one every so many milliseconds.
    Trickle(Vec<&'static str>, u64),
    /// The same bytes over and over, thousands at once.
    SendForever(&'static [u8]),
    /// Ends its side only, and keeps reading.
    HalfClose,
    /// Keeps the connection open until the other side ends it.
    Hold,
    Reset,
}

pub fn send(text: impl AsRef<[u8]>) -> Step {
    Step::Send(text.as_ref().to_vec())
}

/// The address of a server that goes through `steps` on every connection.
pub async fn serve(steps: Vec<Step>) -> io::Result<SocketAddr> {
    serve_by(move |_| steps.clone()).await
}

/// The address of a server that goes through the steps for the path that it is asked for.
pub async fn serve_by(steps: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(accept_all(listener, steps));
    Ok(address)
}

pub async fn accept_all(
    listener: TcpListener,
    steps: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static,
) -> io::Result<()> {
    let steps = Arc::new(steps);
    loop {
        let (mut stream, _) = listener.accept().await?;
        let steps = Arc::clone(&steps);
        tokio::spawn(async move {
            let path = read_request(&mut stream).await?;
            go_through(stream, |stream| stream, steps(&path)).await
        });
    }
}

/// The address of a server that goes through `steps` after whatever it is sent first.
pub async fn serve_whatever_is_sent(steps: Vec<Step>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        let _some = stream.read(&mut [0; 4096]).await?;
        go_through(stream, |stream| stream, steps).await
    });
    Ok(address)
}

/// The address of a TLS server with that certificate, which goes through `steps` on every connection.
pub async fn serve_tls(certificate: &str, steps: Vec<Step>) -> io::Result<SocketAddr> {
    let acceptor = acceptor(certificate, b"http/1.1");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await?;
        let mut stream = acceptor.accept(stream).await?;
        read_request(&mut stream).await?;
        go_through(stream, |stream: &TlsStream<TcpStream>| stream.get_ref().0, steps).await
    });
    Ok(address)
}

/// What makes a TLS server of a TCP server: the certificate in `tests/tls/`, and the protocol that it speaks.
pub fn acceptor(certificate: &str, protocol: &[u8]) -> TlsAcceptor {
    let file = |name: &str| format!("{}/tests/tls/{name}", env!("CARGO_MANIFEST_DIR"));
    let certificate = CertificateDer::from_pem_file(file(certificate)).unwrap();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = vec![protocol.to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

/// The path that is asked for, once the whole request has been read.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(String::from_utf8_lossy(&request).split(' ').nth(1).unwrap_or_default().to_owned())
}

/// The client may be gone at any step, which is its right.
async fn go_through<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    socket: impl Fn(&S) -> &TcpStream,
    steps: Vec<Step>,
) -> io::Result<()> {
    socket(&stream).set_nodelay(true)?;
    for step in steps {
        match step {
            Step::Send(bytes) => stream.write_all(&bytes).await?,
            Step::Trickle(pieces, pause) => {
                for piece in pieces {
                    stream.write_all(piece.as_bytes()).await?;
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                }
            }
            Step::SendForever(bytes) => {
                let many = bytes.repeat(4096 / bytes.len());
                loop {
                    stream.write_all(&many).await?;
                }
            }
            Step::HalfClose => stream.shutdown().await?,
            Step::Hold => {
                stream.read_to_end(&mut Vec::new()).await?;
            }
            Step::Reset => socket(&stream).set_zero_linger()?,
        }
    }
    Ok(())
}

/// An address that refuses connections, and the socket that keeps the port from being given to anybody else.
pub async fn refusing() -> io::Result<(SocketAddr, TcpSocket)> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    Ok((socket.local_addr()?, socket))
}

/// An address whose accept queue is full for as long as the sockets live.
pub async fn never_accepting() -> io::Result<(SocketAddr, (TcpListener, TcpStream))> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let listener = socket.listen(0)?;
    let address = listener.local_addr()?;
    let queued = TcpStream::connect(address).await?;
    Ok((address, (listener, queued)))
}

/// Fails if an attempt reads for as long as it is sent something: `head`, and then `more` for ever.
pub async fn assert_little_is_read(what: &str, ask: impl Fn(SocketAddr) -> Target, head: &[u8], more: &[u8]) {
    /// What neither side keeps in a buffer of its sockets was read.
    const SOCKET_BUFFERS: usize = 8 << 20;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let target = ask(listener.local_addr().unwrap());
    let (head, more) = (head.to_vec(), more.repeat(4096 / more.len()));
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _some = stream.read(&mut [0; 4096]).await.unwrap();
        stream.write_all(&head).await.unwrap();
        let mut sent = 0;
        while stream.write_all(&more).await.is_ok() {
            sent += more.len();
        }
        sent
    });
    probe::attempt(&target, TIMEOUT).await;
    let sent = server.await.unwrap();
    assert!(sent < SOCKET_BUFFERS, "{sent} bytes of {what}");
}
