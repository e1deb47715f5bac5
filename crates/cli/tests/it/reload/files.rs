//! The file of a policy, and all ways to change it.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// In every file that is not right.
pub(crate) const SECRET: &str = "31415926535";
/// The quota of every file that is not right.
const FORBIDDEN: u64 = 777_777_777;
/// A pause of a writer that is shorter than this is never taken for the end.
const SETTLES: Duration = Duration::from_millis(450);

/// What is wrong with a file. Its rules are right, and not to be seen.
#[derive(Clone, Copy)]
pub(crate) enum Broken {
    Field,
    Syntax,
    Secret,
    /// It is found only when the service is made ready.
    Settings,
}

impl Broken {
    pub(crate) const ALL: [Self; 4] = [Self::Field, Self::Syntax, Self::Secret, Self::Settings];
}

pub(crate) struct Policies {
    directory: tempfile::TempDir,
    /// Files that were written with a pause, and so may have been taken in part.
    paused: RefCell<Vec<(Instant, Instant)>>,
    links: Cell<u64>,
}

/// A policy whose quota is its number. Every prefix that ends in the number is a policy too, as is
/// the first line.
fn text(quota: u64) -> String {
    format!(
        "version: 1\nrules:\n  - name: api\n    key: [ip]\n    limits:\n      - window: 1day\n        quota: {quota}\n"
    )
}

fn quota_of(number: u64) -> u64 {
    1_000_000 + number
}

/// The line of the field that is wrong.
pub(crate) fn line_of(number: u64) -> u64 {
    8 + number
}

impl Policies {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("policy.yaml"), text(quota_of(0))).expect("a file");
        Self { directory, paused: RefCell::default(), links: Cell::new(0) }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.at("policy.yaml")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The quota that it begins with.
    pub(crate) fn first(&self) -> u64 {
        quota_of(0)
    }

    /// Files in the writing of which there was a pause, from when to when.
    pub(crate) fn paused(&self) -> Vec<(Instant, Instant)> {
        self.paused.borrow().clone()
    }

    /// A file that is right, by another way each time; its quota.
    pub(crate) fn put(&self, number: u64) -> u64 {
        let text = text(quota_of(number));
        match number / 4 % 3 {
            0 => self.rename(&text),
            1 => {
                let began = Instant::now();
                fs::write(self.path(), text).expect("written");
                self.note(began, began.elapsed());
            }
            _ => self.swap(&text),
        }
        quota_of(number)
    }

    pub(crate) fn put_broken(&self, number: u64, kind: Broken) {
        let text = text(FORBIDDEN);
        let secret = format!("server: {{ token: {SECRET} }}\n");
        self.rename(&match kind {
            Broken::Field => format!("{text}{}colour: red\n", "\n".repeat(number as usize)),
            Broken::Syntax => format!("{text}# {number}\nserver: {{ token: \"{SECRET}\"\n"),
            Broken::Secret => format!("{text}{secret}# {number}\n"),
            Broken::Settings => format!("{text}server: {{ attributes: {{ ip: X-Real-Ip }} }} # {number}\n"),
        });
    }

    /// Truncates the file and writes it piece by piece, some of which are whole policies; its
    /// quota.
    pub(crate) fn put_in_pieces(&self, number: u64) -> u64 {
        let quota = quota_of(number);
        let text = text(quota);
        let digits = text.find(&quota.to_string()).expect("it is there");
        let ends = ["version: 1\n".len(), digits, digits + 1, digits + 3, digits + 5, text.len()];
        let began = Instant::now();
        let mut file = File::create(self.path()).expect("truncated");
        let (mut start, mut longest, mut last) = (0, Duration::ZERO, Instant::now());
        for end in ends {
            file.write_all(&text.as_bytes()[start..end]).expect("written");
            start = end;
            longest = longest.max(last.elapsed());
            last = Instant::now();
            if end < text.len() {
                // Whoever writes slowly does so: this waits for nothing.
                std::thread::sleep(Duration::from_millis(120));
            }
        }
        self.note(began, longest);
        quota
    }

    fn note(&self, began: Instant, longest: Duration) {
        if longest >= SETTLES {
            self.paused.borrow_mut().push((began, Instant::now()));
        }
    }

    fn rename(&self, text: &str) {
        fs::write(self.at("new"), text).expect("a file");
        fs::rename(self.at("new"), self.path()).expect("renamed");
    }

    /// As Kubernetes does it.
    fn swap(&self, text: &str) {
        self.links.set(self.links.get() + 1);
        let version = format!("..2024_{}", self.links.get());
        fs::create_dir(self.at(&version)).expect("a directory");
        fs::write(self.at(&version).join("policy.yaml"), text).expect("a file");
        self.link(Path::new(&version), "..data");
        if !self.path().is_symlink() {
            self.link(Path::new("..data/policy.yaml"), "policy.yaml");
        }
    }

    fn link(&self, to: &Path, name: &str) {
        std::os::unix::fs::symlink(to, self.at("..link")).expect("a link");
        fs::rename(self.at("..link"), self.at(name)).expect("swapped");
    }
}
