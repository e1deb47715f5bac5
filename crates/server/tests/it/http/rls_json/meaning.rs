//! What descriptors mean, on both stores.

use serde_json::json;

use super::{RULES, ask, descriptor, statuses, with};
use crate::http::service::{BOTH, Service};

#[tokio::test]
async fn a_descriptor_says_what_it_costs() {
    for kind in BOTH {
        let service = Service::start(kind, "rules: [{ name: all, key: [user], limits: [100/min] }]").await;
        let mut client = service.client().await;
        let one = |members| json!({ "domain": "d", "descriptors": [with("user=a", members)] });
        let rows = [
            (one(json!({})), "OK 99"),
            (one(json!({ "hits_addend": 4 })), "OK 95"),
            (one(json!({ "hitsAddend": "5" })), "OK 90"),
            (one(json!({ "hitsAddend": 0 })), "OK 90"),
            (one(json!({ "hitsAddend": null })), "OK 89"),
            (json!({ "domain": "d", "descriptors": [descriptor("user=a")], "hitsAddend": 9 }), "OK 80"),
            (
                json!({ "domain": "d", "descriptors": [with("user=a", json!({ "hitsAddend": 1 })), descriptor("user=a")],
                     "hits_addend": "9" }),
                "OK 70, OK 70",
            ),
            (one(json!({ "hitsAddend": u64::MAX })), "OVER_LIMIT 70"),
            (one(json!({ "hitsAddend": 71.0 })), "OVER_LIMIT 70"),
            (one(json!({ "isNegativeHits": true, "hitsAddend": 50 })), "OK 70"),
        ];
        for (body, expected) in rows {
            let answer = client.post("/json", &body).await;
            assert_eq!(statuses(&answer), expected, "{kind:?} {body}");
        }
    }
}

#[tokio::test]
async fn negative_hits_return_units_where_the_rule_allows_it() {
    for kind in BOTH {
        let rules = "
rules:
  - { name: tokens, match: { a: b }, key: [user], limits: [10/min], refundable: true }
  - { name: calls, match: { a: c }, key: [user], limits: [10/min] }
";
        let service = Service::start(kind, rules).await;
        let mut client = service.client().await;
        let mut post = async |a: &str, hits: u64, is_negative_hits: bool| {
            let members = json!({ "hitsAddend": hits, "isNegativeHits": is_negative_hits });
            let body = json!({ "domain": "d", "descriptors": [with(&format!("a={a} user=x"), members)] });
            statuses(&client.post("/json", &body).await)
        };
        assert_eq!((post("b", 6, false).await, post("c", 6, false).await), ("OK 4".into(), "OK 4".into()));
        assert_eq!((post("b", 2, true).await, post("c", 2, true).await), ("OK 6".into(), "OK 4".into()));
        assert_eq!(post("b", 99, true).await, "OK 10", "{kind:?}: never more than was charged");
    }
}

#[tokio::test]
async fn a_limit_that_comes_along_takes_the_place_of_the_rules() {
    for kind in BOTH {
        let service = Service::start(kind, "rules: [{ name: all, key: [user], limits: [1/min] }]").await;
        let mut client = service.client().await;
        let units = [
            ("SECOND", "1s"),
            ("MINUTE", "60s"),
            ("HOUR", "3600s"),
            ("DAY", "86400s"),
            ("WEEK", "604800s"),
            ("MONTH", "2592000s"),
            ("YEAR", "31536000s"),
        ];
        for (unit, reset) in units {
            let limit = json!({ "limit": { "requestsPerUnit": 2, "unit": unit } });
            let body = json!({ "domain": "d", "descriptors": [with(&format!("user={unit}"), limit)] });
            let first = client.post("/json", &body).await;
            assert_eq!(
                (first.at("/statuses/0/durationUntilReset"), statuses(&first)),
                (reset.into(), "OK 1".into())
            );
            let limit = first.at("/statuses/0/currentLimit");
            assert_eq!((&limit["requestsPerUnit"], &limit["unit"]), (&json!(2), &json!(unit)));
            client.post("/json", &body).await;
            let refused = client.post("/json", &body).await;
            assert_eq!(refused.status, 429, "{kind:?} {unit}");
            let violated = refused.at("/dynamicMetadata/violated/0");
            assert_eq!((violated.get("rule"), &violated["limit"]), (None, &limit["name"]));
        }
        let nothing = with("user=x", json!({ "limit": { "requests_per_unit": 0, "unit": 2 } }));
        let body = json!({ "domain": "d", "descriptors": [nothing, descriptor("user=y")] });
        let refused = client.post("/json", &body).await;
        assert_eq!((refused.status, statuses(&refused)), (429, "OVER_LIMIT, OK 1".to_owned()));
        assert_eq!(refused.json().get("responseHeadersToAdd"), None);
        // A peek is never refused.
        let peek = json!({ "limit": { "requests_per_unit": 0, "unit": 2 }, "hitsAddend": 0 });
        let body = json!({ "domain": "d", "descriptors": [with("user=x", peek), descriptor("user=y")] });
        let passed = client.post("/json", &body).await;
        assert_eq!((passed.status, statuses(&passed)), (200, "OK, OK 0".to_owned()));
    }
}

