//! Real gateways, started from the recipes in `docs/recipes`, in front of a real API, with the real
//! service behind them.

mod broken_service;
pub(crate) mod client;
mod gateway;
mod protects;
mod spellings;
pub(crate) mod upstream;
mod web_server;
mod withstands;

use client::{Answer, Client, Request};
use gateway::{CADDY, Gateway, HAPROXY, NGINX, TRAEFIK, Tells, recipes};
use slidegate_testkit::program::{self, ServerProcess};
use upstream::Upstream;

/// An API behind a gateway that asks the service.
struct Site {
    gateway: gateway::Running,
    service: ServerProcess,
    upstream: Upstream,
}

impl Site {
    fn open(gateway: &'static Gateway) -> Self {
        Self::open_with(gateway, "")
    }

    /// With more rules than the recipes have.
    fn open_with(gateway: &'static Gateway, rules: &str) -> Self {
        let policy =
            std::fs::read_to_string(recipes().join("policy.yaml")).expect("the policy of the recipes");
        let policy = program::file(&(policy + rules));
        let service = ServerProcess::start(&[program::path(&policy)]);
        let upstream = Upstream::start();
        let gateway = gateway.start(service.address().port(), upstream.port());
        Self { gateway, service, upstream }
    }

    fn ask(&self, client: Client, request: &Request<'_>) -> Answer {
        client.ask(self.gateway.address(), request)
    }

    fn try_ask(&self, client: Client, request: &Request<'_>) -> std::io::Result<Answer> {
        client.try_ask(self.gateway.address(), request)
    }

    /// Units that remain after an admitted request, by the headers of the gateway.
    fn remaining(&self, gateway: &Gateway, answer: &Answer) -> Option<u64> {
        match gateway.tells {
            Tells::Client => parameter(answer.header("ratelimit")?, "r"),
            Tells::Upstream => parameter(self.upstream.last().header("ratelimit")?, "r"),
        }
    }

    /// Uses up what a client may do at `POST /login`.
    fn exhaust(&self, client: Client) {
        for _ in 0..3 {
            assert_eq!(self.ask(client, &LOGIN).status, 200);
        }
    }
}

const LOGIN: Request<'static> =
    Request { method: "POST", target: "/login", headers: &[], body: b"name=alice" };

const ITEMS: Request<'static> = Request { method: "GET", target: "/api/items", headers: &[], body: b"" };

/// The value of a parameter: 3 of `r` in `"login";r=3;t=60`.
fn parameter(field: &str, name: &str) -> Option<u64> {
    let mut parameters = field.split(';').filter_map(|parameter| parameter.trim().split_once('='));
    parameters.find(|(found, _)| *found == name).and_then(|(_, value)| value.parse().ok())
}

macro_rules! every_recipe {
    ($($module:ident: $gateway:ident;)*) => {$(
        mod $module {
            every_recipe!(@ $gateway, protects, over_the_limit_is_429);
            every_recipe!(@ $gateway, withstands, forged_headers_change_nothing);
            every_recipe!(@ $gateway, withstands, what_cannot_be_judged_does_not_pass);
            every_recipe!(@ $gateway, withstands, long_requests_do_not_pass);
            every_recipe!(@ $gateway, withstands, many_limits_do_not_pass);
            every_recipe!(@ $gateway, withstands, answers_that_cannot_be_read_do_not_pass);
            every_recipe!(@ $gateway, protects, headers_of_the_policy_pass);
            every_recipe!(@ $gateway, protects, bodies_and_queries_pass);
            every_recipe!(@ $gateway, protects, refusals_of_the_api_stay_as_they_are);
            every_recipe!(@ $gateway, protects, without_the_service);
        }
    )*};
    (@ $gateway:ident, $file:ident, $test:ident) => {
        #[test]
        fn $test() {
            crate::gateways::$file::$test(&crate::gateways::$gateway);
        }
    };
}

every_recipe! {
    nginx: NGINX;
    traefik: TRAEFIK;
    caddy: CADDY;
    haproxy: HAPROXY;
}
