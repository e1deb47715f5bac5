//! Policies: the rules of a file, and which of them apply to a request.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | `request`, `request_view` | [`Request`]: attributes and a cost; and its form for matching |
//! | `yaml` | text into a tree of nodes with positions |
//! | `format` | formats of values: how nodes are read, and their JSON Schema |
//! | `file` | the policy file as types, with their formats |
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
mod construct;
mod diagnostics;
mod diff;
mod explain;
pub mod file;
pub mod format;
mod limit_set;
mod lookup;
mod matching;
mod path;
mod path_readings;
mod request;
mod request_view;
mod rule;
mod subject;
mod suggest;
mod template;
mod temporary_override;
mod trie;
pub mod yaml;

pub use address::{RequestAddress, embedded_ipv4};
pub use construct::LoadError;
pub use diff::Change;
pub use explain::{
    ConditionsMatch, FailedCondition, KeyPartMatch, LimitReport, LimitSetMatch, LimitSetReport, ModeMatch,
    ModeReason, PermitReport, RequestExplanation, Requirement, RuleEffect, RuleExplanation, RuleReport,
};
pub use lookup::{ListMatch, RuleSubject};
pub use matching::{Choice, Hit};

pub use diagnostics::{Diagnostics, PolicyError, PolicyErrors, decode, mask_secrets, quote};
pub use limit_set::LimitSet;
pub use path_readings::MAX_READINGS;
pub use request::{MAX_ATTRIBUTES, MAX_NAME_BYTES, MAX_VALUE_BYTES, Request, RequestError};
pub use rule::{Blocked, HitMode, Rule};
pub use subject::KeyText;
pub use suggest::closest;
pub use temporary_override::TemporaryOverride;

use file::{File, FileReading};
use format::Fields;
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
    built_ins: BuiltIns,
    ipv6_prefix: u8,
    /// Whether hits contain the route.
    has_routes: bool,
    /// Whether it has one rule, which is for every request and has nothing but its limits.
    is_plain: bool,
}

/// Built-in attributes that some rule of a policy reads. A request need not have the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltIns {
    /// The method of the request.
    pub method: bool,
    /// Its path.
    pub path: bool,
    /// Its host.
    pub host: bool,
}

impl Policy {
    /// Built-in attributes that some rule reads.
    #[inline]
    pub fn built_ins(&self) -> BuiltIns {
        self.built_ins
    }

    /// Reads and compiles the rules of a file. Reports all errors. The sections `server`, `store`
    /// and `observe` are those of the server: they are not read.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, PolicyErrors> {
        Self::parse_with(file_name, text, file::skip_server_sections).map(|(policy, ())| policy)
    }

    /// Like [`Policy::parse`], with a function that reads further sections of the file and reports
    /// their errors.
    pub fn parse_with<S>(
        file_name: &str,
        text: &str,
        sections: impl FnOnce(&Fields<'_>) -> S,
    ) -> Result<(Self, S), PolicyErrors> {
        let diagnostics = Diagnostics::new(file_name, text);
        let compiled = File::read(text, &diagnostics, sections).map(|reading| {
            let FileReading { file, sections, has_all_rules } = reading;
            (compile::compile(file, has_all_rules, &diagnostics), sections)
        });
        diagnostics.into_result()?;
        Ok(compiled.expect("an invalid file was reported"))
    }

    /// Compiles a file that a program built. Its errors have no positions.
    pub fn compile(file: File) -> Result<Self, PolicyErrors> {
        let diagnostics = Diagnostics::new("policy", "");
        let policy = compile::compile(file, true, &diagnostics);
        diagnostics.into_result()?;
        Ok(policy)
    }

    /// IPv6 prefix length: addresses with the same prefix are one subject.
    pub fn ipv6_prefix(&self) -> u8 {
        self.ipv6_prefix
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
