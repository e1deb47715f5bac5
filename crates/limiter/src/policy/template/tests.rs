use super::*;

fn captured(template: &str, path: &str, parameter: &str) -> Option<String> {
    let template = Template::whole(template).unwrap_or_else(|flaw| panic!("{flaw:?}"));
    let bytes = template.capture(&Path::read(path), parameter)?;
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
        ("/files/{*rest}", "/files/", false),
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
        let parsed = Template::whole(template).unwrap_or_else(|flaw| panic!("{template}: {flaw:?}"));
        assert_eq!(parsed.matches(&Path::read(path)), expected, "{template} and {path}");
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
        let parsed = Template::prefix(template).unwrap_or_else(|flaw| panic!("{template}: {flaw:?}"));
        assert_eq!(parsed.matches(&Path::read(path)), expected, "{template} and {path}");
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
        ("", "no path"),
        ("login", "no path"),
        ("{id}", "no path"),
        ("/a//b", "empty segment"),
        ("//", "empty segment"),
        ("/a/{*rest}/b", "not at the end"),
        ("/{*a}/{*b}", "not at the end"),
        ("/{}", "has no name"),
        ("/{*}", "has no name"),
        ("/{id}/{id}", "comes twice"),
        ("/{id}/{*id}", "comes twice"),
        ("/x{id}", "neither"),
        ("/{id}.json", "neither"),
        ("/{a}{b}", "neither"),
        ("/{id", "neither"),
        ("/id}", "neither"),
        ("/{{id}}", "neither"),
        ("/{**rest}", "neither"),
        ("/a?b=c", "query"),
        ("/a#b", "query"),
        ("/a/../b", "would match nothing"),
        ("/a/%2e/b", "would match nothing"),
        ("/{ip}", "cannot be called"),
        ("/{*path}", "cannot be called"),
        ("/{a|b}", "has a `|`"),
    ];
    for (template, expected) in table {
        let flaw = Template::whole(template).expect_err(template);
        assert!(flaw.what.contains(expected), "{template}: {flaw:?}");
        assert!(!flaw.remedy.is_empty());
    }
    assert!(Template::prefix("/files/{*rest}").is_err());
}
