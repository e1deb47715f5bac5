//! The address that a server listens at.

use std::io::ErrorKind;
use std::net::SocketAddr;

use miette::{Report, miette};
use tokio::net::TcpListener;

/// Takes the address; what can be done about it if it cannot be had.
pub(super) async fn bind(address: SocketAddr) -> Result<TcpListener, Report> {
    TcpListener::bind(address).await.map_err(|error| {
        let port = address.port();
        let help = match error.kind() {
            ErrorKind::AddrInUse => format!(
                "another program has port {port}: end it, or choose another one with --http {}:{}",
                address.ip(),
                port.wrapping_add(1).max(1024)
            ),
            ErrorKind::PermissionDenied => {
                format!("port {port} is for root: choose one above 1023 with --http")
            }
            ErrorKind::AddrNotAvailable => {
                format!(
                    "{} is no address of this machine: 127.0.0.1 is, and 0.0.0.0 stands for all",
                    address.ip()
                )
            }
            _ => "choose another address with --http".to_owned(),
        };
        miette!(help = help, "cannot listen at {address}: {error}")
    })
}
