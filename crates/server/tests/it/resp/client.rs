//! Client that sends exact bytes, and reads both versions of the protocol.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;

/// One connection.
pub(crate) struct Client(BufStream<TcpStream>);

/// What came back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reply {
    Simple(String),
    Error(String),
    Integer(i64),
    Bulk(String),
    Verbatim(String),
    Nothing,
    Array(Vec<Reply>),
    Set(Vec<Reply>),
    Map(Vec<(Reply, Reply)>),
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        Self(BufStream::new(stream))
    }

    /// A command, as clients send it, and its reply.
    pub(crate) async fn ask(&mut self, command: &[&str]) -> Reply {
        self.write(&bytes_of(command)).await;
        self.reply().await
    }

    /// The same in words between spaces.
    pub(crate) async fn say(&mut self, command: &str) -> Reply {
        self.ask(&command.split(' ').collect::<Vec<_>>()).await
    }

    /// The bytes of whatever it is.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.try_write(bytes).await.expect("a connection that takes bytes");
    }

    pub(crate) async fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await?;
        self.0.flush().await
    }

    pub(crate) async fn reply(&mut self) -> Reply {
        self.try_reply().await.expect("a reply")
    }

    pub(crate) async fn try_reply(&mut self) -> io::Result<Reply> {
        let line = self.line().await?;
        let rest = line[1..].to_owned();
        let number = || rest.parse::<i64>().unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Ok(match line.as_bytes()[0] {
            b'+' => Reply::Simple(rest),
            b'-' => Reply::Error(rest),
            b':' => Reply::Integer(number()),
            b'_' => Reply::Nothing,
            b'$' if number() == -1 => Reply::Nothing,
            b'$' => Reply::Bulk(self.text(number()).await?),
            b'=' => Reply::Verbatim(self.text(number()).await?),
            b'*' => Reply::Array(self.several(number()).await?),
            b'~' => Reply::Set(self.several(number()).await?),
            b'%' => {
                let mut both = self.several(2 * number()).await?.into_iter();
                let pair = || Some((both.next()?, both.next()?));
                Reply::Map(std::iter::from_fn(pair).collect())
            }
            _ => panic!("not a reply: {line:?}"),
        })
    }

    fn several(&mut self, count: i64) -> Pin<Box<dyn Future<Output = io::Result<Vec<Reply>>> + Send + '_>> {
        Box::pin(async move {
            let mut replies = Vec::new();
            for _ in 0..count {
                replies.push(self.try_reply().await?);
            }
            Ok(replies)
        })
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line).await?;
        let line = line.strip_suffix("\r\n").filter(|line| !line.is_empty());
        line.map(str::to_owned).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    async fn text(&mut self, bytes: i64) -> io::Result<String> {
        let mut text = vec![0; bytes as usize + 2];
        self.0.read_exact(&mut text).await?;
        assert!(text.ends_with(b"\r\n"), "{text:?}");
        text.truncate(bytes as usize);
        Ok(String::from_utf8(text).expect("a text"))
    }

    /// Whether the other side ends the connection, with nothing more to say.
    pub(crate) async fn is_ended(&mut self) -> bool {
        let mut rest = Vec::new();
        // A reset is an end too.
        let _reset = self.0.read_to_end(&mut rest).await;
        rest.is_empty()
    }
}

/// An array of bulk strings.
pub(crate) fn bytes_of(command: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", command.len()).into_bytes();
    for argument in command {
        bytes.extend(format!("${}\r\n{argument}\r\n", argument.len()).bytes());
    }
    bytes
}

impl Reply {
    /// The numbers of an array of nothing else.
    pub(crate) fn integers(&self) -> Vec<i64> {
        let Self::Array(replies) = self else { panic!("not an array: {self:?}") };
        let number = |reply: &Self| match reply {
            Self::Integer(number) => *number,
            other => panic!("not a number: {other:?}"),
        };
        replies.iter().map(number).collect()
    }

    /// Text of an error.
    pub(crate) fn error(&self) -> &str {
        match self {
            Self::Error(text) => text,
            other => panic!("not an error: {other:?}"),
        }
    }

    /// A text of any sort.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Simple(text) | Self::Bulk(text) | Self::Verbatim(text) => text,
            other => panic!("not a text: {other:?}"),
        }
    }
}
