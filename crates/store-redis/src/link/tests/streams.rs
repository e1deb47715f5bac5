//! Other ways than plain TCP.

use super::*;

#[cfg(unix)]
#[tokio::test]
async fn a_socket_file_will_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket").to_str().unwrap().to_owned();
    let server = FakeServer::start(&["--unixsocket", &path]).await;
    let link = RedisLink::new(&RedisConfig::parse(&format!("unix://{path}")).unwrap());
    assert_eq!(number(&link.call(count_one("k"), late()).await.unwrap()), 1);
    assert_eq!(server.count("k").await, 1);
}
