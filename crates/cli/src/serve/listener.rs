//! The address that a server listens at.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use miette::{Report, miette};
use tokio::net::{TcpListener, TcpSocket};

/// How many connections the system keeps for us until they are taken; it may keep fewer.
const BACKLOG: u32 = 4_096;

/// Takes the address that a flag could change; what can be done about it if it cannot be had.
pub(super) fn bind(address: SocketAddr, flag: &str) -> Result<TcpListener, Report> {
    listen(address).map_err(|error| {
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
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
