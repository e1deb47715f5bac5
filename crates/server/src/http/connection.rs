//! One connection: HTTP/1.1, requests one after the other.

use std::future::{Future, poll_fn};
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use slidegate::Clock;
use tokio::net::TcpStream;

use super::request_id::Ids;
use super::{Visit, answer};
use crate::app::App;
use crate::connections::{Connections, Order, Phase, Progress};

/// The most bytes of a connection that are kept before they are understood; a head has to fit.
const MAX_BUFFER_BYTES: usize = 64 << 10;

/// Answers the requests of a connection until it ends.
pub(crate) async fn serve<C: Clock + 'static>(
    app: Arc<App<C>>,
    stream: TcpStream,
    peer: IpAddr,
    connections: Arc<Connections>,
) {
    let progress = Progress::new();
    let ids = Ids::new(app.next_seed());
    let visit = Arc::new(Visit { app, peer, ids, progress: Arc::clone(&progress) });
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let visit = Arc::clone(&visit);
        // Taken apart here: every future that it would be moved through would have room for it.
        let (head, body) = request.into_parts();
        async move { Ok::<_, std::convert::Infallible>(answer(&visit, &head, body).await) }
    });
    let io = Watched { io: TokioIo::new(stream), progress: Arc::clone(&progress) };
    // Time-outs are the sweep's business; without a timer hyper has none of its own.
    let mut builder = http1::Builder::new();
    // Answers are small: to copy one behind its head costs less than to write it in two pieces.
    builder.max_buf_size(MAX_BUFFER_BYTES).writev(false);
    let mut connection = pin!(builder.serve_connection(io, service));
    let mut member = None;
    let mut finishing = false;
    poll_fn(|context| {
        member.get_or_insert_with(|| connections.join(Arc::clone(&progress), context.waker().clone()));
        match progress.order() {
            Order::Go => {}
            Order::Finish if finishing => {}
            Order::Finish => {
                finishing = true;
                connection.as_mut().graceful_shutdown();
            }
            Order::End => return Poll::Ready(()),
        }
        // How it ended is the client's business: it went away, or sent what is not HTTP and was told so.
        connection.as_mut().poll(context).map(drop)
    })
    .await;
}

/// Notes when the first bytes of a request come.
struct Watched {
    io: TokioIo<TcpStream>,
    progress: Arc<Progress>,
}

impl Read for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.io).poll_read(context, buffer);
        if read.is_ready() && self.progress.phase() == Phase::Idle {
            self.progress.enter(Phase::Head);
        }
        read
    }
}

impl Write for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }
}
