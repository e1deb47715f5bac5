//! Response, as far as the load generator reads it: its content and its end.

/// Expected response.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Beginning of the status line, checked in every response.
    pub status: &'static str,
    /// Text in the body, checked before the measurement.
    pub says: &'static str,
}

/// Length of the first response in these bytes, if it is complete.
pub fn length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let body = bytes[..head]
        .split(|&byte| byte == b'\n')
        .find_map(content_length)
        .expect("answers tell their length");
    (bytes.len() >= head + body).then_some(head + body)
}

fn content_length(line: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    let (name, value) = line.split_at_checked(NAME.len())?;
    if !name.eq_ignore_ascii_case(NAME) {
        return None;
    }
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::length;

    #[test]
    fn an_answer_ends_where_its_body_does() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\ndate: now\r\n\r\n{}";
        assert_eq!(length(answer), Some(answer.len()));
        for cut in 0..answer.len() {
            assert_eq!(length(&answer[..cut]), None);
        }
        assert_eq!(length(&[answer, b"HTTP".as_slice()].concat()), Some(answer.len()));
    }
}
