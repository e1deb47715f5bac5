//! No error repeats a secret: not in its words, not in its excerpt, not in what `miette` draws.

use miette::JSONReportHandler;
use slidegate::policy::PolicyErrors;
use slidegate_testkit::cases::{Rng, prove_part};
use slidegate_testkit::ensure;

use super::parse;

/// Part of every secret here.
const SECRET: &str = "hunter2";

/// All that anybody gets to see of errors.
fn all_of(errors: &PolicyErrors) -> String {
    let mut drawn = String::new();
    JSONReportHandler::new().render_report(&mut drawn, errors).expect("it can be drawn");
    let sources = errors.iter().map(|error| {
        let whole = (0, error.span.start + error.span.len).into();
        let source = miette::Diagnostic::source_code(error).expect("it has one");
        let excerpt = source.read_span(&whole, 2, 2).expect("it is there");
        String::from_utf8_lossy(excerpt.data()).into_owned()
    });
    format!("{errors}\n{errors:?}\n{drawn}\n{}", sources.collect::<String>())
}

#[test]
fn secrets_stay_out_of_errors() {
    let rows = [
        // On the line of the error, in front of it and behind it.
        "server: { token: hunter2-hunter2-hunter2, headrs: none }",
        "server: { headrs: none, token: \"hunter2,} hunter2\" }",
        "server: { headrs: none, \"token\":\"hunter2-hunter2-hunter2\" }",
        "server: { admin: { token: 'it''s hunter2', lisen: x } }",
        "server:\n  token: hunter2-hunter2-hunter2 # and this\n  headrs: none",
        "server:\n  token : hunter2-hunter2-hunter2 : x",
        // At the place itself.
        "server:\n  permit_secret: hunter2",
        "server:\n  token: hunter2",
        "server:\n  token: [hunter2, hunter2]",
        "server: { admin: { token: { a: hunter2, hunter2: 1, hunter2: 2 } } }",
        "server:\n  token:\n    hunter2:\n      - hunter2",
        "server:\n  token: *hunter2",
        "server:\n  token: &hunter2",
        "server:\n  token: !hunter2 x",
        "server:\n  token: @hunter2-hunter2-hunter2",
        // Over several lines.
        "server:\n  permit_secret: |\n    hunter2\n\n    hunter2",
        "server:\n  permit_secret:\n    hunter2\n  headrs: none",
        "server: {\n  permit_secret:\nhunter2\n, headrs: none }",
        "server:\n  ? token\n  : hunter2\n  headrs: none",
        "server:\n  token: \"hunter2\n\n  hunter2\"\n  headrs: none",
        // No YAML at all.
        "server:\n  token: \"hunter2, hunter2",
        "server: { token: \"hunter2, hunter2",
        "server: { token: hunter2",
        "server:\n  token: \"x\"hunter2",
        "server:\n\ttoken: hunter2-hunter2-hunter2",
        "server:\n  http: 127.0.0.1:8080\n    token: hunter2-hunter2-hunter2",
        "server:\n  http: x y\n   z token: hunter2-hunter2-hunter2",
        "server:\n  token: \"hunter2\n  permit_secret: \"hunter2 hunter2\"",
        // Under another name.
        "server:\n  tokn: hunter2-hunter2-hunter2",
        "server:\n  Token: hunter2-hunter2-hunter2",
        "server:\n  \"tok\\x65n\": hunter2",
        "server:\n  permit-secret: hunter2-hunter2-hunter2",
        "server:\n  admin_token: hunter2-hunter2-hunter2",
        "server:\n  redis_password: hunter2-hunter2-hunter2",
        "server:\n  token:hunter2-hunter2-hunter2",
        "server: token:hunter2-hunter2-hunter2",
        "rules: [token:hunter2]",
        "rules: token:hunter2",
        "rules:\n  - { name: a, match: { api_token: [\"hunter2\", hunter2, { a: hunter2 }] }, limts: [5/min] }",
        // Elsewhere, by an alias.
        "ipv6_prefix: &a hunter2\nserver:\n  token: *a",
        "rules: [&a hunter2]\nserver: { token: *a, headrs: none }",
        "rules: [{ name: &a 'hunter2 x' }]\nserver: { token: *a}",
        // Passwords in URLs.
        "store: { kind: redis, url: \"redis://me:hunter2@10.0.0.1:6379\", timout: 1s }",
        "store: redis://:hunter2@10.0.0.1",
        "store: { kind: memory, url: \"redis://me:hun@hunter2@10.0.0.1:6379\" }",
        "store: { kind: redis, nodes: [\"redis://:hunter2@a\", \"redis://:hunter2@b\"], url: redis://x }",
        "store: { kind: redis, nodes: redis://:hunter2@a }",
        "store: { kind: redis, url: 'me:hunter2@10.0.0.1:6379', timout: 1s }",
        "store:\n  kind: redis\n\turl: redis://:hunter2@a",
        "observe: { otlp: { endpoint: \"htp://me:hunter2@collector:4318\" } }",
        "observe: { otlp: \"htp://me:hunter2@collector:4318\" }",
    ];
    for row in rows {
        let text = format!("version: 1\n{row}\nnonsense: 1\n");
        let Err(errors) = parse(&text) else { panic!("nothing is wrong with\n{text}") };
        super::check(&text, &errors);
        let all = all_of(&errors);
        assert!(!all.contains(SECRET), "{text}\n{all}");
    }
}

