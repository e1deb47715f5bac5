//! Buffer of the first requests: they teach the routes, and are counted afterwards.

use slidegate::Request;

/// Length of an attribute that a request lacks.
const ABSENT: u32 = u32::MAX;

/// Buffer of requests, of which only some attributes matter.
#[derive(Debug)]
pub(super) struct RequestBuffer {
    /// Names of the attributes that are stored.
    attributes: Vec<String>,
    requests: usize,
    max_requests: usize,
    max_bytes: usize,
    /// Requests one after the other: the time, whether it teaches, and each attribute after its
    /// length.
    bytes: Vec<u8>,
}

/// Request of the buffer.
#[derive(Debug)]
pub(super) struct BufferedRequest<'a> {
    pub(super) start_ms: u64,
    pub(super) role: RequestRole,
    pub(super) request: Request<'a>,
}

/// Whether a request teaches routes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RequestRole {
    /// It was answered: its path exists.
    Teaches,
    /// It is only counted.
    Counts,
}

impl RequestBuffer {
    pub(super) fn new(attributes: Vec<String>, max_requests: usize, max_bytes: usize) -> Self {
        Self { attributes, requests: 0, max_requests, max_bytes, bytes: Vec::new() }
    }

    /// Whether the next request has to be counted at once.
    pub(super) fn is_full(&self) -> bool {
        self.requests >= self.max_requests || self.bytes.len() >= self.max_bytes
    }

    pub(super) fn push(&mut self, request: &BufferedRequest<'_>) {
        self.bytes.extend(request.start_ms.to_le_bytes());
        self.bytes.push(u8::from(request.role == RequestRole::Teaches));
        for name in &self.attributes {
            let value = request
                .request
                .get(name)
                .filter(|value| u32::try_from(value.len()).is_ok_and(|n| n < ABSENT));
            let length = value.map_or(ABSENT, |value| value.len() as u32);
            self.bytes.extend(length.to_le_bytes());
            self.bytes.extend(value.unwrap_or_default().as_bytes());
        }
        self.requests += 1;
    }

    /// Requests in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = BufferedRequest<'_>> {
        let mut rest = &*self.bytes;
        std::iter::from_fn(move || self.read(&mut rest))
    }

    fn read<'a>(&'a self, rest: &mut &'a [u8]) -> Option<BufferedRequest<'a>> {
        let start_ms = u64::from_le_bytes(*take(rest)?);
        let role = if *take::<1>(rest)? == [1] { RequestRole::Teaches } else { RequestRole::Counts };
        let mut request = Request::new();
        for name in &self.attributes {
            let length = u32::from_le_bytes(*take(rest)?);
            if length != ABSENT {
                let (value, after) = rest.split_at_checked(length as usize)?;
                *rest = after;
                request.set(name.as_str(), std::str::from_utf8(value).ok()?);
            }
        }
        Some(BufferedRequest { start_ms, role, request })
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        let mut buffer = RequestBuffer::new(vec!["path".to_owned(), "ip".to_owned()], 3, 1 << 20);
        let requests = [
            Request::new().with("ip", "203.0.113.7").with("path", "/a").with("user", "left out"),
            Request::new().with("path", ""),
            Request::new(),
        ];
        for (index, request) in requests.into_iter().enumerate() {
            assert!(!buffer.is_full());
            let role = if index == 1 { RequestRole::Teaches } else { RequestRole::Counts };
            buffer.push(&BufferedRequest { start_ms: index as u64, role, request });
        }
        assert!(buffer.is_full());
        let found: Vec<_> = buffer
            .iter()
            .map(|BufferedRequest { start_ms, role, request }| {
                let value = |name| request.get(name).map(str::to_owned);
                (start_ms, role == RequestRole::Teaches, value("path"), value("ip"))
            })
            .collect();
        let text = |text: &str| Some(text.to_owned());
        let expected =
            [(0, false, text("/a"), text("203.0.113.7")), (1, true, text(""), None), (2, false, None, None)];
        assert_eq!(found, expected);
    }

    #[test]
    fn its_bytes_are_bounded() {
        let mut buffer = RequestBuffer::new(vec!["path".to_owned()], usize::MAX, 1 << 10);
        while !buffer.is_full() {
            let request = Request::new().with("path", "/a".repeat(40));
            buffer.push(&BufferedRequest { start_ms: 0, role: RequestRole::Counts, request });
        }
        assert!(buffer.bytes.len() < 1 << 11);
    }
}
