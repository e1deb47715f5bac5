//! A service that is started again and again over one file.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use slidegate::store::{Note, PostOutcome};
use slidegate::{CheckRequest, Request};
use tempfile::TempDir;
use tracing::span;

use super::*;
use crate::config::Config;
use crate::config::error::ConfigError;
use crate::runtime::backend::Backend;
use crate::telemetry::otlp::Trace;

fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

fn start(path: &Path) -> Result<Runtime, ConfigError> {
    let text = format!(
        "version: 1\nstore: {{snapshot: '{}', snapshot_interval: 100ms, max_memory: 1MiB}}\n\
         rules: [{{name: login, key: [ip], limits: [100/day]}}]\n",
        path.display()
    );
    Runtime::new(Config::parse("test.yaml", &text).expect("a policy"))
}

/// Charges this much, and tells what remains.
async fn charge(runtime: &Runtime, ip: &str, cost: u64) -> u64 {
    let request = Request::new().with("ip", ip).cost(cost);
    let answer =
        runtime.decider().check(&CheckRequest::from(request), Trace::default()).await.expect("an answer");
    answer.verdict().remaining().expect("a limit")
}

fn state(runtime: &Runtime) -> SnapshotState {
    runtime.snapshot_state().expect("snapshots are kept")
}

fn memory(runtime: &Runtime) -> &Memory {
    match runtime.gate().store() {
        Backend::Memory(memory) => memory,
        Backend::Redis(_) => panic!("not in memory"),
    }
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).expect("the folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

#[tokio::test]
async fn what_was_saved_is_there_after_a_restart() {
    let (folder, note) = (folder(), Note { id: "a".into(), text: "b".into(), expires_at_ms: u64::MAX });
    let path = folder.path().join("state");
    let runtime = start(&path).expect("a first start");
    assert_eq!((state(&runtime).restored, state(&runtime).last_saved_at_ms), (RestoreOutcome::Nothing, None));
    charge(&runtime, "192.0.2.1", 30).await;
    charge(&runtime, "192.0.2.2", 7).await;
    assert_eq!(memory(&runtime).post_now(&note, 0), PostOutcome::Done);
    runtime.save_snapshot();
    assert_eq!((state(&runtime).saves, state(&runtime).failures), (1, 0));
    // Admitted after the last save: lost, and nothing else.
    charge(&runtime, "192.0.2.1", 50).await;
    drop(runtime);
    // What is left of a save that was cut off does no harm.
    fs::write(folder.path().join("state.new"), "half").expect("a file");
    let runtime = start(&path).expect("a restart");
    assert_eq!(state(&runtime).restored, RestoreOutcome::Keys(2));
    assert!(state(&runtime).last_saved_at_ms.is_some());
    assert_eq!([charge(&runtime, "192.0.2.1", 0).await, charge(&runtime, "192.0.2.2", 0).await], [70, 93]);
    assert_eq!(memory(&runtime).notes_now().notes, [note]);
    assert_eq!(names(&folder), ["state", "state.lock"]);
}

#[tokio::test]
async fn what_is_no_snapshot_is_set_aside() {
    let folder = folder();
    let path = folder.path().join("state");
    let runtime = start(&path).expect("a first start");
    charge(&runtime, "192.0.2.1", 30).await;
    runtime.save_snapshot();
    drop(runtime);
    let good = fs::read(&path).expect("the snapshot");
    let mut flipped: Vec<Vec<u8>> = vec![good.clone(); good.len() / 7];
    flipped.iter_mut().enumerate().for_each(|(n, bytes)| bytes[7 * n] ^= 1 << (n % 8));
    let others = [&good[..good.len() - 1], &good[..8], &[], b"#!/bin/sh\n"].map(<[u8]>::to_vec);
    let rows: Vec<Vec<u8>> = flipped.into_iter().chain(others).collect();
    for (n, bytes) in rows.iter().enumerate() {
        fs::write(&path, bytes).expect("a file");
        let runtime = start(&path).expect("an empty start");
        let RestoreOutcome::SetAside(aside) = state(&runtime).restored else {
            panic!("row {n}: {:?}", state(&runtime))
        };
        assert!(aside.display().to_string().contains("/state.damaged-"), "{aside:?}");
        assert_eq!(fs::read(&aside).expect("it is kept"), *bytes, "row {n}");
        assert!(!path.exists() && state(&runtime).last_saved_at_ms.is_none());
        assert_eq!(charge(&runtime, "192.0.2.1", 0).await, 100, "row {n}");
    }
    assert_eq!(names(&folder).len(), 1 + rows.len(), "all of them, and the lock");
    // What was not trusted does not stand in the way of the next one.
    fs::write(&path, &good).expect("a file");
    assert_eq!(charge(&start(&path).expect("a restart"), "192.0.2.1", 0).await, 70);
}

#[tokio::test]
async fn two_cannot_have_one_file() {
    let folder = folder();
    let path = folder.path().join("state");
    let first = start(&path).expect("a first start");
    let error = start(&path).err().expect("it is taken").to_string();
    assert!(error.contains("in use by another process: stop that one, or give each its own path"), "{error}");
    drop(first);
    start(&path).expect("it is free again");
}

#[tokio::test]
async fn an_unusable_path_is_an_error_at_startup() {
    let folder = folder();
    let logged = |path: &Path| start(path).err().expect("an error").to_string();
    let missing = logged(&folder.path().join("missing/state"));
    assert!(missing.contains("missing/state.lock cannot be written"), "{missing}");
    assert!(missing.starts_with("store.snapshot: ") && missing.contains("choose another one"), "{missing}");
    fs::create_dir(folder.path().join("taken")).expect("a folder");
    let directory = logged(&folder.path().join("taken"));
    assert!(
        directory.contains("/taken cannot be read") && directory.contains("move it away to start empty"),
        "{directory}"
    );
    // The lock of an earlier start is there, and nothing else can be made.
    fs::create_dir(folder.path().join("blocked.new")).expect("a folder");
    let blocked = logged(&folder.path().join("blocked"));
    assert!(blocked.contains("/blocked cannot be written"), "{blocked}");
}

/// Whoever could put them there would choose what is read, locked or overwritten.
#[cfg(unix)]
#[tokio::test]
async fn links_and_files_of_others_are_refused() {
    use std::os::unix::fs::{chown, symlink};

    let (folder, elsewhere) = (folder(), folder());
    let target = elsewhere.path().join("target");
    start(&target).expect("a first start").save_snapshot();
    let logged = |name: &str| start(&folder.path().join(name)).err().expect("an error").to_string();
    // The lock: to something that is there, and to something that would be made.
    for (name, to) in [("a", &target), ("b", &elsewhere.path().join("missing"))] {
        symlink(to, folder.path().join(format!("{name}.lock"))).expect("a link");
        let render = logged(name);
        assert!(
            render.contains(&format!("{name}.lock cannot be written: it is a symbolic link")),
            "{render}"
        );
    }
    assert!(!elsewhere.path().join("missing").exists());
    // Nothing is read from a lock or overwritten in it, so a backup may have linked it.
    fs::hard_link(elsewhere.path().join("target.lock"), folder.path().join("c.lock")).expect("a link");
    start(&folder.path().join("c")).expect("a start");
    // The snapshot.
    symlink(&target, folder.path().join("d")).expect("a link");
    assert!(logged("d").contains("/d cannot be read: it is a symbolic link"), "{}", logged("d"));
    fs::hard_link(&target, folder.path().join("e")).expect("a link");
    assert!(logged("e").contains("/e cannot be read: it has another name"), "{}", logged("e"));
    // What others own, which only root can give away.
    if rustix::process::geteuid().is_root() {
        for (name, file) in [("f", "f"), ("g", "g.lock")] {
            fs::copy(&target, folder.path().join(file)).expect("a copy");
            chown(folder.path().join(file), Some(65_534), None).expect("another owner");
            let render = logged(name);
            assert!(render.contains("belongs to the user 65534, and slidegate runs as 0"), "{render}");
        }
    }
    // A copy is fine, and so is a folder that is a link.
    fs::copy(&target, folder.path().join("h")).expect("a copy");
    assert_eq!(state(&start(&folder.path().join("h")).expect("a start")).restored, RestoreOutcome::Keys(0));
    symlink(elsewhere.path(), folder.path().join("folder")).expect("a link");
    fs::remove_file(folder.path().join("e")).expect("removed");
    start(&folder.path().join("folder/target")).expect("a start");
}

/// Counts what is logged.
#[derive(Clone, Default)]
struct LogCounter(Arc<AtomicU64>);

impl tracing::Subscriber for LogCounter {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[test]
fn failures_are_logged_once_and_all_counted() {
    let folder = folder();
    let runtime = start(&folder.path().join("state")).expect("a first start");
    let logged = LogCounter::default();
    tracing::subscriber::with_default(logged.clone(), || {
        runtime.save_snapshot();
        for round in 1..=2 {
            fs::create_dir(folder.path().join("state.new")).expect("a folder");
            (0..5).for_each(|_| runtime.save_snapshot());
            let failed = state(&runtime);
            assert_eq!((failed.failures, failed.saves), (5 * round, round));
            assert_eq!(failed.last_saved_at_ms.map(|at_ms| at_ms + 100), Some(failed.due_at_ms));
            assert!(failed.last_error.is_some_and(|error| error.contains("state")));
            fs::remove_dir(folder.path().join("state.new")).expect("an empty folder");
            runtime.save_snapshot();
            assert_eq!((state(&runtime).failures, state(&runtime).last_error), (5 * round, None));
            assert_eq!(logged.0.load(Ordering::Relaxed), 2 * round, "that it began, and that it is over");
        }
    });
}

/// The loss at the end is logged, whatever was logged before.
#[tokio::test]
async fn losses_at_shutdown_are_logged() {
    let folder = folder();
    let runtime = Arc::new(start(&folder.path().join("state")).expect("a first start"));
    let logged = LogCounter::default();
    let _guard = tracing::subscriber::set_default(logged.clone());
    last(&runtime).await;
    assert_eq!((state(&runtime).last_error, logged.0.load(Ordering::Relaxed)), (None, 0));
    fs::create_dir(folder.path().join("state.new")).expect("a folder");
    (0..5).for_each(|_| runtime.save_snapshot());
    assert_eq!(logged.0.load(Ordering::Relaxed), 1, "that it began");
    last(&runtime).await;
    assert_eq!((state(&runtime).failures, logged.0.load(Ordering::Relaxed)), (6, 2));
}

#[tokio::test]
async fn it_is_saved_every_interval_and_at_the_end() {
    let folder = folder();
    let path = folder.path().join("state");
    let runtime = Arc::new(start(&path).expect("a first start"));
    let keeping = tokio::spawn(save_regularly(Arc::clone(&runtime)));
    charge(&runtime, "192.0.2.1", 1).await;
    let began = std::time::Instant::now();
    while state(&runtime).saves < 3 {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", state(&runtime));
        tokio::task::yield_now().await;
    }
    keeping.abort();
    assert!(keeping.await.is_err_and(|error| error.is_cancelled()));
    charge(&runtime, "192.0.2.1", 1).await;
    last(&runtime).await;
    drop(runtime);
    assert_eq!(charge(&start(&path).expect("a restart"), "192.0.2.1", 0).await, 98);
}
