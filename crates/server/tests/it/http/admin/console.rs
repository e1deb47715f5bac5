//! The console as a browser gets it. What it does there is tested with a browser.

use super::{LOGIN, Operator, TOKEN, with_admin, with_token};
use crate::http::service::{Kind, Service};

const FILES: [(&str, &str); 3] = [
    ("/", "text/html; charset=utf-8"),
    ("/console/style.css", "text/css; charset=utf-8"),
    ("/console/console.js", "text/javascript; charset=utf-8"),
];

/// It holds no data, so that it can ask for the token.
#[tokio::test]
async fn it_is_there_for_everybody() {
    for policy in [with_admin(LOGIN), with_token(LOGIN)] {
        let service = Service::start(Kind::Memory, &policy).await;
        let mut operator = Operator::with(&service, Some(TOKEN)).await;
        operator.token = None;
        let mut bytes = 0;
        for (path, content_type) in FILES {
            let answer = operator.get(path).await;
            assert_eq!((answer.status, answer.header("content-type")), (200, Some(content_type)), "{path}");
            assert_eq!(operator.send("HEAD", path, &[], b"").await.status, 200, "{path}");
            bytes += answer.body.len();
        }
        assert!(bytes < 100_000, "{bytes} bytes");
        assert_eq!(
            operator.get("/console/none").await.status,
            if policy.contains("token") { 401 } else { 404 }
        );
        operator.token = Some(TOKEN);
        for (path, _) in FILES {
            let answer = operator.send("POST", path, &[("content-type", "application/json")], b"{}").await;
            assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{path}");
        }
    }
}

/// Nothing of it comes from elsewhere, nothing in it is a script but the script.
#[tokio::test]
async fn responses_have_strict_browser_headers() {
    let service = Service::start(Kind::Memory, &with_admin(LOGIN)).await;
    let mut operator = Operator::new(&service).await;
    for (path, _) in FILES {
        let answer = operator.get(path).await;
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        let text = String::from_utf8(answer.body).expect("UTF-8");
        let elsewhere = text.replace("http://www.w3.org/2000/svg", "");
        assert!(!elsewhere.contains("http://") && !elsewhere.contains("https://"), "{path}");
        assert!(
            !text.contains("innerHTML") && !text.contains(" style=") && !text.contains(" onclick"),
            "{path}"
        );
    }
}

/// What a browser has is not sent again.
#[tokio::test]
async fn what_is_cached_is_not_sent_again() {
    let service = Service::start(Kind::Memory, &with_admin(LOGIN)).await;
    let mut operator = Operator::new(&service).await;
    for (path, _) in FILES {
        let first = operator.get(path).await;
        let tag = first.header("etag").expect("a tag").to_owned();
        let rows = [
            (tag.clone(), 304),
            (format!("\"other\", {tag}"), 304),
            (format!("W/{tag}"), 304),
            ("*".to_owned(), 304),
            ("\"other\"".to_owned(), 200),
            (tag.trim_matches('"').to_owned(), 200),
        ];
        for (tags, status) in rows {
            let answer = operator.send("GET", path, &[("if-none-match", &tags)], b"").await;
            assert_eq!((answer.status, answer.header("etag")), (status, Some(&*tag)), "{path} {tags}");
            assert_eq!(answer.body.is_empty(), status == 304);
        }
    }
}
