//! Broken policy files: each gives clear errors with places, and none a panic.

mod hostile;
mod render;
mod secrets;
mod table;
mod text_mutations;
mod valid;
pub(super) mod value_mutations;

use slidegate::policy::PolicyErrors;
use slidegate_server::Config;

fn parse(text: &str) -> Result<Config, PolicyErrors> {
    Config::parse("policy.yaml", text)
}

/// What has to be true of all errors about this text.
fn check(text: &str, errors: &PolicyErrors) {
    assert!(errors.iter().count() > 0);
    assert!(errors.count() >= errors.iter().count());
    let lines = text.matches('\n').count() + 1;
    for error in errors.iter() {
        assert!((1..=lines).contains(&error.line), "{error}");
        assert!(error.column >= 1, "{error}");
        assert!(error.span.start + error.span.len <= text.len(), "{error}");
        assert!(text.get(error.span.start..error.span.start + error.span.len).is_some(), "{error}");
        let line = text.split('\n').nth(error.line - 1).expect("the line is there");
        assert!(error.column <= line.chars().count() + 1, "{error}");
        assert!(!error.message.trim().is_empty() && !error.help.trim().is_empty(), "{error}");
    }
    assert!(errors.to_string().starts_with("policy.yaml:"));
}
