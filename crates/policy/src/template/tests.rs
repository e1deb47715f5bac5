use super::super::path_readings::Readings;
use super::*;

fn readings(path: &str) -> Readings<'_> {
    Readings::new(path, PathRules::default()).expect("not too many")
}

fn whole(template: &str) -> Template {
    Template::whole(template, PathRules::default()).unwrap_or_else(|error| panic!("{template}: {error:?}"))
}

/// By any reading, and by every one.
fn matches(template: &Template, path: &str) -> (bool, bool) {
    let readings = readings(path);
    let any = readings.all().any(|path| template.matches(path.view()));
    (any, readings.all().all(|path| template.matches(path.view_without_slash())))
}

fn captured(template: &str, path: &str, parameter: &str) -> Option<String> {
    let template = whole(template);
    let readings = readings(path);
    let bytes = readings.all().find_map(|path| template.capture(path.view(), parameter))?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[test]
fn templates_match_whole_paths() {
    let table = [
        ("/", "/", true),
        ("/", "/a", false),
        ("/login", "/login", true),
        ("/login/", "/login", true),
        ("/login", "/login/x", false),
        ("/login", "/", false),
        ("/login", "/Login", false),
        ("/users/{id}", "/users/42", true),
        ("/users/{id}", "/users", false),
        ("/users/{id}", "/users/", false),
        ("/users/{id}", "/users/42/x", false),
        ("/users/{id}/posts/{post}", "/users/42/posts/7", true),
        ("/files/{*rest}", "/files", false),
        ("/files/{*rest}", "/files/", true),
        ("/files/{*rest}", "/files//", true),
        ("/files/{*rest}", "/files/a", true),
        ("/files/{*rest}", "/files/a/b", true),
        ("/{*rest}", "/", false),
        ("/{*rest}", "/a", true),
        ("/caf%C3%A9", "/café", true),
        ("/café", "/caf%c3%a9", true),
        ("/%7Bid%7D", "/{id}", true),
        ("/%7Bid%7D", "/42", false),
        ("/a%2fb", "/a%2Fb", true),
        ("/a%2Fb", "/a/b", false),
    ];
    for (template, path, expected) in table {
        assert_eq!(matches(&whole(template), path).0, expected, "{template} and {path}");
    }
}

/// What exempts needs all readings, and servers may take no notice of a slash at the end.
#[test]
fn by_every_reading() {
    let table = [
        ("/health", "/health", true),
        ("/health", "/health/", true),
        ("/health", "/health?x", true),
        ("/health", "//health", false),
        ("/health", "/./health", false),
        ("/health", "/x/../health", false),
        ("/health", "/health;x", false),
        ("/health", "/%68ealth", false),
        ("/health", "/health#x", false),
        ("/files/{*rest}", "/files/", false),
        ("/files/{*rest}", "/files/a%20b", true),
        ("/files/{*rest}", "/files/a%2Fb", true),
        ("/files/{*rest}", "/files/a;b", true),
        ("/files/{*rest}", "/files/..;/a", false),
        ("/files/{name}", "/files/a%2Fb", false),
        ("/caf%C3%A9", "/caf%c3%a9", true),
    ];
    for (template, path, expected) in table {
        assert_eq!(matches(&whole(template), path).1, expected, "{template} and {path}");
    }
}

#[test]
fn prefixes_end_between_segments() {
    let table = [
        ("/", "/", true),
        ("/", "/a/b", true),
        ("/api", "/api", true),
        ("/api", "/api/v1", true),
        ("/api", "/apis", false),
        ("/api", "/", false),
        ("/users/{id}", "/users/42", true),
        ("/users/{id}", "/users/42/posts", true),
        ("/users/{id}", "/users", false),
    ];
    for (template, path, expected) in table {
        let parsed = Template::prefix(template, PathRules::default());
        let parsed = parsed.unwrap_or_else(|error| panic!("{template}: {error:?}"));
        assert_eq!(matches(&parsed, path).0, expected, "{template} and {path}");
    }
}

#[test]
fn parameters_are_captured() {
    let table = [
        ("/users/{id}", "/users/42", "id", Some("42")),
        ("/users/{id}", "/users//42/", "id", Some("42")),
        ("/users/{id}", "/users/a%20b", "id", Some("a b")),
        ("/users/{id}", "/users/42", "name", None),
        ("/users/{id}", "/groups/42", "id", None),
        ("/{a}/x/{b}", "/1/x/2", "b", Some("2")),
        ("/files/{*rest}", "/files/a/b", "rest", Some("a/b")),
        ("/files/{dir}/{*rest}", "/files/a/b/c?d", "rest", Some("b/c")),
        ("/{*rest}", "/a/./b", "rest", Some("a/b")),
    ];
    for (template, path, parameter, expected) in table {
        assert_eq!(captured(template, path, parameter).as_deref(), expected, "{template} and {path}");
    }
}

#[test]
fn wrong_templates() {
    let table = [
        ("", "must start with `/`"),
        ("login", "must start with `/`"),
        ("{id}", "must start with `/`"),
        ("/a//b", "empty segment"),
        ("//", "empty segment"),
        ("/a/{*rest}/b", "must be the last segment"),
        ("/{*a}/{*b}", "must be the last segment"),
        ("/{}", "missing parameter name"),
        ("/{*}", "missing parameter name"),
        ("/{id}/{id}", "duplicate parameter"),
        ("/{id}/{*id}", "duplicate parameter"),
        ("/x{id}", "must be a whole segment"),
        ("/{id}.json", "must be a whole segment"),
        ("/{a}{b}", "must be a whole segment"),
        ("/{id", "must be a whole segment"),
        ("/id}", "must be a whole segment"),
        ("/{{id}}", "must be a whole segment"),
        ("/{**rest}", "must be a whole segment"),
        ("/a?b=c", "query"),
        ("/a#b", "query"),
        ("/a/../b", "would never match"),
        ("/a/%2e/b", "would never match"),
        ("/{ip}", "reserved parameter name"),
        ("/{*path}", "reserved parameter name"),
        ("/{a|b}", "contains `|`"),
    ];
    for (template, expected) in table {
        let error = Template::whole(template, PathRules::default()).expect_err(template);
        assert!(error.message.contains(expected), "{template}: {error:?}");
        assert!(!error.help.is_empty());
    }
    assert!(Template::prefix("/files/{*rest}", PathRules::default()).is_err());
}
