//! Stream that counts its bytes: a command that was never written cannot have run.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use redis::aio::AsyncStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::endpoint::{Address, RedisEndpoint, Transport};
use super::tls::RedisTls;

/// Bytes written and read, as an upper bound.
#[derive(Default, Debug)]
pub(super) struct Traffic {
    written: AtomicU64,
    read: AtomicU64,
}

impl Traffic {
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Acquire)
    }
}

/// Stream of any kind that counts its bytes.
pub(super) struct CountingStream {
    stream: Pin<Box<dyn AsyncStream + Send>>,
    traffic: Arc<Traffic>,
}

impl CountingStream {
    pub(super) async fn open(
        endpoint: &RedisEndpoint,
        tls: &RedisTls,
        traffic: Arc<Traffic>,
    ) -> Result<Self, String> {
        let stream: Pin<Box<dyn AsyncStream + Send>> = match (&endpoint.address, endpoint.transport) {
            (Address::Tcp { host, port }, Transport::Plain) => Box::pin(tcp(host, *port).await?),
            (Address::Tcp { host, port }, Transport::Tls) => {
                Box::pin(tls.wrap(host, tcp(host, *port).await?).await?)
            }
            (Address::Unix(path), _) => unix(path).await?,
        };
        Ok(Self { stream, traffic })
    }
}

async fn tcp(host: &str, port: u16) -> Result<TcpStream, String> {
    let stream = TcpStream::connect((host, port)).await.map_err(|error| error.to_string())?;
    // Batching happens above; Nagle's algorithm would only delay lone requests.
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    Ok(stream)
}

#[cfg(unix)]
async fn unix(path: &std::path::Path) -> Result<Pin<Box<dyn AsyncStream + Send>>, String> {
    let stream = tokio::net::UnixStream::connect(path).await.map_err(|error| error.to_string())?;
    Ok(Box::pin(stream))
}

#[cfg(not(unix))]
async fn unix(_path: &std::path::Path) -> Result<Pin<Box<dyn AsyncStream + Send>>, String> {
    Err("unix sockets are not supported on this system".to_owned())
}

impl AsyncRead for CountingStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = self.stream.as_mut().poll_read(context, buffer);
        self.traffic.read.fetch_add((buffer.filled().len() - before) as u64, Ordering::Release);
        result
    }
}

impl AsyncWrite for CountingStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = self.stream.as_mut().poll_write(context, bytes);
        // A write that failed counts too: under TLS, records may have left before the one that did
        // not.
        let count = match &result {
            Poll::Ready(Ok(count)) => *count,
            Poll::Ready(Err(_)) => bytes.len(),
            Poll::Pending => 0,
        };
        self.traffic.written.fetch_add(count as u64, Ordering::Release);
        result
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(context)
    }
}
