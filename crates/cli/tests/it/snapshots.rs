//! Snapshots of the real program: killed in the middle of one, told to end, and started over files
//! that are none.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use slidegate::policy::Policy;
use slidegate::store::{Charge, ChargeRequest};
use slidegate::{CheckRequest, Clock, Gate, Key, Limit, Memory, Request, Space, SystemClock};
use slidegate_testkit::program::{self, ServerProcess, command, file, path, run};

/// Kills of all servers together.
const KILLS: usize = 200;
/// They run side by side, since most of the time they wait for the next save.
const SERVERS: usize = 8;
/// More than anything takes, on a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(60);
/// Keys that nobody asks for, so that a save takes long enough to be killed in.
const BALLAST: u64 = 20_000;
/// More than a client gets in all trials over one file.
const QUOTA: u64 = 100;
const CLIENTS: [&str; 2] = ["192.0.2.1", "192.0.2.2"];

fn policy(snapshot: &Path) -> tempfile::NamedTempFile {
    let rule = format!("{{name: api, key: [ip], limits: [{QUOTA}/day]}}");
    let store = format!("{{snapshot: '{}', snapshot_interval: 100ms}}", snapshot.display());
    file(&format!("version: 1\nstore: {store}\nrules: [{rule}]\n"))
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        // A save takes some milliseconds, so that few of these fit into one.
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Saves a store to which so many keys came.
fn save_ballast(memory: &Memory, keys: u64, limits: [Limit; 2], snapshot: &Path) {
    let now_ms = SystemClock::new().now_ms();
    for n in 0..keys {
        let charge = Charge { space: Space::named("ballast"), key: &Key::from(n), limits: &limits, cost: 1 };
        let _ = memory.decide_now(&ChargeRequest { now_ms, holder: 0, charges: &[charge] });
    }
    memory.save(snapshot, now_ms).expect("a snapshot");
}

/// One server after the other over one file.
struct Trial {
    _folder: tempfile::TempDir,
    policy: tempfile::NamedTempFile,
    snapshot: PathBuf,
    temporary: PathBuf,
    /// What the clients have used, as the next start has to know.
    used: [u64; 2],
}

/// Numbers of kills, by what was on disk afterwards.
#[derive(Default, Debug)]
struct KillCounts {
    in_the_middle: usize,
    old: usize,
    new: usize,
}

impl Trial {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let snapshot = folder.path().join("state");
        let temporary = folder.path().join("state.new");
        save_ballast(&Memory::default(), BALLAST, [Limit::per_day(10), Limit::per_hour(5)], &snapshot);
        let policy = policy(&snapshot);
        Self { _folder: folder, policy, snapshot, temporary, used: [0; 2] }
    }

    /// Which file it is, whatever its name.
    fn inode(&self) -> u64 {
        fs::metadata(&self.snapshot).expect("there is always a snapshot").ino()
    }

    /// What the clients have used, by a file. That it can be read at all is the point.
    fn used_by_file(&self, path: &Path) -> [u64; 2] {
        let memory = Memory::load(path, 256 << 20).expect("a whole snapshot");
        assert!(memory.stats().keys as u64 >= BALLAST);
        let text = fs::read_to_string(self.policy.path()).expect("the policy");
        let gate = Gate::new(Policy::parse("policy.yaml", &text).expect("a policy"), memory);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        CLIENTS.map(|ip| {
            let look = CheckRequest::from(Request::new().with("ip", ip).cost(0));
            let answer = runtime.block_on(gate.check(&look)).expect("an answer");
            QUOTA - answer.verdict().remaining().expect("a limit")
        })
    }

    /// Starts it, has every client admitted once, and kills it when a save that began after that is
    /// at this point.
    fn kill_at(&mut self, point: usize, counts: &mut KillCounts) {
        let server = ServerProcess::start(&[path(&self.policy)]);
        let first = self.inode();
        assert_eq!(used_by(&server, 0), self.used, "what was in the file, and nothing else, was restored");
        let now = used_by(&server, 1);
        assert_eq!(now, self.used.map(|used| used + 1));
        // This one may have begun before, so that it has one client and not the other; the next has
        // both.
        let second = wait_for("a save", || Some(self.inode()).filter(|inode| *inode != first));
        let old = fs::read(&self.snapshot).expect("it");
        let share = point % 12;
        if share < 10 {
            // From its first byte to its last tenth.
            let size = || fs::metadata(&self.temporary).map(|new| new.len() as usize).ok();
            wait_for("a part of it", || size().filter(|size| *size >= old.len() * share / 10));
        } else {
            wait_for("a new one", || Some(self.inode()).filter(|inode| *inode != second));
        }
        server.kill();
        counts.in_the_middle += usize::from(self.temporary.exists());
        self.used = self.used_by_file(&self.snapshot);
        let is_old = fs::read(&self.snapshot).expect("a snapshot") == old;
        if is_old {
            counts.old += 1;
            assert!(self.used.iter().zip(now).all(|(used, now)| *used == now || *used == now - 1));
        } else {
            counts.new += 1;
            assert_eq!(self.used, now);
        }
    }
}

