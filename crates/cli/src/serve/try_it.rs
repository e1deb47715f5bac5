//! Commands to try on a server with the built-in example, with their output.

use std::net::SocketAddr;

use slidegate_server::config::HeaderStyle;

use super::listener::from_loopback;

/// A command and its output on a fresh server.
pub(super) struct TryItCommand {
    pub(super) title: &'static str,
    pub(super) command: String,
    pub(super) output: Vec<String>,
}

/// The server to try, as far as the commands depend on it.
pub(super) struct TryItServer {
    pub(super) address: SocketAddr,
    pub(super) headers: HeaderStyle,
    pub(super) needs_token: bool,
}

impl TryItServer {
    /// The commands in order: the output of each assumes the ones before.
    pub(super) fn commands(&self) -> [TryItCommand; 4] {
        let first = self.login("203.0.113.7", "");
        let second = self.login("203.0.113.8", "");
        let five = self.login("203.0.113.8", r#","cost":5"#);
        let filter = "| grep -iE '^(http|rate|x-rate|retry)'";
        [
            TryItCommand {
                title: "A login. The rule `login` allows five a minute from one address.",
                command: format!("curl -si {first} {filter}"),
                output: self.head("HTTP/1.1 200 OK", 4),
            },
            TryItCommand {
                title: "Five more. Four fit.",
                command: format!(
                    "for i in 1 2 3 4 5; do curl -so /dev/null -w '%{{http_code}} ' {first}; done; echo"
                ),
                output: vec!["200 200 200 200 429".to_owned()],
            },
            TryItCommand {
                title: "Another address uses all five at once. The next request is denied, with the time to retry.",
                command: format!("curl -so /dev/null {five}; \\\ncurl -si {second} {filter}"),
                output: {
                    let mut lines = self.head("HTTP/1.1 429 Too Many Requests", 0);
                    lines.push("retry-after: 60".to_owned());
                    lines
                },
            },
            TryItCommand {
                title: "The same check for RLAAS clients.",
                command: format!("curl -s{} '{}/check?userId=alice'; echo", self.token(), self.url()),
                output: vec![r#"{"allowed":true,"currentCount":1,"ttl":60}"#.to_owned()],
            },
        ]
    }

    /// Arguments of curl that check a login from this address.
    fn login(&self, ip: &str, more: &str) -> String {
        let (token, url) = (self.token(), self.url());
        let attributes = format!(r#"{{"attributes":{{"method":"POST","path":"/login","ip":"{ip}"}}{more}}}"#);
        format!("{url}/v1/check{token} -H 'content-type: application/json' \\\n  -d '{attributes}'")
    }

    /// URL for programs on this machine.
    fn url(&self) -> String {
        format!("http://{}", from_loopback(self.address))
    }

    fn token(&self) -> &'static str {
        if self.needs_token { " -H \"authorization: Bearer $SLIDEGATE_TOKEN\"" } else { "" }
    }

    /// Status line and rate limit headers of a response by the rule `login`.
    fn head(&self, status: &str, remaining: u64) -> Vec<String> {
        let plain = |prefix: &str| {
            let values = [("limit", 5), ("remaining", remaining), ("reset", 60)];
            values.map(|(name, value)| format!("{prefix}ratelimit-{name}: {value}")).to_vec()
        };
        let headers = match self.headers {
            HeaderStyle::Draft => vec![
                r#"ratelimit-policy: "login-5/min";q=5;w=60"#.to_owned(),
                format!(r#"ratelimit: "login-5/min";r={remaining};t=60"#),
            ],
            HeaderStyle::Legacy => plain(""),
            HeaderStyle::XRateLimit => plain("x-"),
            HeaderStyle::None => Vec::new(),
        };
        std::iter::once(status.to_owned()).chain(headers).collect()
    }
}
