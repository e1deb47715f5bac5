//! Everything that may happen to a file between two looks.

use std::fs::{self, File, FileTimes};
use std::io::Write;
use std::path::Path;

use super::*;

struct Setup {
    directory: tempfile::TempDir,
    watched: WatchedFiles,
}

impl Setup {
    /// A file `policy` with this text, known for long.
    fn with(text: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("policy"), text).expect("a file");
        Self::of(directory)
    }

    fn of(directory: tempfile::TempDir) -> Self {
        let watched = WatchedFiles::after_current(vec![directory.path().join("policy")]);
        let setup = Self { directory, watched };
        setup.rest();
        setup
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn policy(&self) -> PathBuf {
        self.path("policy")
    }

    /// Nothing is told for as long as it takes to trust a stamp, and longer.
    fn rest(&self) {
        for _ in 0..POLLS_UNTIL_TRUSTED + 2 {
            assert!(!self.watched.poll());
        }
    }

    /// It is told at the second look that sees it, once, and with this content.
    fn tells_of(&self, text: Option<&str>) {
        assert!(!self.watched.poll(), "it might still be written");
        assert!(self.watched.poll(), "it has settled");
        self.rest();
        self.holds(text);
    }

    fn holds(&self, text: Option<&str>) {
        let expected = text.map_or(FileContent::Missing, |text| FileContent::Bytes(text.as_bytes().into()));
        assert!(self.watched.content(0) == expected, "{text:?}");
    }
}

fn rename(setup: &Setup, text: &str) {
    fs::write(setup.path("new"), text).expect("a file");
    fs::rename(setup.path("new"), setup.policy()).expect("renamed");
}

#[test]
fn a_file_that_takes_its_place() {
    let setup = Setup::with("one");
    rename(&setup, "two");
    setup.tells_of(Some("two"));
    // Two between looks are one change.
    rename(&setup, "three");
    rename(&setup, "four");
    setup.tells_of(Some("four"));
    // What is the same again is no change.
    rename(&setup, "four");
    setup.rest();
}

/// As the kubelet does it: the file is a link through `..data`, a link to a directory, which is
/// swapped.
#[cfg(unix)]
#[test]
fn a_link_that_is_swapped() {
    use std::os::unix::fs::symlink;

    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let publish = |version: &str, text: &str| {
        fs::create_dir(at(version)).expect("a directory");
        fs::write(at(version).join("policy"), text).expect("a file");
        symlink(version, at("..data_tmp")).expect("a link");
        fs::rename(at("..data_tmp"), at("..data")).expect("swapped");
    };
    publish("..2024_1", "one");
    symlink("..data/policy", at("policy")).expect("a link");
    let watched = WatchedFiles::after_current(vec![at("policy")]);
    let looks = || [watched.poll(), watched.poll(), watched.poll()];
    assert_eq!(looks(), [false, false, false]);
    publish("..2024_2", "two");
    fs::remove_dir_all(at("..2024_1")).expect("the old one is removed");
    assert_eq!(looks(), [false, true, false]);
    assert!(watched.content(0) == FileContent::Bytes(b"two"[..].into()));
    // A new version of another file of the same map.
    publish("..2024_3", "two");
    assert_eq!(looks(), [false, false, false]);
}

/// Same file, same size, same times: as it is within one tick of a file system's clock.
#[test]
fn a_rewrite_that_leaves_no_stamp() {
    let setup = Setup::with("one");
    rename(&setup, "two");
    setup.tells_of(Some("two"));

    rename(&setup, "six");
    assert!(!setup.watched.poll());
    rewrite_with_same_stamp(&setup, "ten");
    assert!(!setup.watched.poll(), "what was content was not yet told of");
    assert!(setup.watched.poll());
    setup.holds(Some("ten"));
    // Just told of, and too young to be trusted.
    rewrite_with_same_stamp(&setup, "two");
    setup.tells_of(Some("two"));
}

