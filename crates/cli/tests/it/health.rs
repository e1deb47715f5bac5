//! `slidegate health`: one line, and 0 or 1.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use slidegate_testkit::program::{Ended, ServerProcess, command, run};

/// A server that gives this answer once, and hands back what it was asked.
fn answers(answer: &'static str) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut request = [0; 4096];
        let read = stream.read(&mut request).expect("a request");
        stream.write_all(answer.as_bytes()).expect("it reads");
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    (url, thread)
}

#[test]
fn it_asks_a_running_server() {
    let server = ServerProcess::start(&["--token", "correct-horse-battery"]);
    // Who asks for health has no token.
    let ended = run(&["health", "--server", &server.url()]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.stdout.starts_with(&format!("ready: {}", server.url())), "{}", ended.stdout);
    assert_eq!(ended.stdout.lines().count(), 1, "{}", ended.stdout);
    let by_variable = command(&["health"]).env("SLIDEGATE_SERVER", server.url()).output().expect("it runs");
    assert_eq!(Ended::from(by_variable), ended);
}

#[test]
fn what_it_says_follows_from_the_answer() {
    let rows = [
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nready", 0, " ready"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 0, ""),
        ("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n{\r\n1\n}", 0, " {1}"),
        (
            "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 8\r\n\r\nstopping",
            1,
            ": 503 Service Unavailable stopping",
        ),
        ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", 1, ": 404 Not Found"),
    ];
    for (answer, code, end) in rows {
        let (url, thread) = answers(answer);
        let ended = run(&["health", "--url", &url]);
        assert!(thread.join().expect("it was asked").starts_with("GET /readyz HTTP/1.1\r\n"));
        let (stdout, stderr) =
            if code == 0 { (ended.stdout, ended.stderr) } else { (ended.stderr, ended.stdout) };
        let begin = if code == 0 { "ready: " } else { "not ready: " };
        assert_eq!((ended.code, stdout, stderr), (Some(code), format!("{begin}{url}{end}\n"), String::new()));
    }
}

#[test]
fn no_answer_is_not_ready() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let ended = run(&["health", "--server", &format!("http://{free}")]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.starts_with(&format!("not ready: http://{free}: cannot connect: ")),
        "{}",
        ended.stderr
    );
    // One that takes the question and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let ended = run(&["health", "--server", &url]);
    assert_eq!((ended.code, ended.stderr), (Some(1), format!("not ready: {url}: no response within 2 s\n")));
    assert_eq!(run(&["health", "--server", "nowhere"]).code, Some(2));
}