#[tokio::test]
async fn lists_deny_a_call_and_observed_rules_do_not() {
    let rules = "
rules:
  - { name: lists, key: [user], limits: [3/min], deny: [{ user: mallory }], missing: deny }
  - { name: watch, key: [user], limits: [1/min], mode: observe }
";
    for kind in BOTH {
        let service = Service::start(kind, rules).await;
        let mut client = service.client().await;
        let refused = ask(&mut client, &["user=alice", "user=mallory", "org=x"]).await;
        assert_eq!((refused.status, statuses(&refused)), (429, "OK 3, OVER_LIMIT, OVER_LIMIT".to_owned()));
        let violated = json!({ "violated": [
            { "rule": "lists", "reason": "deny_list" }, { "rule": "lists", "reason": "missing_key" },
        ] });
        assert_eq!(refused.at("/dynamicMetadata"), violated, "{kind:?}");
        let twice = ask(&mut client, &["user=alice", "user=alice"]).await;
        assert_eq!((twice.status, statuses(&twice)), (200, "OK 1, OK 1".to_owned()));
        let observed = json!({ "observed": [{ "rule": "watch", "limit": "1/min" }] });
        assert_eq!(twice.at("/dynamicMetadata"), observed, "{kind:?}");
        // Of two descriptors under one limit a header tells once.
        let header = twice.at("/responseHeadersToAdd/1/value");
        assert_eq!(header, "\"lists-3/min\";r=1;t=60", "{kind:?}");
        // A limit that would refuse by itself is in the metadata beside a list.
        assert_eq!(statuses(&ask(&mut client, &["user=alice"]).await), "OK 0", "{kind:?}");
        let refused = ask(&mut client, &["user=alice", "user=mallory"]).await;
        assert_eq!(statuses(&refused), "OVER_LIMIT 0, OVER_LIMIT", "{kind:?}");
        let violated =
            json!([{ "rule": "lists", "limit": "3/min" }, { "rule": "lists", "reason": "deny_list" }]);
        assert_eq!(refused.at("/dynamicMetadata/violated"), violated, "{kind:?}");
    }
}

/// A header more may be a descriptor more: one too many must not be a way around, either.
#[tokio::test]
async fn more_limits_than_there_may_be_refuse_the_call() {
    for kind in BOTH {
        let service = Service::start(kind, RULES).await;
        let mut client = service.client().await;
        let some: Vec<String> = (0..16).map(|user| format!("user={user}")).collect();
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        // Two limits each.
        assert_eq!(ask(&mut client, &some).await.status, 200, "{kind:?}");
        let rows = [
            ("org=x path=/", "too many limits apply to this request: 33"),
            ("user=16", "too many limits apply to this request: 34"),
        ];
        for (one_more, why) in rows {
            let refused = ask(&mut client, &[&some[..], &[one_more]].concat()).await;
            let all = vec!["OVER_LIMIT"; 17].join(", ");
            assert_eq!((refused.status, statuses(&refused)), (429, all), "{kind:?}");
            let reason = refused.at("/dynamicMetadata/unfit/0");
            assert!(reason.as_str().is_some_and(|reason| reason.contains(why)), "{reason}");
        }
        assert_eq!(statuses(&ask(&mut client, &["user=1"]).await), "OK 0", "{kind:?}: nothing was charged");
    }
}

/// A client chooses values: one that is not judged must not be a way around.
#[tokio::test]
async fn what_no_rule_can_judge_is_refused() {
    let rules = "
rules:
  - { name: paths, match: { path: { prefix: /api } }, key: [api_key], limits: [3/min] }
  - { name: addresses, match: { descriptor: remote_address }, key: [ip], limits: [3/min] }
";
    for kind in BOTH {
        let service = Service::start(kind, rules).await;
        let mut client = service.client().await;
        let long = "x".repeat(5_000);
        let fits = ask(&mut client, &[&format!("path=/api?q={long} api_key=k")]).await;
        assert_eq!((fits.status, statuses(&fits)), (200, "OK 2".to_owned()), "{kind:?}");
        for (unfit, why) in
            [(format!("path=/api api_key={long}"), "`api_key`"), ("remote_address=x".to_owned(), "`x`")]
        {
            let refused = ask(&mut client, &["path=/api api_key=k", &unfit]).await;
            assert_eq!(
                (refused.status, statuses(&refused)),
                (429, "OK 2, OVER_LIMIT".to_owned()),
                "{kind:?}"
            );
            let reason = refused.at("/dynamicMetadata/unfit/0");
            assert!(reason.as_str().is_some_and(|reason| reason.contains(why)), "{reason}");
        }
        // The address that Envoy tells is the one that rules know.
        let address = ask(&mut client, &["remote_address=::ffff:10.0.0.1"]).await;
        assert_eq!(statuses(&address), "OK 2", "{kind:?}");
        assert_eq!(statuses(&ask(&mut client, &["remote_address=10.0.0.1"]).await), "OK 1", "{kind:?}");
    }
}

