use super::*;

/// The readings of a path as texts, with their slash at the end.
fn texts(path: &str) -> Vec<String> {
    texts_by(path, PathRules::default())
}

fn texts_by(path: &str, rules: PathRules) -> Vec<String> {
    let readings = Readings::new(path, rules).unwrap_or_else(|error| panic!("{path}: {error}"));
    let texts = readings.all().map(|path| {
        let segments = path.view().segments().map(|segment| format!("/{}", String::from_utf8_lossy(segment)));
        segments.collect::<String>() + if path.view().has_slash() { "/" } else { "" }
    });
    texts.map(|text| if text.is_empty() { "/".to_owned() } else { text }).collect()
}

#[test]
fn most_paths_have_one_reading() {
    let table = [
        ("/login", "/login"),
        ("login", "/login"),
        ("", "/"),
        ("/", "/"),
        ("//", "/"),
        ("/login/", "/login/"),
        ("/login?next=/", "/login"),
        ("/login/?next=/..;%2F", "/login/"),
        ("?a=/b", "/"),
        ("/login%3Fa", "/login?a"),
        ("/login%23a", "/login#a"),
        ("/caf%C3%A9", "/café"),
        ("/café", "/café"),
        ("/login%00", "/login%00"),
        // Decoded once: a percent sign stays escaped, so that what follows it is no escape.
        ("/%256cogin", "/%256cogin"),
        ("/x/%252e%252e/login", "/x/%252e%252e/login"),
        // No escapes.
        ("/100%", "/100%25"),
        ("/100%25", "/100%25"),
        ("/%zz", "/%25zz"),
        ("/%6", "/%256"),
        ("/%", "/%25"),
        ("/%+6c", "/%25+6c"),
        // Names that only look like dots.
        ("/.well-known/x", "/.well-known/x"),
        ("/...", "/..."),
        ("/a..", "/a.."),
        // Case matters.
        ("/Login", "/Login"),
    ];
    for (path, expected) in table {
        assert_eq!(texts(path), [expected], "{path}");
    }
}

/// The first is the one with least in it.
#[test]
fn readings_of_odd_paths() {
    let table: [(&str, &[&str]); 33] = [
        ("//login", &["/login", "//login"]),
        ("/login//", &["/login/"]),
        ("/a///b", &["/a/b", "/a///b"]),
        ("/./login", &["/login", "/./login"]),
        ("/login/.", &["/login/", "/login/."]),
        ("/x/../login", &["/login", "/x/../login"]),
        ("/../login", &["/login", "/../login"]),
        ("/a/b/..", &["/a/", "/a/b/.."]),
        ("/a//../b", &["/b", "/a/b", "/a/../b", "/a//../b"]),
        ("/%6cogin", &["/login", "/%6Cogin"]),
        ("/%%6cogin", &["/%25login", "/%25%6Cogin"]),
        ("/%%36cogin", &["/%256cogin", "/%25%36cogin"]),
        ("/x/%2e%2e/login", &["/login", "/x/../login", "/x/%2E%2E/login"]),
        ("/a/../x/%2e%2e/login", &["/login", "/a/../x/../login", "/x/%2E%2E/login", "/a/../x/%2E%2E/login"]),
        ("/a%2Fb", &["/a/b", "/a%2Fb"]),
        ("/a%2fb", &["/a/b", "/a%2Fb"]),
        ("/x%2f..%2flogin", &["/login", "/x/../login", "/x%2F..%2Flogin"]),
        ("/a\\b", &["/a/b", "/a\\b"]),
        ("/a%5cb", &["/a/b", "/a\\b"]),
        ("/q%5Cw\\login", &["/q/w/login", "/q/w\\login", "/q\\w/login", "/q\\w\\login"]),
        ("/login;x=1", &["/login", "/login;x=1"]),
        ("/login;a/b;c/d", &["/login/b/d", "/login;a/b;c/d"]),
        ("/login;", &["/login", "/login;"]),
        ("/;a/login", &["/login", "//login", "/;a/login"]),
        ("/x/..;/login", &["/login", "/x/../login", "/x/..;/login"]),
        ("/login%3Bx", &["/login", "/login;x"]),
        ("/x/..%3b/login", &["/login", "/x/../login", "/x/..;/login"]),
        // A proxy resolves dots, the server behind it drops parameters, and resolves what that
        // leaves.
        (
            "/admin/..;/../login;x",
            &["/login", "/admin/login", "/admin/login;x", "/admin/../../login", "/admin/..;/../login;x"],
        ),
        (
            "/admin/..;/x/../login",
            &[
                "/login",
                "/admin/../login",
                "/admin/..;/login",
                "/admin/../x/../login",
                "/admin/..;/x/../login",
            ],
        ),
        // Tomcat drops up to the next slash that was sent.
        ("/1;%2Fr", &["/1/r", "/1", "/1;/r", "/1;%2Fr"]),
        ("/1;\\r", &["/1/r", "/1", "/1;/r", "/1;\\r"]),
        ("/login#x", &["/login", "/login#x"]),
        ("/login#a?b", &["/login", "/login#a"]),
    ];
    for (path, expected) in table {
        let mut texts = texts(path);
        assert_eq!(texts[0], expected[0], "the first of {path}: {texts:?}");
        let mut expected: Vec<&str> = expected.to_vec();
        texts.sort();
        expected.sort_unstable();
        assert_eq!(texts, expected, "{path}");
    }
}

