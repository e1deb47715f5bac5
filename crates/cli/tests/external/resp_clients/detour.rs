//! A way to the service that can be cut, and that can lead elsewhere afterwards.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;

/// Listens until the test ends.
pub(crate) struct Detour {
    pub(crate) at: SocketAddr,
    way: Arc<Mutex<Way>>,
}

struct Way {
    to: SocketAddr,
    open: Vec<TcpStream>,
}

impl Detour {
    pub(crate) fn to(to: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("some port is free");
        let at = listener.local_addr().expect("a listener has an address");
        let way = Arc::new(Mutex::new(Way { to, open: Vec::new() }));
        let shared = Arc::clone(&way);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Nobody is there: the client sees its connection end.
                let _ = join(&client, &mut shared.lock());
            }
        });
        Self { at, way }
    }

    /// Ends all connections; new ones lead there.
    pub(crate) fn cut_and_lead_to(&self, to: SocketAddr) {
        let mut way = self.way.lock();
        way.to = to;
        for stream in way.open.drain(..) {
            // Its other end may have closed it.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// How many connections there are.
    pub(crate) fn connections(&self) -> usize {
        self.way.lock().open.len() / 2
    }
}

fn join(client: &TcpStream, way: &mut Way) -> io::Result<()> {
    let server = TcpStream::connect(way.to)?;
    for stream in [client, &server] {
        stream.set_nodelay(true)?;
        way.open.push(stream.try_clone()?);
    }
    for (from, to) in [(client, &server), (&server, client)] {
        let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
        std::thread::spawn(move || {
            // However it ended, the other side is to know.
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}
