//! Completions are programs for a shell: each is read by its own.

use super::{commands, passes, program};

#[test]
fn shells_can_read_them() {
    let folder = tempfile::tempdir().expect("a directory");
    for (shell, option) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let script = program::run(&["completions", shell]).stdout;
        for command in commands() {
            assert!(script.contains(&command), "{shell} does not know {command}");
        }
        let file = folder.path().join(shell);
        std::fs::write(&file, script).expect("it can be written");
        passes(shell, &[option, file.to_str().expect("UTF-8")]);
    }
}
