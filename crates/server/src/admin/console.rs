//! Console: a page for operators at `/` of the admin listener, with one style sheet and one script.
//!
//! It contains no data, so it needs no token. It gets its data from the API, with the token.

use std::sync::LazyLock;

use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH, LINK,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, StatusCode};

use crate::protocols::problem::{Reply, reply};
use crate::runtime::reload::digest;

const PAGE: &str = include_str!("console/index.html");
const STYLE: &str = include_str!("console/style.css");
/// Script in parts, joined here: one request, and no build step.
const SCRIPT: &str = concat!(
    include_str!("console/text.js"),
    include_str!("console/page.js"),
    include_str!("console/chart.js"),
    include_str!("console/api.js"),
    include_str!("console/stream.js"),
    include_str!("console/history.js"),
    include_str!("console/store.js"),
    include_str!("console/live.js"),
    include_str!("console/lists.js"),
    include_str!("console/dialogs.js"),
    include_str!("console/attributes.js"),
    include_str!("console/policy.js"),
    include_str!("console/lookup.js"),
    include_str!("console/overrides.js"),
    include_str!("console/main.js"),
);

/// Content security policy: nothing from other origins, nothing inline, no frames, and no
/// conversion of text to markup (trusted types).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'";

static FILES: LazyLock<[ConsoleFile; 3]> = LazyLock::new(|| {
    [
        ConsoleFile::new("/", "text/html; charset=utf-8", PAGE),
        ConsoleFile::new("/console/style.css", "text/css; charset=utf-8", STYLE),
        ConsoleFile::new("/console/console.js", "text/javascript; charset=utf-8", SCRIPT),
    ]
});

/// File of the console.
struct ConsoleFile {
    path: &'static str,
    content_type: HeaderValue,
    text: &'static str,
    /// Hash of the text, as an entity tag.
    tag: HeaderValue,
}

impl ConsoleFile {
    fn new(path: &'static str, content_type: &'static str, text: &'static str) -> Self {
        let digest = digest(text.as_bytes());
        let tag = HeaderValue::try_from(format!("\"{}\"", &digest[..16])).expect("digits in quotes");
        Self { path, content_type: HeaderValue::from_static(content_type), text, tag }
    }

    fn reply(&self, headers: &HeaderMap) -> Reply {
        let mut answer = if self.is_cached(headers) {
            let mut unchanged = Reply::default();
            *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
            unchanged
        } else {
            reply(StatusCode::OK, self.content_type.clone(), Bytes::from_static(self.text.as_bytes()))
        };
        answer.headers_mut().insert(ETAG, self.tag.clone());
        answer.headers_mut().extend(fixed().map(|(name, value)| (name, HeaderValue::from_static(value))));
        answer
    }

    /// Whether the browser has this version.
    fn is_cached(&self, headers: &HeaderMap) -> bool {
        let named = headers
            .get_all(IF_NONE_MATCH)
            .iter()
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        let mut tags = named.map(|tag| tag.trim_ascii()).map(|tag| tag.strip_prefix(b"W/").unwrap_or(tag));
        tags.any(|tag| tag == self.tag.as_bytes() || tag == b"*")
    }
}

/// Headers of every file.
fn fixed() -> [(HeaderName, &'static str); 5] {
    [
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (LINK, "</openapi.json>; rel=\"service-desc\""),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ]
}

/// Response with the file at a path, if there is one.
pub(crate) fn file(path: &str, headers: &HeaderMap) -> Option<Reply> {
    FILES.iter().find(|file| file.path == path).map(|file| file.reply(headers))
}

/// Whether there is a file at a path.
pub(crate) fn has(path: &str) -> bool {
    FILES.iter().any(|file| file.path == path)
}
