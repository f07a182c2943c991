//! One connection that leaves nothing behind.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpSocket, TcpStream};

/// Connects. When the stream is dropped the connection is reset, so that neither side keeps a TIME_WAIT entry:
/// at thousands of attempts a second those would use up the ports and the connection tracking table.
pub(super) async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_zero_linger()?;
    socket.connect(address).await
}

/// A socket that happens to connect from the very port it connects to is connected with itself: on an address of this
/// machine that looks like a listener where there is none. Whoever goes on to ask hears only itself, and needs no check.
pub(super) fn not_to_itself(stream: TcpStream, address: SocketAddr) -> io::Result<TcpStream> {
    if stream.local_addr()? == address { Err(io::ErrorKind::ConnectionRefused.into()) } else { Ok(stream) }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[tokio::test]
    async fn a_socket_connected_with_itself_is_a_refused_connection() {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let itself = socket.local_addr().unwrap();
        let stream = socket.connect(itself).await.unwrap();
        assert_eq!(not_to_itself(stream, itself).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
