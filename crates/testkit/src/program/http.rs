//! Minimal HTTP client: one request per connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

/// HTTP request.
#[derive(Clone, Copy)]
pub struct HttpRequest<'a> {
    /// Method.
    pub method: &'a str,
    /// Path and query.
    pub target: &'a str,
    /// Whole lines, `name: value`.
    pub headers: &'a [&'a str],
    /// Body.
    pub body: &'a str,
}

impl<'a> HttpRequest<'a> {
    /// `GET` without headers.
    pub fn get(target: &'a str) -> Self {
        Self { method: "GET", target, headers: &[], body: "" }
    }

    /// `POST` of JSON.
    pub fn post(target: &'a str, body: &'a str) -> Self {
        Self { method: "POST", target, headers: &["content-type: application/json"], body }
    }

    /// Sends the request on a connection of its own, and waits for the response.
    ///
    /// # Panics
    /// If no HTTP response in UTF-8 comes back.
    pub fn send(&self, to: SocketAddr) -> HttpReply {
        let Self { method, target, headers, body } = self;
        let mut text = format!("{method} {target} HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\n");
        headers.iter().for_each(|header| text.extend([header, "\r\n"]));
        text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        let mut stream = TcpStream::connect(to).expect("the server listens");
        stream.write_all(text.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers in UTF-8");
        HttpReply::parse(&answer)
    }
}

/// HTTP response.
#[derive(Debug)]
pub struct HttpReply {
    /// Status code.
    pub status: u16,
    headers: Vec<(String, String)>,
    /// Body.
    pub body: String,
}

impl HttpReply {
    fn parse(answer: &str) -> Self {
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status line");
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(": ").expect("a header");
            (name.to_ascii_lowercase(), value.to_owned())
        });
        Self { status: status.parse().expect("a status"), headers: headers.collect(), body: body.to_owned() }
    }

    /// First header with this name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Headers in their order, with names in lower case.
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// Body parsed as JSON.
    ///
    /// # Panics
    /// If the body is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}
