//! Requests, written out before anything is measured.

/// Number of different requests, one per client.
pub const CLIENTS: u32 = 4096;

/// The bytes of many requests, one for each client, that are sent again and again.
#[derive(Debug)]
pub struct Requests {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    next: usize,
}

impl Requests {
    /// Request of each client.
    pub fn of(request: impl Fn(u32) -> Vec<u8>) -> Self {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for client in 0..CLIENTS {
            bytes.extend(request(client));
            ends.push(bytes.len());
        }
        Self { bytes, ends, next: 0 }
    }

    /// `POST` requests to a path, each with a body for a client.
    pub fn post(path: &str, body: impl Fn(u32) -> String) -> Self {
        Self::of(|client| {
            let body = body(client);
            let length = body.len();
            let request = format!(
                "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                 Content-Length: {length}\r\n\r\n{body}"
            );
            request.into_bytes()
        })
    }

    /// Checks of Slidegate, on paths by client.
    pub fn checks(path: impl Fn(u32) -> String) -> Self {
        Self::post("/v1/check", |client| {
            let (path, ip) = (path(client), address(client));
            format!(r#"{{"attributes":{{"method":"POST","path":"{path}","ip":"{ip}"}},"cost":1}}"#)
        })
    }

    /// The next one; after the last comes the first.
    pub fn take(&mut self) -> &[u8] {
        let start = if self.next == 0 { 0 } else { self.ends[self.next - 1] };
        let end = self.ends[self.next];
        self.next = (self.next + 1) % self.ends.len();
        &self.bytes[start..end]
    }
}

/// The address of a client.
pub fn address(client: u32) -> String {
    let [_, _, high, low] = client.to_be_bytes();
    format!("203.{}.{high}.{low}", client % 7)
}

#[cfg(test)]
mod tests {
    use super::{CLIENTS, Requests, address};

    #[test]
    fn after_the_last_comes_the_first() {
        let mut requests = Requests::post("/x", |client| client.to_string());
        let first = requests.take().to_vec();
        assert!(first.ends_with(b"Content-Length: 1\r\n\r\n0"));
        for _ in 1..CLIENTS {
            assert_ne!(requests.take(), first);
        }
        assert_eq!(requests.take(), first);
    }

    #[test]
    fn every_client_has_an_address() {
        let all: std::collections::HashSet<String> = (0..CLIENTS).map(address).collect();
        assert_eq!(all.len(), CLIENTS as usize);
    }
}
