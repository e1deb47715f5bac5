//! Policies: the rules of a file, and which of them apply to a request.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | `request`, `request_view` | [`Request`]: attributes and a cost; and its form for matching |
//! | `yaml`, `read` | text into a tree with positions, and the tree into the types of `file` |
//! | `file`, `schema` | the policy file as types; its JSON Schema and its reference |
//! | `compile` | the types of `file` into a [`Policy`], with checks across fields |
//! | `diagnostics`, `suggest` | errors with positions, secrets masked; the name that was probably meant |
//! | `matching`, `trie`, `template`, `path`, `path_readings` | which rules apply; how a path is read |
//! | `condition`, `rule`, `limit_set`, `subject`, `address` | the parts of a rule: conditions, modes, limits, keys |
//! | `lookup` | subjects by their attributes, for operators |
//! | `explain`, `diff` | what a policy does, and what another one changes |
//! | `temporary_override` | overrides with an expiry, beside the file |

use std::collections::HashMap;

mod address;
mod compile;
mod condition;
mod diagnostics;
mod diff;
mod explain;
pub mod file;
mod limit_set;
mod lookup;
mod matching;
mod path;
mod path_readings;
mod read;
mod request;
mod request_view;
mod rule;
pub mod schema;
mod subject;
mod suggest;
mod template;
mod temporary_override;
mod trie;
pub mod yaml;

pub use address::embedded_ipv4;
pub use diff::Change;
pub use explain::{LimitReport, LimitSetReport, PermitReport, RuleReport};
pub use lookup::{ListMatch, RuleSubject};
pub use matching::{Choice, Hit};

pub use diagnostics::{Diagnostics, PolicyError, PolicyErrors, mask_secrets};
pub use limit_set::LimitSet;
pub use path_readings::MAX_READINGS;
pub use read::decode;
pub use request::{MAX_ATTRIBUTES, MAX_NAME_BYTES, MAX_VALUE_BYTES, Request, RequestError};
pub use rule::{Blocked, HitMode, Rule};
pub use subject::KeyText;
pub use temporary_override::TemporaryOverride;

use path_readings::PathRules;

/// Compiled rules of a file.
#[derive(Clone, Debug)]
pub struct Policy {
    rules: Box<[Rule]>,
    /// Rules with a path.
    trie: trie::Trie,
    /// Rules for every path.
    anywhere: Box<[u32]>,
    by_name: HashMap<Box<str>, usize>,
    paths: PathRules,
    /// Whether hits contain the route.
    has_routes: bool,
}

/// Settings of a file apart from its rules, complete and checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Settings of the server.
    pub server: file::Server,
    /// Storage of the state.
    pub store: file::Store,
    /// Telemetry.
    pub observe: file::Observe,
    /// Normalization of paths.
    pub paths: file::Paths,
    /// IPv6 prefix length: addresses with the same prefix are one subject.
    pub ipv6_prefix: u8,
}

impl Policy {
    /// Reads and compiles a file. Reports all errors.
    pub fn parse(file_name: &str, text: &str) -> Result<(Self, Settings), PolicyErrors> {
        let diagnostics = Diagnostics::new(file_name, text);
        let compiled = read::file(text, &diagnostics).map(|file| compile::compile(file, &diagnostics));
        diagnostics.into_result()?;
        Ok(compiled.expect("an invalid file was reported"))
    }

    /// Compiles a file that a program built. Its errors have no positions.
    pub fn compile(file: file::File) -> Result<(Self, Settings), PolicyErrors> {
        let diagnostics = Diagnostics::new("policy", "");
        let compiled = compile::compile(file, &diagnostics);
        diagnostics.into_result()?;
        Ok(compiled)
    }

    /// Rules in the order of the file.
    #[inline]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Policy whose [hits](Hit) contain the route of the request.
    pub fn with_routes(self) -> Self {
        Self { has_routes: true, ..self }
    }
}
