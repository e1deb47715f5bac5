//! Frames of HTTP/2, as much of them as the load needs.

/// Bytes of a frame before its payload.
pub const HEAD_BYTES: usize = 9;

/// Connection preface.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Part of a body.
pub const DATA: u8 = 0;
/// A head, or what follows a body.
pub const HEADERS: u8 = 1;
/// A stream has failed.
pub const RESET: u8 = 3;
/// Type of a SETTINGS frame.
pub const SETTINGS: u8 = 4;
/// A question that has to be repeated.
pub const PING: u8 = 6;
/// The connection ends.
pub const GOAWAY: u8 = 7;
/// More may be sent.
pub const WINDOW_UPDATE: u8 = 8;

/// Flag ACK of SETTINGS and PING frames.
pub const ACK: u8 = 1;
/// Flag END_STREAM.
pub const END_STREAM: u8 = 1;
/// Flag END_HEADERS.
pub const END_HEADERS: u8 = 4;

/// A frame in the bytes that came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// Type.
    pub kind: u8,
    /// More of that.
    pub flags: u8,
    /// Stream identifier.
    pub stream: u32,
    /// Payload.
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The first frame in these bytes, if all of it is there, and what follows it.
    pub fn first(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
        let &[high, middle, low, kind, flags, ..] = head else { return None };
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        let (payload, rest) = rest.split_at_checked(length)?;
        let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
        Some((Self { kind, flags, stream, payload }, rest))
    }

    /// Writes it.
    pub fn put(&self, into: &mut Vec<u8>) {
        let length = u32::try_from(self.payload.len()).expect("a frame is short");
        into.extend_from_slice(&length.to_be_bytes()[1..]);
        into.extend_from_slice(&[self.kind, self.flags]);
        into.extend_from_slice(&self.stream.to_be_bytes());
        into.extend_from_slice(self.payload);
    }
}

#[cfg(test)]
mod tests {
    use super::{ACK, DATA, END_STREAM, Frame, PING};

    #[test]
    fn what_is_written_is_read() {
        let frames = [
            Frame { kind: PING, flags: ACK, stream: 0, payload: b"12345678" },
            Frame { kind: DATA, flags: END_STREAM, stream: 77_777, payload: &[7; 70_000] },
        ];
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.put(&mut bytes));
        let (first, rest) = Frame::first(&bytes).expect("a frame");
        assert_eq!(first, frames[0]);
        let (second, rest) = Frame::first(rest).expect("a frame");
        assert_eq!((second, rest), (frames[1], &[][..]));
        for cut in 0..17 {
            assert_eq!(Frame::first(&bytes[..cut]), None);
        }
    }
}
