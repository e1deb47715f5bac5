use slidegate_testkit::cases::Rng;

use super::*;

fn templates<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> Vec<(String, String)> {
    let mut tree = RouteTree::new();
    paths.into_iter().for_each(|path| tree.learn(path.as_ref()));
    let text = |template: &RouteTemplate| (template.text(&[]), template.reason(&[]));
    tree.templates(usize::MAX).iter().map(text).collect()
}

fn texts<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> Vec<String> {
    templates(paths).into_iter().map(|(text, _)| text).collect()
}

#[test]
fn values_are_parameters_and_repeated_ones_are_numbered() {
    let paths = ["/users/17/orders/2026-11-15/3?page=2", "/users/17", "/users/", "/", "/users/18"];
    let expected = ["/users/{id}", "/", "/users", "/users/{id}/orders/{date}/{id2}"];
    assert_eq!(texts(paths), expected);
}

/// Two templates that differ by the name of a parameter match the same paths.
#[test]
fn values_of_several_classes_are_one_parameter() {
    let uuid = "/items/2b1e0f5a-9f4e-4a77-8a55-0c5d1b2e3f40";
    let reason = "{uuid}: UUIDs and digits".to_owned();
    assert_eq!(templates(["/items/1", uuid, uuid]), [("/items/{uuid}".to_owned(), reason)]);
}

#[test]
fn more_than_fifty_rare_names_become_a_parameter() {
    let few: Vec<String> = (0..50).map(|n| format!("/users/name-{n}/posts")).collect();
    assert_eq!(texts(&few).len(), 50);
    let many: Vec<String> = (0..51).map(|n| format!("/users/name-{n}/posts")).collect();
    assert_eq!(templates(&many), [("/users/{name}/posts".to_owned(), "{name}: many names".to_owned())]);
}

#[test]
fn a_popular_name_stays_a_name() {
    let many = (0..90).map(|n| format!("/users/name-{n}/posts"));
    let popular = (0..10).map(|_| "/users/me/posts".to_owned());
    assert_eq!(texts(many.chain(popular)), ["/users/{name}/posts", "/users/me/posts"]);
}

/// The paths below many names are merged before they are looked at.
#[test]
fn parameters_are_found_from_the_root_down() {
    let paths = (0..60)
        .flat_map(|user| (0..3).map(move |repository| format!("/user-{user}/repo-{user}-{repository}")));
    assert_eq!(texts(paths), ["/{name}/{name2}"]);
}

/// Hostile paths: every request is new, at every depth.
#[test]
fn a_full_tree_stays_in_its_bound() {
    let mut tree = RouteTree::bounded(1_000);
    let rng = Rng::new(1);
    for n in 0..20_000_u64 {
        tree.learn("/login");
        let depth = 1 + n % 12;
        let path: String = (0..depth).map(|_| format!("/n{}x", rng.below(1_000_000))).collect();
        tree.learn(&path);
        assert!(tree.nodes.len() <= 1_000 + MAX_SEGMENTS, "{} nodes", tree.nodes.len());
    }
    let templates = tree.templates(200);
    assert_eq!(templates[0].text(&[]), "/login");
    assert!(templates[1..].iter().all(|template| template.text(&[]).starts_with("/{name}")), "{templates:?}");
}

/// Few names at every node, so that nothing becomes a parameter: the rest teaches nothing.
#[test]
fn what_does_not_fit_is_counted() {
    let mut tree = RouteTree::bounded(1_000);
    let mut paths = 0;
    for n in 0..5_000_u64 {
        let path: String =
            [n % 13, n / 13 % 13, n / 169 % 13, n / 2_197 % 13].map(|n| format!("/n{n}x")).concat();
        tree.learn(&path);
        paths += 1;
    }
    assert!(tree.is_full && tree.unlearned() > 0);
    assert_eq!(tree.requests + tree.unlearned(), paths);
    assert!(tree.nodes.len() <= 1_000);
}

#[test]
fn the_largest_templates_are_chosen() {
    let mut tree = RouteTree::new();
    for (path, requests) in [("/a", 1), ("/b", 3), ("/c", 2), ("/odd/../path", 9)] {
        (0..requests).for_each(|_| tree.learn(path));
    }
    let templates = tree.templates(2);
    let shares: Vec<(String, f64)> = templates.iter().map(|one| (one.text(&[]), one.share)).collect();
    assert_eq!(shares, [("/b".to_owned(), 0.5), ("/c".to_owned(), 2.0 / 6.0)]);
}
