//! HTTP as plain as can be: one request, one connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    /// Whole lines, `name: value`.
    pub(crate) headers: &'a [&'a str],
    pub(crate) body: &'a str,
}

impl<'a> Request<'a> {
    pub(crate) fn get(target: &'a str) -> Self {
        Self { method: "GET", target, headers: &[], body: "" }
    }

    pub(crate) fn post(target: &'a str, body: &'a str) -> Self {
        Self { method: "POST", target, headers: &["content-type: application/json"], body }
    }

    pub(crate) fn send(&self, to: SocketAddr) -> Reply {
        let Self { method, target, headers, body } = self;
        let mut text = format!("{method} {target} HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\n");
        headers.iter().for_each(|header| text.extend([header, "\r\n"]));
        text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        let mut stream = TcpStream::connect(to).expect("the server listens");
        stream.write_all(text.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers in UTF-8");
        Reply::parse(&answer)
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
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

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}
