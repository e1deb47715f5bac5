//! Shell commands of a text, with the output that the text shows.

use std::process::Command;

use super::{ServerProcess, directory as programs};

/// Command, which may have several lines, and its expected output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShellStep {
    /// Command line for `sh`.
    pub command: String,
    /// Expected lines of standard output.
    pub prints: Vec<String>,
}

/// Steps of lines such as those of the banner: commands begin at the margin, and their output is
/// indented by four spaces. A line that ends in a backslash continues.
pub fn steps<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<ShellStep> {
    let mut steps: Vec<ShellStep> = Vec::new();
    let mut goes_on = false;
    for line in lines {
        match (steps.last_mut(), line.strip_prefix("    ")) {
            (Some(step), _) if goes_on => step.command.extend(["\n", line]),
            (Some(step), Some(printed)) => step.prints.push(printed.to_owned()),
            _ if line.is_empty() || line.starts_with('#') => {}
            _ => steps.push(ShellStep { command: line.to_owned(), prints: Vec::new() }),
        }
        goes_on = line.ends_with('\\');
    }
    steps
}

/// Runs all steps in order and compares their output.
///
/// # Errors
/// The output of a step that differs and took so long that the times in it may differ for
/// that reason.
///
/// # Panics
/// If the output of a fast step differs.
pub fn run_all(
    steps: &[ShellStep],
    server: &ServerProcess,
    directory: &std::path::Path,
) -> Result<(), String> {
    for step in steps {
        let began = std::time::Instant::now();
        let path = std::env::var("PATH").expect("a path");
        let output = Command::new("sh")
            .args(["-c", &step.command])
            .current_dir(directory)
            // What a page says of the usual address holds for this one.
            .env("SLIDEGATE_SERVER", server.url())
            .envs(server.admin_url().map(|url| ("SLIDEGATE_ADMIN_URL", url)))
            .env("PATH", format!("{}:{path}", programs().display()))
            .output()
            .expect("sh");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let printed: Vec<&str> = text.lines().map(str::trim_end).collect();
        if printed == step.prints {
            continue;
        }
        let what = format!(
            "{}\nprints\n{}\nand not\n{}\nstderr: {}",
            step.command,
            printed.join("\n"),
            step.prints.join("\n"),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(began.elapsed().as_millis() >= 1_000, "{what}");
        return Err(what);
    }
    Ok(())
}
