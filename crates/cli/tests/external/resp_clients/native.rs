//! What programs use of a client beside commands of their own.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use slidegate_testkit::program::python;

use crate::resp_clients::Service;
use crate::resp_clients::client::BOTH;
use crate::resp_clients::tools::{node, redis_cli};

fn holds(program: impl Fn() -> Command, script: &str) {
    for protocol in BOTH {
        let service = Service::start();
        let options =
            json!({ "host": "127.0.0.1", "port": service.at.port(), "protocol": protocol.number() });
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/external/resp_clients").join(script);
        let output = program().arg(script).arg(options.to_string()).output().expect("a client");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "all of it holds\n", "{protocol:?}: {output:?}");
    }
}

#[test]
fn of_redis_py() {
    holds(python, "native.py");
}

#[test]
fn of_ioredis() {
    holds(node, "native.js");
}

/// As people type it.
#[test]
fn of_redis_cli() {
    let service = Service::start();
    let rows: [(&[&str], &str); 6] = [
        (&["PING"], "PONG\n"),
        (
            &["--no-raw", "CL.THROTTLE", "user123", "15", "30", "60"],
            "1) (integer) 0\n2) (integer) 16\n3) (integer) 15\n4) (integer) -1\n5) (integer) 2\n",
        ),
        (&["-3", "--json", "SG.LIMIT", "alice", "5", "60000"], "[1,5,4,0,60000]\n"),
        (
            &["-r", "3", "--json", "-2", "SG.LIMIT", "bob", "5", "60000"],
            "[1,5,4,0,60000]\n[1,5,3,0,60000]\n[1,5,2,0,60000]\n",
        ),
        (&["--csv", "SG.LIMIT", "carol", "5", "60000"], "1,5,4,0,60000\n"),
        (&["QUIT"], "OK\n"),
    ];
    for (arguments, printed) in rows {
        let output = redis_cli(service.at).args(arguments).output().expect("redis-cli");
        assert_eq!(String::from_utf8_lossy(&output.stdout), printed, "{arguments:?}: {output:?}");
    }
    let url = format!("redis://127.0.0.1:{}/0", service.at.port());
    let output =
        redis_cli(service.at).args(["-u", &url, "ECHO", "by its address"]).output().expect("redis-cli");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "by its address\n", "{output:?}");
}
