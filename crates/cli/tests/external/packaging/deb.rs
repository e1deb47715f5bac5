//! The Debian package: what is in it, with which rights, what a linter says, and whether what was
//! unpacked runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use slidegate_testkit::program::Ended;

use super::{PROGRAM, commands, passes, root, sbom, tool};

/// Made of the program that is tested.
fn package() -> PathBuf {
    let target = Path::new(PROGRAM).ancestors().nth(2).expect("the folder that cargo builds in");
    let script = root().join("scripts/package");
    let output = Command::new(script).args(["--program", PROGRAM]).env("CARGO_TARGET_DIR", target).output();
    let ended = Ended::from(output.expect("bash"));
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    PathBuf::from(ended.stdout.lines().last().expect("a path"))
}

/// Rights and path of every file.
fn contents(package: &str) -> BTreeSet<String> {
    let lines = passes("dpkg-deb", &["--contents", package]);
    let files = lines.lines().filter(|line| !line.starts_with('d'));
    let files = files.map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(words[1] == "0/0" || words[1] == "root/root", "{line}");
        format!("{} {}", words[0], words[5].trim_start_matches('.'))
    });
    files.collect()
}

fn expected() -> BTreeSet<String> {
    let pages = commands()
        .into_iter()
        .map(|command| format!("-rw-r--r-- /usr/share/man/man1/slidegate-{command}.1.gz"));
    let fixed = [
        "-rw-r----- /etc/slidegate/policy.yaml",
        "-rw------- /etc/default/slidegate",
        "-rwxr-xr-x /usr/bin/slidegate",
        "-rw-r--r-- /usr/lib/systemd/system/slidegate.service",
        "-rw-r--r-- /usr/lib/sysusers.d/slidegate.conf",
        "-rw-r--r-- /usr/share/bash-completion/completions/slidegate",
        "-rw-r--r-- /usr/share/zsh/vendor-completions/_slidegate",
        "-rw-r--r-- /usr/share/fish/vendor_completions.d/slidegate.fish",
        "-rw-r--r-- /usr/share/man/man1/slidegate.1.gz",
        "-rw-r--r-- /usr/share/doc/slidegate/changelog.Debian.gz",
        "-rw-r--r-- /usr/share/doc/slidegate/changelog.gz",
        "-rw-r--r-- /usr/share/doc/slidegate/copyright",
        "-rw-r--r-- /usr/share/doc/slidegate/README.md",
        "-rw-r--r-- /usr/share/doc/slidegate/SECURITY.md",
        "-rw-r--r-- /usr/share/doc/slidegate/sbom.cdx.json",
        "-rw-r--r-- /usr/share/doc/slidegate/docs/operating.md",
        "-rw-r--r-- /usr/share/doc/slidegate/docs/policy.md",
        "-rw-r--r-- /usr/share/lintian/overrides/slidegate",
    ];
    fixed.map(str::to_owned).into_iter().chain(pages).collect()
}

#[test]
fn it_has_everything_and_runs() {
    let package = package();
    let package = package.to_str().expect("UTF-8");
    let (there, expected) = (contents(package), expected());
    let missing: Vec<_> = expected.difference(&there).collect();
    assert!(missing.is_empty(), "{missing:#?} of {there:#?}");
    // Besides, only more pages of the manual and of the documentation.
    let others = there.difference(&expected);
    let others: Vec<_> =
        others.filter(|line| !line.contains("/docs/") && !line.contains("/man1/slidegate-")).collect();
    assert!(others.is_empty(), "{others:#?}");

    for (field, value) in [("Package", "slidegate"), ("Section", "net"), ("Priority", "optional")] {
        assert_eq!(passes("dpkg-deb", &["--field", package, field]).trim(), value);
    }
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(passes("dpkg-deb", &["--field", package, "Version"]).trim(), format!("{version}-1"));
    let depends = passes("dpkg-deb", &["--field", package, "Depends"]);
    assert!(depends.contains("libc6 (>= ") && depends.contains("systemd"), "{depends}");

    let linted = tool("lintian", &["--allow-root", "--fail-on", "error,warning", package]);
    assert_eq!((linted.code, linted.stdout.as_str()), (Some(0), ""), "{}", linted.stderr);

    let folder = tempfile::tempdir().expect("a directory");
    let unpacked = folder.path().to_str().expect("UTF-8");
    passes("dpkg-deb", &["--extract", package, unpacked]);
    let program = format!("{unpacked}/usr/bin/slidegate");
    assert_eq!(passes(&program, &["--version"]), format!("slidegate {version}\n"));
    passes(&program, &["validate", &format!("{unpacked}/etc/slidegate/policy.yaml")]);

    let bill = std::fs::read_to_string(format!("{unpacked}/usr/share/doc/slidegate/sbom.cdx.json"));
    let bill = bill.expect("a bill of materials");
    let beside = Path::new(package).with_file_name(format!("slidegate_{version}.cdx.json"));
    assert_eq!(std::fs::read_to_string(beside).expect("the same beside the package"), bill);
    sbom::check(&bill);

    passes("dpkg-deb", &["--control", package, &format!("{unpacked}/control")]);
    let control = |name| std::fs::read_to_string(folder.path().join("control").join(name)).expect("a file");
    assert_eq!(control("conffiles"), "/etc/slidegate/policy.yaml\n/etc/default/slidegate\n");
    for script in ["postinst", "prerm", "postrm"] {
        passes("sh", &["-n", &format!("{unpacked}/control/{script}")]);
        assert!(!control(script).contains("#DEBHELPER#") && control(script).contains("slidegate.service"));
    }
}
