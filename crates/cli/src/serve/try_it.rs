//! What to try on a server with the built-in example, and what that prints.

use std::net::SocketAddr;

use slidegate::policy::file::HeaderStyle;

use super::listener::from_here;

/// A command, and what it prints on a fresh server.
pub(super) struct Try {
    pub(super) title: &'static str,
    pub(super) command: String,
    pub(super) prints: Vec<String>,
}

/// Where the server is, and how it was set.
pub(super) struct Target {
    pub(super) address: SocketAddr,
    pub(super) headers: HeaderStyle,
    pub(super) needs_token: bool,
}

impl Target {
    /// In an order that makes sense: each prints what it says if those before it were run, too.
    pub(super) fn tries(&self) -> [Try; 4] {
        let first = self.login("203.0.113.7", "");
        let second = self.login("203.0.113.8", "");
        let five = self.login("203.0.113.8", r#","cost":5"#);
        let show = "| grep -iE '^(http|rate|x-rate|retry)'";
        [
            Try {
                title: "A log-in. The rule `login` allows five a minute from one address.",
                command: format!("curl -si {first} {show}"),
                prints: self.head("HTTP/1.1 200 OK", 4),
            },
            Try {
                title: "Five more, of which four fit.",
                command: format!(
                    "for i in 1 2 3 4 5; do curl -so /dev/null -w '%{{http_code}} ' {first}; done; echo"
                ),
                prints: vec!["200 200 200 200 429".to_owned()],
            },
            Try {
                title: "All five at once from another address, and one more: it is told when to come again.",
                command: format!("curl -so /dev/null {five}; \\\ncurl -si {second} {show}"),
                prints: {
                    let mut lines = self.head("HTTP/1.1 429 Too Many Requests", 0);
                    lines.push("retry-after: 60".to_owned());
                    lines
                },
            },
            Try {
                title: "The same question as RLAAS asks it.",
                command: format!("curl -s{} '{}/check?userId=alice'; echo", self.token(), self.url()),
                prints: vec![r#"{"allowed":true,"currentCount":1,"ttl":60}"#.to_owned()],
            },
        ]
    }

    /// The arguments of curl that ask about a log-in from this address.
    fn login(&self, ip: &str, more: &str) -> String {
        let (token, url) = (self.token(), self.url());
        let attributes = format!(r#"{{"attributes":{{"method":"POST","path":"/login","ip":"{ip}"}}{more}}}"#);
        format!("{url}/v1/check{token} -H 'content-type: application/json' \\\n  -d '{attributes}'")
    }

    /// As it can be reached from this machine.
    fn url(&self) -> String {
        format!("http://{}", from_here(self.address))
    }

    fn token(&self) -> &'static str {
        if self.needs_token { " -H \"authorization: Bearer $SLIDEGATE_TOKEN\"" } else { "" }
    }

    /// The status line and the rate limit headers of an answer by the rule `login`.
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
