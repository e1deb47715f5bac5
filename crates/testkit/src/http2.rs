//! HTTP/2 frames by their bytes, for clients that violate the protocol.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Connection preface.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Type of a DATA frame.
pub const DATA: u8 = 0;
/// Type of a HEADERS frame.
pub const HEADERS: u8 = 1;
/// Type of an RST_STREAM frame.
pub const RST_STREAM: u8 = 3;
/// Type of a SETTINGS frame.
pub const SETTINGS: u8 = 4;
/// Type of a PING frame.
pub const PING: u8 = 6;
/// Type of a GOAWAY frame.
pub const GOAWAY: u8 = 7;
/// Type of a WINDOW_UPDATE frame.
pub const WINDOW_UPDATE: u8 = 8;
/// Type of a CONTINUATION frame.
pub const CONTINUATION: u8 = 9;
/// Flag ACK.
pub const ACK: u8 = 1;
/// Flag END_STREAM.
pub const END_STREAM: u8 = 1;
/// Flag END_HEADERS.
pub const END_HEADERS: u8 = 4;
/// Error code REFUSED_STREAM.
pub const REFUSED_STREAM: u32 = 7;
/// Error code CANCEL.
pub const CANCEL: u32 = 8;
/// Error code ENHANCE_YOUR_CALM.
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// HTTP/2 frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Http2Frame {
    /// Type.
    pub kind: u8,
    /// Flags.
    pub flags: u8,
    /// Stream identifier.
    pub stream: u32,
    /// Payload.
    pub payload: Vec<u8>,
}

impl Http2Frame {
    /// Big-endian number at an offset of the payload.
    ///
    /// # Panics
    /// If the payload is too short.
    pub fn number(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.payload[at..at + 4].try_into().expect("four bytes"))
    }
}

/// Bytes of a frame.
///
/// # Panics
/// If the payload is longer than a frame can be.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a length").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// SETTINGS frame with one setting.
pub fn setting(id: u16, value: u32) -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
}

/// Header block of a gRPC call, as literals without indexing.
pub fn head(path: &str) -> Vec<u8> {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "test"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    fields.iter().flat_map(|(name, value)| field(name, value.as_bytes())).collect()
}

/// Header field as a literal without indexing.
pub fn field(name: &str, value: &[u8]) -> Vec<u8> {
    let text = |bytes: &[u8]| {
        let mut text = length(bytes.len());
        text.extend_from_slice(bytes);
        text
    };
    [vec![0], text(name.as_bytes()), text(value)].concat()
}

/// Length of a string literal in HPACK.
fn length(mut length: usize) -> Vec<u8> {
    if length < 127 {
        return vec![length as u8];
    }
    let mut bytes = vec![127];
    length -= 127;
    while length >= 128 {
        bytes.push((length % 128) as u8 | 128);
        length /= 128;
    }
    bytes.push(length as u8);
    bytes
}

/// Connection that sends and receives frames.
pub struct Raw(
    /// The socket.
    pub TcpStream,
);

impl Raw {
    /// Connects without sending anything.
    ///
    /// # Panics
    /// If nobody listens.
    pub async fn connect(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.expect("a connection"))
    }

    /// [`Self::connect`], then the preface and settings.
    ///
    /// # Panics
    /// If nobody listens.
    pub async fn greeted(address: SocketAddr, settings: &[u8]) -> Self {
        let mut raw = Self::connect(address).await;
        let settings = if settings.is_empty() { frame(SETTINGS, 0, 0, &[]) } else { settings.to_vec() };
        raw.write(&[PREFACE, &settings].concat()).await;
        raw
    }

    /// Sends bytes.
    ///
    /// # Panics
    /// If the connection has ended.
    pub async fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.expect("it takes bytes");
    }

    /// Next frame; `None` at the end of the connection.
    pub async fn next(&mut self) -> Option<Http2Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).await.ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.0.read_exact(&mut payload).await.ok()?;
        Some(Http2Frame { kind, flags, stream: u32::from_be_bytes(stream), payload })
    }

    /// Next frame of this type that is no acknowledgement.
    pub async fn next_of(&mut self, kind: u8) -> Option<Http2Frame> {
        loop {
            let frame = self.next().await?;
            if frame.kind == kind && (kind != SETTINGS && kind != PING || frame.flags & ACK == 0) {
                return Some(frame);
            }
        }
    }
}