#[test]
fn without_case() {
    let folded = |path| texts_by(path, PathRules { ignore_case: true });
    assert_eq!(folded("/LOGIN"), ["/login"]);
    assert_eq!(folded("/login"), ["/login"]);
    assert_eq!(folded("/CAF%C3%89"), ["/café"]);
    assert_eq!(folded("/Stra%C3%9Fe/\u{212a}"), ["/strasse/k"]);
    assert_eq!(folded("/%4Cogin"), ["/login", "/%4cogin"]);
    assert_eq!(folded("/A%FF"), folded("/a%ff"));
}

/// What is plain takes no memory.
#[test]
fn what_is_plain_is_borrowed() {
    for path in ["/", "/login", "/users/42/", "/.well-known/x", "/a?b=%20;\\#", "", "a/b"] {
        let readings = Readings::new(path, PathRules::default()).expect("one reading");
        assert_eq!((readings.all().count(), readings.others.capacity()), (1, 0), "{path}");
        assert!(matches!(readings.all().next().map(|path| path.view().text()), Some(Cow::Borrowed(_))));
    }
}

#[test]
fn bytes_that_are_no_text_are_distinct() {
    let segment = |path: &'static str| {
        let readings = Readings::new(path, PathRules::default()).expect("one reading");
        readings.all().next().map(|path| path.view().text().into_owned())
    };
    assert_eq!(segment("/%ff"), Some(vec![0xff]));
    assert_ne!(segment("/%ff"), segment("/%fe"));
}

#[test]
fn parts_of_a_path() {
    for text in ["/files/a/b/c", "/files//a/./b/c"] {
        let readings = Readings::new(text, PathRules::default()).expect("a few readings");
        let path = readings.all().next().expect("a path").view();
        assert_eq!(&*path.text(), b"files/a/b/c");
        assert_eq!(&*path.range(0..5), b"files");
        assert_eq!(&*path.from(6), b"a/b/c");
        assert_eq!(&*path.from(12), b"");
    }
}

/// Whatever is sent: no more readings than the bound, each once, or an error.
#[test]
fn readings_are_bounded() {
    let parts = [";", "%3b", "%2F", "\\", "%5C", "#", "%61", "..", ".", "//", "/", "a"];
    let (mut most, mut refused) = (0, 0);
    let mut state = 7_u32;
    for _ in 0..20_000 {
        let mut path = String::from("/");
        for _ in 0..12 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            path += parts[(state >> 24) as usize % parts.len()];
        }
        match Readings::new(&path, PathRules::default()) {
            Ok(readings) => {
                let all: Vec<_> = readings.all().collect();
                most = most.max(all.len());
                for (index, one) in all.iter().enumerate() {
                    assert!(!all[..index].contains(one), "{path}: {one:?} comes twice");
                }
            }
            Err(error) => {
                assert_eq!(error, RequestError::TooManyReadings);
                refused += 1;
            }
        }
    }
    assert!(most > MAX_READINGS / 2 && most <= MAX_READINGS, "{most}");
    assert!(refused > 0);
}

/// All readings of a part count as the same.
#[test]
fn parts_count_as_the_least_of_them() {
    let table = [
        ("42", "42"),
        ("42;x=1", "42"),
        ("a%2Fb", "a/b"),
        ("a\\b", "a/b"),
        ("a//b/", "a/b"),
        ("x/../y", "y"),
        ("x/..;/y", "y"),
        ("%61", "a"),
        ("c#", "c#"),
        ("100%", "100%25"),
        ("100%25", "100%25"),
        ("%2542", "%2542"),
        ("%2542;x", "%2542"),
        ("..", ""),
    ];
    for (part, expected) in table {
        assert_eq!(String::from_utf8_lossy(&canonical(part.as_bytes())), expected, "{part}");
    }
}

/// A part that was read once counts as it did: nothing in it is decoded a second time.
#[test]
fn the_least_of_a_part_is_its_own() {
    let parts =
        ["%25", "%", "%%", "2", "F", "5", "4", "%34", "%2F", "%00", "%5C", "\\", ";", "%3b", "/", "..", "a"];
    let mut state = 11_u32;
    for _ in 0..20_000 {
        let mut part = String::new();
        for _ in 0..8 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            part += parts[(state >> 24) as usize % parts.len()];
        }
        let once = canonical(part.as_bytes());
        let twice = canonical(&once);
        assert_eq!(String::from_utf8_lossy(&twice), String::from_utf8_lossy(&once), "{part}");
    }
}
