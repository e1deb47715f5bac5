//! Types of the policy file. Their doc comments are also the reference of the file.

mod condition;
mod limit;
mod mode;
mod paths;
mod percent;
mod rule;
mod span;

use serde_json::{Value, json};

use crate::diagnostics::{Diagnostics, InvalidValue, PolicyErrors};
use crate::format::schema::{Properties, whole};
use crate::format::{Checked, Fields, Format, Schemas, ValueCheck};
use crate::yaml;

pub use condition::{Condition, Conditions, Test};
pub use limit::LimitEntry;
pub use mode::Mode;
pub use paths::Paths;
pub use percent::Percent;
pub use rule::{Missing, OverrideEntry, RuleEntry};
pub use span::{Span, Spanned};

/// Maximum size of a file.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// Sections of a file that the server reads.
const SERVER_SECTIONS: [&str; 3] = ["server", "store", "observe"];

/// Policy file without the sections of the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Normalization of paths.
    pub paths: Paths,
    /// IPv6 prefix length: addresses with the same prefix are one client.
    pub ipv6_prefix: Spanned<u8>,
    /// Rules, in the order of reports.
    pub rules: Vec<RuleEntry>,
}

/// File as far as it could be read.
pub(crate) struct FileReading<S> {
    pub(crate) file: File,
    /// Further sections.
    pub(crate) sections: S,
    /// Whether all rules were read. If not, conditions may be missing that were reported.
    pub(crate) has_all_rules: bool,
}

impl Default for File {
    fn default() -> Self {
        Self { paths: Paths::default(), ipv6_prefix: Spanned::of(64), rules: Vec::new() }
    }
}

/// Version of the format.
struct Version;

impl ValueCheck for Version {
    type Base = u64;
    type Value = ();

    fn check(version: u64) -> Result<(), InvalidValue> {
        match version {
            1 => Ok(()),
            other => Err(InvalidValue::new(format!("unsupported version {other}"), "write `version: 1`")),
        }
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({ "type": "integer", "format": "uint64", "minimum": 0 })
    }
}

impl File {
    /// Reads a file without compiling it, and without the sections of the server: its form is
    /// checked, but not the meaning of its rules.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, PolicyErrors> {
        let diagnostics = Diagnostics::new(file_name, text);
        let file = Self::read(text, &diagnostics, skip_server_sections);
        diagnostics.into_result()?;
        // Nothing was reported, so that there is a file.
        Ok(file.map(|reading| reading.file).unwrap_or_default())
    }

    /// Reads a file and reports all errors. `sections` reads further sections. `None`: there is
    /// nothing to continue with.
    pub(crate) fn read<S>(
        text: &str,
        diagnostics: &Diagnostics,
        sections: impl FnOnce(&Fields<'_>) -> S,
    ) -> Option<FileReading<S>> {
        if text.len() > MAX_BYTES {
            let message = format!("the file is too large: {} bytes", text.len());
            diagnostics.report(Span::default(), message, "the maximum is 1 MiB");
            return None;
        }
        let tree = yaml::document(text, diagnostics)?;
        let fields = Fields::of(&tree, "a policy", diagnostics)?;
        fields.required::<Checked<Version>>("version", "version: 1");
        let sections = sections(&fields);
        let default = Self::default();
        let paths = fields.get::<Paths>("paths").unwrap_or(default.paths);
        let ipv6_prefix = fields.get::<Spanned<u8>>("ipv6_prefix").unwrap_or(default.ipv6_prefix);
        let errors = diagnostics.count();
        let rules = fields.get::<Vec<RuleEntry>>("rules").unwrap_or_default();
        let has_all_rules = diagnostics.count() == errors;
        fields.done();
        Some(FileReading { file: Self { paths, ipv6_prefix, rules }, sections, has_all_rules })
    }
}

/// Accepts the sections of the server unread.
pub(crate) fn skip_server_sections(fields: &Fields<'_>) {
    SERVER_SECTIONS.iter().for_each(|name| _ = fields.find(name));
}

/// JSON Schema of a policy file. `sections` adds further sections. Checks across fields are left to
/// [`Policy::parse`](crate::Policy::parse).
pub fn schema(sections: impl FnOnce(&mut Properties, &mut Schemas)) -> Value {
    let (mut file, mut schemas) = (Properties::default(), Schemas::default());
    let version = Checked::<Version>::schema(&mut schemas);
    file.add("version", version, &["Version of the format: 1."], json!({ "const": 1 }));
    sections(&mut file, &mut schemas);
    file.add("paths", Paths::schema(&mut schemas), &["Normalization of paths."], json!({}));
    let text = "IPv6 prefix length: addresses with the same prefix are one client.";
    file.add("ipv6_prefix", whole(1, 128), &[text], json!({ "default": 64 }));
    let rules = Vec::<RuleEntry>::schema(&mut schemas);
    file.add("rules", rules, &["Rules, in the order of reports."], json!({}));
    let mut schema = file.into_schema(json!({}), &["Policy file."]);
    schema["title"] = "Slidegate policy".into();
    schema["required"] = json!(["version"]);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["definitions"] = schemas.into_definitions().into();
    schema
}