/// An error as it was before it was broken into lines.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

/// What the clients have used after a request of this cost each.
fn used_by(server: &ServerProcess, cost: u64) -> [u64; 2] {
    CLIENTS.map(|ip| {
        let reply = server.check(&json!({"attributes": {"ip": ip}, "cost": cost}).to_string()).json();
        QUOTA - reply["remaining"].as_u64().unwrap_or_else(|| panic!("{reply}"))
    })
}

#[test]
fn a_kill_in_the_middle_leaves_the_old_one_or_the_new_one() {
    let threads: Vec<_> = (0..SERVERS)
        .map(|server| {
            std::thread::spawn(move || {
                let (mut trial, mut counts) = (Trial::new(), KillCounts::default());
                for kill in 0..KILLS / SERVERS {
                    trial.kill_at(server + kill, &mut counts);
                }
                let server = ServerProcess::start(&[path(&trial.policy)]);
                assert_eq!(used_by(&server, 0), trial.used);
                let names = fs::read_dir(trial.snapshot.parent().expect("a folder")).expect("the folder");
                let names = names.map(|entry| entry.expect("an entry").file_name());
                let damaged = names.filter(|name| name.to_string_lossy().contains("damaged")).count();
                assert_eq!(damaged, 0, "none was ever found to be damaged");
                counts
            })
        })
        .collect();
    let all = threads.into_iter().map(|thread| thread.join().expect("all is well"));
    let all = all.reduce(|one, other| KillCounts {
        in_the_middle: one.in_the_middle + other.in_the_middle,
        old: one.old + other.old,
        new: one.new + other.new,
    });
    let KillCounts { in_the_middle, old, new } = all.expect("servers");
    println!(
        "{KILLS} kills, {in_the_middle} in the middle of a save; {old} left the old snapshot, {new} the new one"
    );
    assert_eq!(old + new, KILLS);
    assert!(in_the_middle >= KILLS / 2, "only {in_the_middle} of {KILLS} kills were in the middle of a save");
    assert!(old > 0 && new > 0, "{old} old, {new} new");
}

/// What was admitted just before comes back, though the interval is long.
#[test]
fn the_end_is_saved_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = folder.path().join("state");
    let text = fs::read_to_string(policy(&snapshot).path()).expect("the policy");
    let policy = file(&text.replace("100ms", "1h"));
    for round in 0..3 {
        let server = ServerProcess::start(&[path(&policy)]);
        assert_eq!(used_by(&server, 0), [round; 2]);
        used_by(&server, 1);
        let (code, log) = server.terminate();
        assert_eq!((code, log.as_str()), (Some(0), ""));
    }
}

/// The most memory that a process has had so far.
fn peak_bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells it");
    peak.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

/// A file can have three times as many bytes as the store; a start takes what the store may take.
#[test]
fn a_file_is_never_in_memory_as_a_whole() {
    const MAX_MEMORY: u64 = 32 << 20;
    let folder = tempfile::tempdir().expect("a folder");
    let [empty, full] = ["empty", "full"].map(|name| folder.path().join(name));
    let counters = [Limit::per_day(10), Limit::per_hour(5)].map(|limit| limit.counter().expect("a counter"));
    save_ballast(&Memory::new(MAX_MEMORY as usize), 500_000, counters, &full);
    let file_bytes = fs::metadata(&full).expect("the snapshot").len();
    assert!(file_bytes > 2 * MAX_MEMORY, "{file_bytes}");
    let [without, with] = [empty, full].map(|snapshot| {
        let text = fs::read_to_string(policy(&snapshot).path()).expect("the policy");
        let bounded = file(&text.replace("100ms", "1h, max_memory: 32MiB"));
        let server = ServerProcess::start(&[path(&bounded)]);
        peak_bytes(server.id())
    });
    println!("a file of {file_bytes} bytes, and a start that takes {without} without it and {with} with it");
    assert!(with > without + MAX_MEMORY / 2, "it was read: {without}, {with}");
    assert!(with < without + MAX_MEMORY + MAX_MEMORY / 4, "{without}, {with} with {file_bytes}");
}

