//! Listening sockets of the server.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use miette::{Report, miette};
use tokio::net::{TcpListener, TcpSocket};

/// Connections that the system queues until the server accepts them; it may queue fewer.
const BACKLOG: u32 = 4_096;
/// Send buffer of a connection. Linux doubles it, and without a bound it grows to megabytes;
/// responses are much shorter.
const SEND_BUFFER_BYTES: u32 = 128 << 10;

/// Behaviour if another program uses the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WhenPortInUse {
    Fail,
    /// Bind any free port instead.
    PickAnother,
}

/// Address for programs on this machine: loopback, if the listener has all addresses.
pub(super) fn from_loopback(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let loopback =
            if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    address
}

/// Binds an address. The error suggests the flag that changes it.
pub(super) fn bind(address: SocketAddr, flag: &str, in_use: WhenPortInUse) -> Result<TcpListener, Report> {
    let listener = match listen(address) {
        Err(error) if error.kind() == ErrorKind::AddrInUse && in_use == WhenPortInUse::PickAnother => {
            listen(SocketAddr::new(address.ip(), 0))
        }
        listener => listener,
    };
    listener.map_err(|error| {
        let port = address.port();
        let help = match error.kind() {
            ErrorKind::AddrInUse => format!(
                "another program uses port {port}: stop it, or choose another port with {flag} {}:{}",
                address.ip(),
                port.wrapping_add(1).max(1024)
            ),
            ErrorKind::PermissionDenied => {
                format!("port {port} is reserved for root: choose one above 1023 with {flag}")
            }
            ErrorKind::AddrNotAvailable => {
                format!(
                    "this machine does not have the address {}: use 127.0.0.1, or 0.0.0.0 for all addresses",
                    address.ip()
                )
            }
            _ => format!("choose another address with {flag}"),
        };
        miette!(help = help, "cannot listen on {address}: {error}")
    })
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Ignores closed connections of an earlier process. On Windows it would let others take the
    // port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Connections inherit it from the listener.
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn another_port_is_picked_only_if_allowed() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let busy = bind(any, "--http", WhenPortInUse::Fail).expect("a port");
        let address = busy.local_addr().expect("an address");
        assert!(bind(address, "--http", WhenPortInUse::Fail).is_err());
        let other = bind(address, "--http", WhenPortInUse::PickAnother).expect("another port");
        let other = other.local_addr().expect("an address");
        assert_eq!((other.ip(), other.port() == address.port()), (address.ip(), false));
    }

    /// The system buffers a bounded part of responses that a client does not read.
    #[tokio::test]
    async fn the_send_buffer_is_bounded() {
        let listener =
            bind(SocketAddr::from(([127, 0, 0, 1], 0)), "--http", WhenPortInUse::Fail).expect("a port");
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4_096).expect("a socket");
        let address = listener.local_addr().expect("an address");
        let (client, accepted) = tokio::join!(socket.connect(address), listener.accept());
        let (_client, (stream, _)) = (client.expect("a connection"), accepted.expect("a connection"));
        let (mut buffer_bytes, part) = (0, [0; 16 << 10]);
        while let Ok(Ok(())) = timeout(Duration::from_millis(200), stream.writable()).await {
            buffer_bytes += stream.try_write(&part).unwrap_or_default();
        }
        assert!(buffer_bytes <= 4 * SEND_BUFFER_BYTES as usize, "{buffer_bytes} bytes were taken");
    }

    #[test]
    fn unspecified_addresses_become_loopback() {
        for (bound, reached) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("10.1.2.3:80", "10.1.2.3:80"),
            ("127.0.0.2:80", "127.0.0.2:80"),
        ] {
            let bound = bound.parse().expect("an address");
            assert_eq!(from_loopback(bound).to_string(), reached);
        }
    }
}