/// Limits that meet on one history in a call: the lower decides, and each tells what remains of its
/// own quota.
#[tokio::test]
async fn two_quotas_of_one_history_have_their_own_numbers() {
    let rules =
        "rules: [{ name: user, key: [user], limits: [4/min], tiers: { gold: [9/min], iron: [1/min] } }]";
    for kind in BOTH {
        let service = Service::start(kind, rules).await;
        let mut client = service.client().await;
        let limit =
            |quota: u64| with("a=b", json!({ "limit": { "requestsPerUnit": quota, "unit": "MINUTE" } }));
        let ad_hoc = json!({ "domain": "d", "descriptors": [limit(5), limit(10), limit(20)] });
        let mut answers = Vec::new();
        for _ in 0..2 {
            answers.push(statuses(&client.post("/json", &ad_hoc).await));
        }
        assert_eq!(answers, ["OK 2, OK 7, OK 17", "OVER_LIMIT 2, OK 7, OK 17"], "{kind:?}");
        let alone = json!({ "domain": "d", "descriptors": [limit(10)], "hitsAddend": 7 });
        assert_eq!(statuses(&client.post("/json", &alone).await), "OK 0", "{kind:?}: what was told fits");
        // Beyond the lower quota the numbers of the higher one are still exact.
        let both = client.post("/json", &ad_hoc).await;
        assert_eq!(statuses(&both), "OVER_LIMIT 0, OVER_LIMIT 0, OK 10", "{kind:?}");
        for (quota, reset) in both.at("/statuses").as_array().expect("a list").iter().zip(["60s"; 3]) {
            assert_eq!(quota["durationUntilReset"], reset, "{kind:?} {quota}");
        }

        let tiers = ["user=x", "user=x tier=gold"];
        assert_eq!(statuses(&ask(&mut client, &tiers).await), "OK 2, OK 7", "{kind:?}");
        assert_eq!(statuses(&ask(&mut client, &tiers).await), "OK 0, OK 5", "{kind:?}");
        assert_eq!(statuses(&ask(&mut client, &tiers).await), "OVER_LIMIT 0, OK 5", "{kind:?}");
        let refused = ask(&mut client, &["user=y", "user=y tier=iron"]).await;
        assert_eq!(statuses(&refused), "OK 4, OVER_LIMIT 1", "{kind:?}: two are more than one ever admits");
        assert_eq!(refused.at("/dynamicMetadata/violated"), json!([{ "rule": "user", "limit": "1/min" }]));
    }
}

/// An entry that is there twice has no value that a rule could go by.
#[tokio::test]
async fn a_repeated_entry_is_refused_where_a_rule_looks_at_it() {
    let rules = "
rules:
  - { name: user, match: { domain: shop }, key: [user], limits: [5/min] }
  - { name: tag, match: { tag: a }, limits: [5/min], allow: [{ plan: pro }], tiers: { gold: [9/min] } }
  - { name: address, match: { part: address }, key: [ip], limits: [5/min] }
";
    for kind in BOTH {
        let service = Service::start(kind, rules).await;
        let mut client = service.client().await;
        let rows = [
            ("user=alice user=bob", "OVER_LIMIT", "user"),
            ("user=bob tag=b tag=a", "OVER_LIMIT", "tag"),
            ("tag=a plan=pro plan=free", "OVER_LIMIT", "plan"),
            ("tag=a tier=gold tier=free", "OVER_LIMIT", "tier"),
            (
                "part=address remote_address=192.0.2.1 remote_address=192.0.2.2",
                "OVER_LIMIT",
                "remote_address",
            ),
            ("req.user=alice req.user=bob", "OVER_LIMIT", "req.user"),
            // The same entry twice is one, and entries that no rule reads may repeat.
            ("user=carol user=carol", "OK 4", ""),
            ("generic_key=a generic_key=b user=dave", "OK 4", ""),
            ("user=alice", "OK 4", ""),
        ];
        for (descriptor, expected, key) in rows {
            let answer = ask(&mut client, &[descriptor]).await;
            assert_eq!(statuses(&answer), expected, "{kind:?} {descriptor}");
            if !key.is_empty() {
                let why = format!("the entry `{key}` occurs twice with different values");
                assert_eq!(answer.at("/dynamicMetadata/unfit"), json!([why]), "{kind:?} {descriptor}");
            }
        }
        // A limit that comes along counts for all entries, whatever they are.
        let members = json!({ "limit": { "requestsPerUnit": 2, "unit": "MINUTE" } });
        let call = json!({ "domain": "shop", "descriptors": [with("user=alice user=bob", members)] });
        assert_eq!(statuses(&client.post("/json", &call).await), "OK 1", "{kind:?}");
    }
}