#[test]
fn a_damaged_file_is_reported_and_set_aside() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = folder.path().join("state");
    let policy = policy(&snapshot);
    let server = ServerProcess::start(&[path(&policy)]);
    used_by(&server, 1);
    server.terminate();
    let good = fs::read(&snapshot).expect("the snapshot");
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    let rows = [
        ("is damaged", flipped(good.len() / 2)),
        ("is damaged", flipped(good.len() - 1)),
        ("is damaged", good[..good.len() / 2].to_vec()),
        ("is not a snapshot of this version", flipped(3)),
        ("is not a snapshot of this version", Vec::new()),
        ("is not a snapshot of this version", b"version: 1\n".to_vec()),
    ];
    for (problem, bytes) in rows {
        fs::write(&snapshot, &bytes).expect("a file");
        let server = ServerProcess::start(&[path(&policy)]);
        assert_eq!(used_by(&server, 0), [0; 2], "it starts empty");
        let (code, log) = server.terminate();
        assert_eq!(code, Some(0));
        assert!(log.contains(&format!("state {problem} and was not used")), "{log}");
        let aside = log.split("moved to ").nth(1).and_then(|rest| rest.split(": ").next()).expect("a name");
        assert_eq!(fs::read(aside).expect("it is kept"), bytes);
    }
}

/// That the disk is full was told when it was; what that has come to is told at the end, also to
/// whoever looks at nothing but the exit code.
#[test]
fn a_failed_last_save_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = folder.path().join("state");
    let policy = policy(&snapshot);
    let server = ServerProcess::start(&[path(&policy)]);
    wait_for("a save", || snapshot.exists().then_some(()));
    // Nothing can be written where a folder is. One that is being saved may still be in its place.
    wait_for("a folder", || fs::create_dir(folder.path().join("state.new")).ok());
    let (code, log) = server.terminate();
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("counts since the last snapshot, "), "{log}");
}

#[test]
fn two_servers_cannot_have_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = policy(&folder.path().join("state"));
    let server = ServerProcess::start(&[path(&policy)]);
    let ended = run(&["serve", "--http", "127.0.0.1:0", path(&policy)]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    let stderr = in_one_line(&ended.stderr);
    assert!(stderr.contains("in use by another process: stop that one"), "{stderr}");
    // The system gives the lock back, however the process ended.
    server.kill();
    ServerProcess::start(&[path(&policy)]);
}

/// As another user, where the tests are run by one who may read and write everything.
#[test]
fn missing_rights_are_reported_at_the_start() {
    const NOBODY: u32 = 65_534;
    let folder = tempfile::tempdir().expect("a folder");
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).expect("a mode");
    };
    let error = |policy: &tempfile::NamedTempFile| {
        mode(policy.path(), 0o644);
        let mut command = command(&["serve", "--http", "127.0.0.1:0", path(policy)]);
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let ended = program::Ended::from(command.output().expect("it can be started"));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        in_one_line(&ended.stderr)
    };
    let snapshot = folder.path().join("state");
    let policy = policy(&snapshot);
    mode(folder.path(), 0o555);
    let message = error(&policy);
    assert!(
        message.contains("cannot be written") && message.contains("create files in that directory"),
        "{message}"
    );
    mode(folder.path(), 0o777);
    fs::write(&snapshot, "secret").expect("a file");
    mode(&snapshot, 0o000);
    let message = error(&policy);
    assert!(
        message.contains("cannot be read") && message.contains("move it away to start empty"),
        "{message}"
    );
    assert_eq!(fs::metadata(&snapshot).expect("it is still there").len(), 6);
    mode(&snapshot, 0o600);
}