/// No program can set the time at which a file was changed, so the old stamp is replaced by the
/// present one.
fn rewrite_with_same_stamp(setup: &Setup, text: &str) {
    let modified = fs::metadata(setup.policy()).and_then(|of| of.modified()).expect("a time");
    let mut file = File::options().write(true).open(setup.policy()).expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    file.set_times(FileTimes::new().set_modified(modified)).expect("times");
    setup.watched.files.lock()[0].stamp = stamp(&setup.policy());
}

/// Every piece might be a whole policy.
#[test]
fn a_file_that_is_written_in_pieces() {
    let setup = Setup::with("one");
    let mut file = File::create(setup.policy()).expect("truncated");
    assert!(!setup.watched.poll());
    for piece in ["rules: ", "[a", ", b", "]"] {
        file.write_all(piece.as_bytes()).expect("written");
        assert!(!setup.watched.poll(), "it is being written");
    }
    assert!(setup.watched.poll());
    setup.holds(Some("rules: [a, b]"));
    setup.rest();
    // The old text again, after looks that saw something else.
    let mut file = File::create(setup.policy()).expect("truncated");
    assert!(!setup.watched.poll());
    file.write_all(b"rules: [a, b]").expect("written");
    setup.rest();
}

#[test]
fn a_file_that_goes_and_comes() {
    let setup = Setup::with("one");
    fs::remove_file(setup.policy()).expect("removed");
    setup.tells_of(None);
    fs::write(setup.policy(), "one").expect("a file");
    setup.tells_of(Some("one"));
    // Some editors remove a file before they write it.
    fs::remove_file(setup.policy()).expect("removed");
    assert!(!setup.watched.poll());
    fs::write(setup.policy(), "two").expect("a file");
    setup.tells_of(Some("two"));
}

#[test]
fn a_touch_changes_nothing() {
    let setup = Setup::with("one");
    File::options()
        .append(true)
        .open(setup.policy())
        .and_then(|file| file.set_modified(std::time::UNIX_EPOCH))
        .expect("touched");
    setup.rest();
    fs::write(setup.policy(), "one").expect("written");
    setup.rest();
}

/// A certificate and its key: one that has changed waits for the other.
#[test]
fn several_files_change_together() {
    let directory = tempfile::tempdir().expect("a directory");
    let (certificate, key) = (directory.path().join("certificate"), directory.path().join("key"));
    fs::write(&certificate, "c1").expect("a file");
    fs::write(&key, "k1").expect("a file");
    let watched = WatchedFiles::after_current(vec![certificate.clone(), key.clone()]);
    assert!(!watched.poll());
    fs::write(&certificate, "c2").expect("a file");
    assert!(!watched.poll());
    fs::write(&key, "k2").expect("a file");
    assert!(!watched.poll(), "the key might still be written");
    assert!(watched.poll());
    assert!(!watched.poll());
}

#[test]
fn the_content_at_the_start_can_be_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("policy");
    fs::write(&path, "one").expect("a file");
    let watched = WatchedFiles::new(vec![path]);
    assert_eq!([watched.poll(), watched.poll()], [true, false]);
    watched.repeat();
    assert_eq!([watched.poll(), watched.poll()], [true, false]);
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let watched = WatchedFiles::new(vec![directory.path().to_owned()]);
    assert!(watched.poll());
    assert!(matches!(watched.content(0), FileContent::Unreadable(why) if why == "it is not a regular file"));
}

/// The loop around the looks: in no time, since the clock of the test goes where it is waited for.
#[tokio::test(start_paused = true)]
async fn a_change_is_waited_for() {
    let setup = Setup::with("one");
    let mut watched = WatchedFiles::after_current(vec![setup.policy()]);
    let first = tokio::time::timeout(Duration::from_secs(60), watched.changed()).await;
    assert!(first.is_err(), "nothing changed");
    rename(&setup, "two");
    watched.changed().await;
    assert!(watched.content(0) == FileContent::Bytes(b"two"[..].into()));
    assert!(Path::new(&setup.policy()).exists());
}
