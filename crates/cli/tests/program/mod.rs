//! The real program: run to its end, or as a server that ends with the test.
#![allow(dead_code, unused_imports, reason = "every test uses a part of it")]

use std::process::{Command, Output, Stdio};

mod http;
mod page;
mod python;
mod server;
mod shell;

pub(crate) use http::{Reply, Request};
pub(crate) use page::{blocks, console, hold};
pub(crate) use python::python;
pub(crate) use server::Server;
pub(crate) use shell::{Step, run_all, steps};

/// What the program reads from the environment; none of it is to come from where the tests run.
const VARIABLES: [&str; 26] = [
    "SLIDEGATE_POLICY",
    "SLIDEGATE_HTTP",
    "SLIDEGATE_GRPC",
    "SLIDEGATE_RESP",
    "SLIDEGATE_REDIS",
    "SLIDEGATE_MAX_MEMORY",
    "SLIDEGATE_HEADERS",
    "SLIDEGATE_TOKEN",
    "SLIDEGATE_LOG",
    "SLIDEGATE_LOG_FORMAT",
    "SLIDEGATE_DEMO",
    "SLIDEGATE_SERVER",
    "SLIDEGATE_ADMIN",
    "SLIDEGATE_ADMIN_TOKEN",
    "SLIDEGATE_ADMIN_URL",
    "SLIDEGATE_CACERT",
    "SLIDEGATE_CERT",
    "SLIDEGATE_KEY",
    "OTEL_SDK_DISABLED",
    "OTEL_SERVICE_NAME",
    "OTEL_RESOURCE_ATTRIBUTES",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TIMEOUT",
    "OTEL_EXPORTER_OTLP_CERTIFICATE",
    "NO_COLOR",
    "CLICOLOR_FORCE",
];

/// The program with these arguments, and nothing else from outside.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slidegate"));
    command.args(arguments).stdin(Stdio::null());
    for name in VARIABLES {
        command.env_remove(name);
    }
    command
}

/// What it said when it ended, and how.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// Runs it to its end.
pub(crate) fn run(arguments: &[&str]) -> Ended {
    command(arguments).output().expect("slidegate can be started").into()
}

/// A file of this text, which is gone when it is dropped.
pub(crate) fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().expect("a temporary file");
    std::fs::write(file.path(), text).expect("it can be written");
    file
}

pub(crate) fn path(file: &tempfile::NamedTempFile) -> &str {
    file.path().to_str().expect("a path in UTF-8")
}
