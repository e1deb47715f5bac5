//! `slidegate test`: runs the tests of policies.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use miette::{Report, miette};
use slidegate_tune::policy_test::{self, TestFile, TestFileResult};

use crate::policy::{self, LoadedPolicy, PolicyDiagnostics};
use crate::{exit, stdout};

mod render;

/// Test a policy: send requests at given times, and compare the answers with what is expected.
///
/// A test file names its policy and lists tests: steps with a time, attributes and an expected
/// answer. Each test starts with an empty store, and time is simulated: an hour takes no time.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate test policy.test.yaml
  slidegate test tests/*.yaml --policy new.yaml --junit results.xml

A test file:
  policy: policy.yaml
  tests:
    - name: five logins a minute
      steps:
        - { at: 0s, times: 5, with: { method: POST, path: /login, ip: 203.0.113.7 }, expect: allowed }
        - { at: 1s, with: { method: POST, path: /login, ip: 203.0.113.7 }, expect: { denied: [login] } }

Exit codes:
  0  all tests passed
  1  a test failed
  2  invalid arguments, or a file is invalid or cannot be read: no test was run")]
pub(crate) struct TestArgs {
    /// Test files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Policy file to test instead of those that the test files name.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Write the results as JUnit XML to this file.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print JSON, for errors too.
    #[arg(long)]
    json: bool,
}

/// Test file with its policy.
struct LoadedTests {
    name: String,
    file: TestFile,
    policy: LoadedPolicy,
}

pub(crate) fn run(args: &TestArgs) -> miette::Result<ExitCode> {
    let mut loaded = Vec::with_capacity(args.files.len());
    for path in &args.files {
        match load(path, args.policy.as_deref()) {
            Ok(tests) => loaded.push(tests),
            Err(error) => return invalid(args, &error),
        }
    }
    let results: Vec<TestFileResult> = loaded.into_iter().map(run_file).collect();
    if let Some(path) = &args.junit {
        std::fs::write(path, policy_test::junit(&results)).map_err(|error| {
            miette!(help = "choose another file for --junit", "cannot write {}: {error}", path.display())
        })?;
    }
    stdout::print(&if args.json {
        format!("{}\n", render::json(&results))
    } else {
        render::results(&results)
    })?;
    let failed = results.iter().any(|file| file.failed() > 0);
    Ok(if failed { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
}

fn run_file(LoadedTests { name, file, policy }: LoadedTests) -> TestFileResult {
    let policy_name = policy.origin.to_string();
    let policy = &policy.config.policy;
    let tests = file.tests.iter().map(|test| policy_test::run(policy, test)).collect();
    TestFileResult::new(name, policy_name, policy, tests)
}

/// Prints the errors of a file. No test is run then.
fn invalid(args: &TestArgs, error: &Report) -> miette::Result<ExitCode> {
    if args.json {
        stdout::print(&format!(
            "{}\n",
            serde_json::json!({ "valid": false, "errors": policy::errors(error) })
        ))?;
    } else {
        match error.downcast_ref::<PolicyDiagnostics>() {
            Some(diagnostics) => anstream::eprint!("{}", diagnostics.render()),
            None => anstream::eprintln!("{error:?}"),
        }
    }
    Ok(ExitCode::from(exit::USAGE))
}

fn load(path: &Path, policy: Option<&Path>) -> Result<LoadedTests, Report> {
    let name = path.display().to_string();
    let text =
        policy::read(path, "a test file names its policy and lists tests: see `slidegate test --help`")?;
    let invalid = |errors| Report::from(PolicyDiagnostics::new(&name, &errors));
    let file = TestFile::parse(&name, &text).map_err(invalid)?;
    let policy = match (policy, &file.policy) {
        (Some(path), _) => policy::load(path)?,
        (None, Some(relative)) => policy::load(&path.with_file_name(relative))?,
        (None, None) => {
            let help = "add `policy: policy.yaml` to the file, or pass --policy";
            return Err(miette!(help = help, "{name} names no policy"));
        }
    };
    file.check_rules(&policy.config.policy).map_err(invalid)?;
    Ok(LoadedTests { name, file, policy })
}