#[test]
fn the_rest_of_a_line_is_still_there() {
    let text = "version: 1\nserver: { http: nowhere, token: \"sécret ü 🦀 chäracters\", headrs: none }\n";
    let errors = parse(text).expect_err("it is broken").to_string();
    let line = "  2 | server: { http: nowhere, token: **·*****·*🞄***·********, headrs: none }";
    assert!(errors.contains(line), "{errors}");
    let url = "version: 1\nstore: { url: redis://me:pw@10.0.0.1, timout: 1s }\n";
    let errors = parse(url).expect_err("it is broken").to_string();
    assert!(errors.contains("redis://*****@10.0.0.1, timout: 1s }"), "{errors}");
    // A word that is no name of a field hides nothing.
    let rule =
        "version: 1\nrules: [{ name: token, match: { path: /token }, key: [token], limts: [5/min] }]\n";
    let errors = parse(rule).expect_err("it is broken").to_string();
    assert!(
        errors.contains("{ name: token, match: { path: /token }, key: [token], limts: [5/min] }"),
        "{errors}"
    );
}

/// Edits around the fields with secrets, never within them.
#[test]
fn secrets_stay_out_of_errors_of_edited_files() {
    const PARTS: [&str; 7] = [
        "version: 1\nserver:\n  http: 127.0.0.1:8080\n  ",
        "token: hunter2-hunter2-hunter2\n",
        "  admin: { listen: \"0.0.0.0:8090\", ",
        "token: \"hunter2 hunter2, hunter2\"",
        " }\n  headers: none\n  ",
        "permit_secret: 'hunter2 hunter2 hunter2'\n",
        "rules:\n  - { name: login, match: { path: \"/login\" }, key: [ip], limits: [5/min] }\n",
    ];
    const TEXTS: [&str; 14] =
        ["", " ", "\n", "\n  - ", "x: ", "[", "}", "{", "name: ", "&a ", "\"", "'", "---\n", "\t"];
    let edit = |rng: &Rng| (2 * rng.below(4) as usize, rng.next() as usize, rng.below(4), rng.pick(&TEXTS));
    let generate = |rng: &Rng| ((), (0..rng.between(1, 6)).map(|_| edit(rng)).collect::<Vec<_>>());
    prove_part(2, generate, |(), edits| {
        let mut parts = PARTS.map(str::to_owned);
        for (part, at, len, new) in edits {
            let text = &mut parts[*part];
            let start = at % (text.len() + 1);
            text.replace_range(start..(start + *len as usize).min(text.len()), new);
        }
        let text = parts.concat();
        if let Err(errors) = parse(&text) {
            let all = all_of(&errors);
            ensure!(!all.contains(SECRET), "{text}\n{all}");
        }
        Ok(())
    });
}
