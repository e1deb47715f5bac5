//! Bodies of requests, read up to a maximum size.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, EXPECT};
use hyper::{HeaderMap, StatusCode};

use crate::net::connections::Progress;
use crate::protocols::problem::Problem;

/// Maximum number of bytes of a body that is too large which are read and discarded, so that its
/// sender reads the response and may continue.
const MAX_DRAINED_BYTES: u64 = 4 << 20;

/// Reads a body of at most `max_bytes`. One that comes in one piece is not copied.
pub(crate) async fn read(
    headers: &HeaderMap,
    mut body: Incoming,
    max_bytes: usize,
    progress: &Progress,
) -> Result<Bytes, Problem> {
    if body.size_hint().lower() > max_bytes as u64 {
        // A client that sends `Expect` waits for a response before the body.
        if !headers.contains_key(EXPECT) {
            drain(body, progress).await;
        }
        return Err(too_large(max_bytes));
    }
    let Some(first) = next(&mut body).await? else { return Ok(Bytes::new()) };
    if body.is_end_stream() && first.len() <= max_bytes {
        return Ok(first);
    }
    let mut all = BytesMut::from(first);
    while all.len() <= max_bytes {
        match next(&mut body).await? {
            Some(more) => all.extend_from_slice(&more),
            None => return Ok(all.freeze()),
        }
    }
    drain(body, progress).await;
    Err(too_large(max_bytes))
}

async fn next(body: &mut Incoming) -> Result<Option<Bytes>, Problem> {
    while let Some(frame) = body.frame().await {
        let broken = |error| Problem::bad_request(format!("the body ended early: {error}"));
        // Trailers are ignored.
        if let Ok(data) = frame.map_err(broken)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// Discards the rest, or leaves it unread: the connection then ends with the response.
async fn drain(mut body: Incoming, progress: &Progress) {
    let mut left = MAX_DRAINED_BYTES;
    if body.size_hint().lower() > left {
        return progress.leave_unread();
    }
    while let Ok(Some(data)) = next(&mut body).await {
        match left.checked_sub(data.len() as u64) {
            Some(less) => left = less,
            None => return progress.leave_unread(),
        }
    }
}

fn too_large(max_bytes: usize) -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a body has at most {max_bytes} bytes"))
}

/// Checks that the content type, if there is one, is JSON.
pub(crate) fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(content_type) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let bytes = content_type.as_bytes();
    let media_type = bytes.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if media_type.eq_ignore_ascii_case(b"application/json") {
        return Ok(());
    }
    let sent = String::from_utf8_lossy(media_type);
    let detail = format!("the body is JSON: send Content-Type: application/json, not {sent:?}");
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}
