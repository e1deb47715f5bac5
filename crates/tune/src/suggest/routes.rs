//! Routes: the rules that a suggestion gets, and which of them apply to a request.
//!
//! The policy itself decides that, so that a request is counted exactly where it will be.

use slidegate::policy::file::{
    Condition, Conditions, File, LimitEntry, Missing, RuleEntry, Span, Spanned, Test,
};
use slidegate::policy::{Choice, PolicyErrors};
use slidegate::{Key, Limit, Policy, Request, RequestError};

use super::template::RouteTemplate;

/// Names that parameters of templates never have.
const BUILT_IN: [&str; 4] = ["method", "path", "ip", "tier"];

/// Routes of a suggestion.
#[derive(Debug)]
pub(super) struct Routes {
    policy: Policy,
    routes: Vec<SuggestedRoute>,
}

/// Route: the requests that one rule counts.
#[derive(Clone, PartialEq, Debug)]
pub struct SuggestedRoute {
    /// Template; `None` for all requests that no other route has.
    pub path: Option<RoutePath>,
    /// Templates of other routes that this one would match too.
    pub except: Vec<String>,
}

/// Path of a route.
#[derive(Clone, PartialEq, Debug)]
pub struct RoutePath {
    /// Template in the form of the policy file.
    pub template: String,
    /// Reason for its parameters; empty without any.
    pub reason: String,
}

/// Subject of a request on a route.
#[derive(Clone, Copy, Debug)]
pub(super) enum RouteKey<'a, 'r> {
    /// The request lacks an attribute of the key.
    Lacking,
    /// The request is counted.
    Of(&'a Key<'r>),
}

impl Routes {
    /// Routes of these templates, and the rest. `key` has the form of the policy file.
    pub(super) fn new(templates: &[RouteTemplate], key: &[String]) -> Result<Self, PolicyErrors> {
        let reserved: Vec<&str> =
            key.iter().flat_map(|part| part.split('|')).map(str::trim).chain(BUILT_IN).collect();
        let text = |template: &RouteTemplate| template.text(&reserved);
        let mut routes: Vec<SuggestedRoute> = Vec::with_capacity(templates.len() + 1);
        for template in templates {
            let except = templates.iter().filter(|other| template.covers(other)).map(text).collect();
            let path = RoutePath { template: text(template), reason: template.reason(&reserved) };
            routes.push(SuggestedRoute { path: Some(path), except });
        }
        routes.push(SuggestedRoute { path: None, except: templates.iter().map(text).collect() });
        let rules = routes.iter().enumerate().map(|(index, route)| route.rule(index, key)).collect();
        Ok(Self { policy: Policy::compile(File { rules, ..File::default() })?, routes })
    }

    pub(super) fn into_routes(self) -> Vec<SuggestedRoute> {
        self.routes
    }

    /// Number of routes.
    pub(super) fn len(&self) -> usize {
        self.routes.len()
    }

    /// Passes every route of a request to `visit`.
    pub(super) fn visit<'r>(
        &self,
        request: &'r Request<'_>,
        mut visit: impl FnMut(usize, RouteKey<'_, 'r>),
    ) -> Result<(), RequestError> {
        let choice = self.policy.choose_and_skip(request, |route| visit(route, RouteKey::Lacking))?;
        if let Choice::Hits(hits) = choice {
            hits.iter().for_each(|hit| visit(hit.rule, RouteKey::Of(&hit.key)));
        }
        Ok(())
    }
}

impl SuggestedRoute {
    /// Rule that counts the requests of the route. Its limit is of no use.
    fn rule(&self, index: usize, key: &[String]) -> RuleEntry {
        let path = self.path.iter().map(|path| path.template.clone()).collect::<Vec<_>>();
        RuleEntry {
            name: Spanned::of(format!("route-{index}")),
            matches: paths(&path),
            allow: if self.except.is_empty() { Vec::new() } else { vec![paths(&self.except)] },
            key: key.iter().map(|part| Spanned::of(part.clone())).collect(),
            limits: Spanned::of(vec![LimitEntry {
                at: Span::default(),
                limit: Some(Limit::per_second(1)),
                name: None,
            }]),
            missing: Some(Missing::Skip),
            ..RuleEntry::default()
        }
    }
}

/// Condition that the path is one of these; none without any.
fn paths(templates: &[String]) -> Conditions {
    let values: Vec<_> = templates.iter().cloned().map(Spanned::of).collect();
    let condition = Condition { at: Span::default(), attribute: "path".to_owned(), test: Test::Is(values) };
    Conditions(if templates.is_empty() { Vec::new() } else { vec![condition] })
}
