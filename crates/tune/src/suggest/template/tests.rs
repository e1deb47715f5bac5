use super::*;

fn template(text: &str) -> RouteTemplate {
    let segments = text.split('/').skip(1).map(|segment| match segment {
        "*" => TemplateSegment::Parameter(PathParameter(vec![ValueClass::Id])),
        name => TemplateSegment::Name(name.into()),
    });
    RouteTemplate::new(segments.collect(), 0.0)
}

#[test]
fn parameters_have_no_reserved_name() {
    assert_eq!(template("/a/*/*").text(&["id"]), "/a/{id2}/{id3}");
    assert_eq!(template("/a{b}").to_string(), "/a%7Bb%7D");
}

#[test]
fn a_template_covers_what_is_more_specific() {
    let rows = [
        ("/users/*", "/users/me", true),
        ("/users/me", "/users/*", false),
        ("/users/*", "/users/*", false),
        ("/*/*", "/users/*", true),
        ("/*/b", "/a/*", false),
        ("/users/*", "/users/me/posts", false),
    ];
    for (one, other, covers) in rows {
        assert_eq!(template(one).covers(&template(other)), covers, "{one} {other}");
    }
}
