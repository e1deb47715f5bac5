//! The files of the page, and what a test changes in them.

use super::page;

/// What Envoy and the service are told.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) policy: String,
    pub(crate) envoy: String,
}

impl Setup {
    /// As the page has it.
    pub(crate) fn of_page() -> Self {
        Self { policy: page::file("policy.yaml"), envoy: page::file("envoy.yaml") }
    }

    /// With another text in the place of one in Envoy's configuration.
    pub(crate) fn envoy(mut self, text: &str, instead: &str) -> Self {
        self.envoy = replaced(&self.envoy, text, instead);
        self
    }

    /// With another text in the place of one in the policy.
    pub(crate) fn policy(mut self, text: &str, instead: &str) -> Self {
        self.policy = replaced(&self.policy, text, instead);
        self
    }

    /// With the block of the page that has a text in it, where that says that it belongs: after a
    /// line of `envoy.yaml`.
    pub(crate) fn with_block(mut self, place: &str, text: &str) -> Self {
        let line = self.envoy.lines().find(|line| line.trim_start() == place);
        let line = format!("{}\n", line.unwrap_or_else(|| panic!("a line {place:?}")));
        // What follows a dash belongs beside it, and what follows a name without a value below
        // that.
        let beside = line.len() - line.trim_start_matches([' ', '-']).len();
        let indent = if place.ends_with(':') { beside + 2 } else { beside };
        let block = page::block(&format!("in envoy.yaml, after `{place}`"), text).lines().skip(1);
        let block: String = block.map(|line| format!("{:indent$}{line}\n", "")).collect();
        self.envoy = replaced(&self.envoy, &line, &format!("{line}{block}"));
        self
    }

    /// With the block of the page that takes the place of a line of the policy.
    pub(crate) fn with_policy_block(self, place: &str) -> Self {
        let line = self.policy.lines().find(|line| line.trim_start() == place);
        let line = line.unwrap_or_else(|| panic!("a line {place:?}")).to_owned();
        let indent = line.len() - place.len();
        let block = page::block(&format!("in policy.yaml, instead of `{place}`"), "").lines().skip(1);
        let block: Vec<String> = block.map(|line| format!("{:indent$}{line}", "")).collect();
        self.policy(&line, &block.join("\n"))
    }
}

fn replaced(text: &str, old: &str, new: &str) -> String {
    assert_eq!(text.matches(old).count(), 1, "{old:?} in\n{text}");
    text.replace(old, new)
}
