//! Commands of clients that connect, and replies to invalid commands.

use crate::resp::client::{Client, Reply};
use crate::resp::service::{Kind, Service};

fn simple(text: &str) -> Reply {
    Reply::Simple(text.to_owned())
}

fn bulk(text: &str) -> Reply {
    Reply::Bulk(text.to_owned())
}

async fn connected() -> (Service, Client) {
    let service = Service::start(Kind::Memory, "rules: []").await;
    let client = service.client().await;
    (service, client)
}

#[tokio::test]
async fn small_talk() {
    let (_service, mut client) = connected().await;
    let rows = [
        ("PING", simple("PONG")),
        ("ping hello", bulk("hello")),
        ("ECHO hello", bulk("hello")),
        ("SELECT 0", simple("OK")),
        ("CLIENT SETNAME web-1", simple("OK")),
        ("CLIENT GETNAME", bulk("web-1")),
        ("CLIENT SETINFO LIB-NAME redis-py", simple("OK")),
        ("client setinfo lib-ver 5.0.1", simple("OK")),
        ("CLIENT NO-EVICT ON", simple("OK")),
        ("CLIENT NO-TOUCH off", simple("OK")),
        ("RESET", simple("RESET")),
        ("CLIENT GETNAME", Reply::Nothing),
        ("COMMAND COUNT", Reply::Integer(15)),
    ];
    for (command, reply) in rows {
        assert_eq!(client.say(command).await, reply, "{command}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_worded_as_redis_words_it() {
    let (_service, mut client) = connected().await;
    let rows = [
        ("GET", "ERR unknown command 'GET', with args beginning with: "),
        ("GET a b", "ERR unknown command 'GET', with args beginning with: 'a' 'b' "),
        ("PING a b", "ERR wrong number of arguments for 'ping' command"),
        ("ECHO", "ERR wrong number of arguments for 'echo' command"),
        ("SELECT 1", "ERR DB index is out of range"),
        ("SELECT x", "ERR value is not an integer or out of range"),
        ("CLIENT", "ERR wrong number of arguments for 'client' command"),
        ("CLIENT SETNAME", "ERR wrong number of arguments for 'client|setname' command"),
        ("CLIENT NONSENSE", "ERR unknown subcommand 'NONSENSE'. Try CLIENT HELP."),
        ("CLIENT SETINFO colour red", "ERR Unrecognized option 'colour'"),
        ("CLIENT NO-EVICT maybe", "ERR syntax error"),
        ("COMMAND NONSENSE", "ERR unknown subcommand 'NONSENSE'. Try COMMAND HELP."),
        ("COMMAND COUNT a", "ERR wrong number of arguments for 'command|count' command"),
        ("HELLO 4", "NOPROTO unsupported protocol version"),
        ("HELLO x", "ERR Protocol version is not an integer or out of range"),
        ("HELLO 3 SETNAME", "ERR Syntax error in HELLO option 'SETNAME'"),
        ("HELLO 3 NONSENSE a", "ERR Syntax error in HELLO option 'NONSENSE'"),
    ];
    for (command, error) in rows {
        assert_eq!(client.say(command).await.error(), error, "{command}");
    }
    let name = client.ask(&["CLIENT", "SETNAME", "two words"]).await;
    assert_eq!(name.error(), "ERR Client names cannot contain spaces, newlines or special characters.");
    let long = client.ask(&[&"x".repeat(300), &"y".repeat(300), "z"]).await;
    let error = format!(
        "ERR unknown command '{}', with args beginning with: '{}' ",
        "x".repeat(128),
        "y".repeat(128)
    );
    assert_eq!(long.error(), error);
    let ends = client.ask(&["a\r\n+OK", "b\nc"]).await;
    assert_eq!(ends.error(), "ERR unknown command 'a  +OK', with args beginning with: 'b c' ");
}

#[tokio::test]
async fn the_protocol_is_chosen() {
    let (_service, mut client) = connected().await;
    let Reply::Array(two) = client.say("HELLO").await else { panic!("a list") };
    assert_eq!(two.len(), 14);
    assert_eq!((&two[0], &two[1]), (&bulk("server"), &bulk("slidegate")));
    let Reply::Map(three) = client.say("HELLO 3 SETNAME web-2").await else { panic!("a map") };
    let Reply::Integer(id) = client.say("CLIENT ID").await else { panic!("a number") };
    let expected = [
        ("server", bulk("slidegate")),
        ("version", bulk(env!("CARGO_PKG_VERSION"))),
        ("proto", Reply::Integer(3)),
        ("id", Reply::Integer(id)),
        ("mode", bulk("standalone")),
        ("role", bulk("master")),
        ("modules", Reply::Array(Vec::new())),
    ];
    assert_eq!(three, expected.map(|(name, value)| (bulk(name), value)));
    assert_eq!(client.say("CLIENT GETNAME").await, bulk("web-2"));
    assert!(matches!(client.say("INFO").await, Reply::Verbatim(_)));
    // What cannot be done changes nothing.
    assert!(client.say("HELLO 2 SETNAME x NONSENSE").await.error().starts_with("ERR Syntax"));
    assert!(matches!(client.say("COMMAND DOCS ping").await, Reply::Map(_)));
    assert_eq!(client.say("CLIENT GETNAME").await, bulk("web-2"));
    assert!(matches!(client.say("HELLO 2").await, Reply::Array(_)));
    assert!(matches!(client.say("INFO").await, Reply::Bulk(_)));
}

#[tokio::test]
async fn commands_are_listed() {
    let (_service, mut client) = connected().await;
    let Reply::Array(names) = client.say("COMMAND LIST").await else { panic!("a list") };
    assert_eq!(names.len(), 15);
    let Reply::Array(all) = client.say("COMMAND").await else { panic!("a list") };
    let Reply::Array(info) = client.say("COMMAND INFO cl.throttle nothing PING").await else {
        panic!("a list")
    };
    assert_eq!((&info[1], info.len()), (&Reply::Nothing, 3));
    for (name, described) in names.iter().zip(&all) {
        let Reply::Array(fields) = described else { panic!("a list") };
        assert_eq!((&fields[0], fields.len()), (name, 10));
    }
    let Reply::Array(throttle) = &info[0] else { panic!("a list") };
    assert_eq!(throttle[3..6], [Reply::Integer(1), Reply::Integer(1), Reply::Integer(1)]);
    let Reply::Array(docs) = client.say("COMMAND DOCS sg.check nothing").await else { panic!("a list") };
    assert_eq!((&docs[0], docs.len()), (&bulk("sg.check"), 2));
}

#[tokio::test]
async fn the_server_tells_about_itself() {
    let (_service, mut client) = connected().await;
    client.say("CLIENT SETNAME web-3").await;
    let info = client.say("INFO").await.text().to_owned();
    for line in ["# Server", "redis_version:7.0.0", "loading:0", "role:master", "connected_clients:1"] {
        assert!(info.contains(&format!("{line}\r\n")), "{line}: {info}");
    }
    let clients = client.say("INFO clients").await.text().to_owned();
    assert_eq!(clients, "# Clients\r\nconnected_clients:1\r\n");
    let own = client.say("CLIENT INFO").await.text().to_owned();
    assert!(own.contains(" addr=127.0.0.1 name=web-3 db=0 ") && own.ends_with(" resp=2\n"), "{own}");
}

#[tokio::test]
async fn quitting_is_the_end() {
    let (_service, mut client) = connected().await;
    client.write(b"PING\r\nQUIT\r\nPING\r\n").await;
    assert_eq!([client.reply().await, client.reply().await], [simple("PONG"), simple("OK")]);
    assert!(client.is_ended().await);
}
