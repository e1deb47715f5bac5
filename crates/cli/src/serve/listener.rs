//! The address that a server listens at.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use miette::{Report, miette};
use tokio::net::{TcpListener, TcpSocket};

/// How many connections the system keeps for us until they are taken; it may keep fewer.
const BACKLOG: u32 = 4_096;
/// Bytes of answers that the system keeps for a connection until its client takes them; Linux keeps twice as many, and without a bound
/// megabytes. Answers are much shorter.
const SEND_BUFFER_BYTES: u32 = 128 << 10;

/// What to do if another program has the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IfTaken {
    Fail,
    /// Nobody asked for that port: any that is free is as good.
    AnyOther,
}

/// The address as programs on this machine reach it.
pub(super) fn from_here(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let loopback =
            if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    address
}

/// Takes the address that a flag could change; what can be done about it if it cannot be had.
pub(super) fn bind(address: SocketAddr, flag: &str, if_taken: IfTaken) -> Result<TcpListener, Report> {
    let listener = match listen(address) {
        Err(error) if error.kind() == ErrorKind::AddrInUse && if_taken == IfTaken::AnyOther => {
            listen(SocketAddr::new(address.ip(), 0))
        }
        listener => listener,
    };
    listener.map_err(|error| {
        let port = address.port();
        let help = match error.kind() {
            ErrorKind::AddrInUse => format!(
                "another program has port {port}: end it, or choose another one with {flag} {}:{}",
                address.ip(),
                port.wrapping_add(1).max(1024)
            ),
            ErrorKind::PermissionDenied => {
                format!("port {port} is for root: choose one above 1023 with {flag}")
            }
            ErrorKind::AddrNotAvailable => {
                format!(
                    "{} is no address of this machine: 127.0.0.1 is, and 0.0.0.0 stands for all",
                    address.ip()
                )
            }
            _ => format!("choose another address with {flag}"),
        };
        miette!(help = help, "cannot listen at {address}: {error}")
    })
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // What is left of connections of an earlier process is not in the way. Elsewhere it means that others may take the port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Connections have it from their listener.
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
    async fn another_port_is_taken_only_where_none_was_asked_for() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let taken = bind(any, "--http", IfTaken::Fail).expect("a port");
        let address = taken.local_addr().expect("an address");
        assert!(bind(address, "--http", IfTaken::Fail).is_err());
        let other = bind(address, "--http", IfTaken::AnyOther).expect("another port");
        let other = other.local_addr().expect("an address");
        assert_eq!((other.ip(), other.port() == address.port()), (address.ip(), false));
    }

    /// What the system takes of answers that nobody reads has a bound, too.
    #[tokio::test]
    async fn little_is_sent_to_one_who_does_not_read() {
        let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0)), "--http", IfTaken::Fail).expect("a port");
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4_096).expect("a socket");
        let address = listener.local_addr().expect("an address");
        let (client, accepted) = tokio::join!(socket.connect(address), listener.accept());
        let (_client, (stream, _)) = (client.expect("a connection"), accepted.expect("a connection"));
        let (mut taken_bytes, part) = (0, [0; 16 << 10]);
        while let Ok(Ok(())) = timeout(Duration::from_millis(200), stream.writable()).await {
            taken_bytes += stream.try_write(&part).unwrap_or_default();
        }
        assert!(taken_bytes <= 4 * SEND_BUFFER_BYTES as usize, "{taken_bytes} bytes were taken");
    }

    #[test]
    fn every_address_is_reached_by_one_of_this_machine() {
        for (bound, reached) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("10.1.2.3:80", "10.1.2.3:80"),
            ("127.0.0.2:80", "127.0.0.2:80"),
        ] {
            let bound = bound.parse().expect("an address");
            assert_eq!(from_here(bound).to_string(), reached);
        }
    }
}
