//! Shell commands of a text, with the output that the text shows.

use std::path::Path;
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

impl ShellStep {
    /// Runs the command in a directory, with the program in the path and these variables. If it prints
    /// something else than expected, what that is.
    ///
    /// # Panics
    /// If it cannot be run, or prints anything but UTF-8.
    pub fn run(&self, directory: &Path, variables: &[(&str, String)]) -> Option<String> {
        let path = std::env::var("PATH").expect("a path");
        let output = Command::new("sh")
            .args(["-c", &self.command])
            .current_dir(directory)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env("PATH", format!("{}:{path}", programs().display()))
            .output()
            .expect("sh");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let printed: Vec<&str> = text.lines().map(str::trim_end).collect();
        let is_expected = |(line, expected): (&&str, &String)| untimed(line) == untimed(expected);
        if printed.len() == self.prints.len() && printed.iter().zip(&self.prints).all(is_expected) {
            return None;
        }
        Some(format!(
            "{}\nprints\n{}\nand not\n{}\nstderr: {}",
            self.command,
            printed.join("\n"),
            self.prints.join("\n"),
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}

/// Line without the time that a replay took.
fn untimed(line: &str) -> &str {
    match line.rsplit_once("   ") {
        Some((head, time)) if line.starts_with("replay  ") && time.ends_with(" s") => head,
        _ => line,
    }
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
pub fn run_all(steps: &[ShellStep], server: &ServerProcess, directory: &Path) -> Result<(), String> {
    // What a page says of the usual address holds for this one.
    let mut variables = vec![("SLIDEGATE_SERVER", server.url())];
    variables.extend(server.admin_url().map(|url| ("SLIDEGATE_ADMIN_URL", url)));
    for step in steps {
        let began = std::time::Instant::now();
        if let Some(difference) = step.run(directory, &variables) {
            assert!(began.elapsed().as_millis() >= 1_000, "{difference}");
            return Err(difference);
        }
    }
    Ok(())
}
