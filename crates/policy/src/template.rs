//! Path templates: `/login`, `/users/{id}`, `/files/{*rest}`.
//!
//! A parameter is a whole segment. `{*rest}` matches the rest of the path, at least one segment,
//! and comes last. A brace in a literal is escaped: `/%7Bid%7D`.

use std::borrow::Cow;

use super::diagnostics::InvalidValue;
use super::path::PathView;
use super::path_readings::{PathRules, decode, fold_case};

/// Names of built-in attributes, which parameters must not have.
const RESERVED: [&str; 4] = ["method", "path", "ip", "tier"];

/// Path template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Template {
    pub(super) segments: Box<[Segment]>,
    pub(super) end: End,
}

/// Segment of a template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Segment {
    Literal(Box<[u8]>),
    Parameter(Box<str>),
}

/// End of a template: what may follow its segments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// Nothing.
    Here,
    /// One segment or more, or at least a slash: `{*rest}`.
    Rest(Box<str>),
    /// Anything, or nothing: the template is a prefix.
    Below,
}

impl Template {
    /// Template that matches whole paths.
    pub(super) fn whole(text: &str, rules: PathRules) -> Result<Self, InvalidValue> {
        let path = text.strip_prefix('/').ok_or_else(|| not_a_path(text))?;
        let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
        let mut template = Self { segments: Box::default(), end: End::Here };
        if path.is_empty() {
            return Ok(template);
        }
        let mut segments = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for part in path.split('/') {
            if let End::Rest(name) = &template.end {
                let what = format!("`{{*{name}}}` must be the last segment of `{text}`");
                return Err(InvalidValue::new(
                    what,
                    "move it to the end, or use `{name}` for a single segment",
                ));
            }
            let name = parameter(part)?;
            if let Some(name) = name {
                check_name(name, &names)?;
                names.push(name);
            }
            match name {
                Some(name) if part.starts_with("{*") => template.end = End::Rest(name.into()),
                Some(name) => segments.push(Segment::Parameter(name.into())),
                None => segments.push(literal(part, rules)?),
            }
        }
        template.segments = segments.into();
        Ok(template)
    }

    /// Template that matches paths by their first segments.
    pub(super) fn prefix(text: &str, rules: PathRules) -> Result<Self, InvalidValue> {
        let template = Self::whole(text, rules)?;
        if let End::Rest(name) = &template.end {
            let what = format!("`{{*{name}}}` is not allowed in a prefix");
            return Err(InvalidValue::new(what, "remove it: a prefix already matches everything below it"));
        }
        Ok(Self { end: End::Below, ..template })
    }

    pub(super) fn matches(&self, path: PathView<'_, '_>) -> bool {
        let mut parts = path.segments();
        let all = self.segments.iter().all(|segment| match (segment, parts.next()) {
            (Segment::Literal(literal), Some(part)) => **literal == *part,
            (Segment::Parameter(_), Some(_)) => true,
            (_, None) => false,
        });
        all && match self.end {
            End::Here => parts.next().is_none(),
            End::Rest(_) => parts.next().is_some() || path.has_slash(),
            End::Below => true,
        }
    }

    pub(super) fn parameters(&self) -> impl Iterator<Item = &str> {
        let named = self.segments.iter().filter_map(|segment| match segment {
            Segment::Parameter(name) => Some(&**name),
            Segment::Literal(_) => None,
        });
        named.chain(match &self.end {
            End::Rest(name) => Some(&**name),
            _ => None,
        })
    }

    /// Value of a parameter, if the template has it and the path matches.
    pub(super) fn capture<'r>(&self, path: PathView<'_, 'r>, parameter: &str) -> Option<Cow<'r, [u8]>> {
        let mut parts = path.segments();
        let (mut captured, mut start) = (None, 0);
        for segment in &self.segments {
            let part = parts.next()?;
            let end = start + part.len();
            match segment {
                Segment::Literal(literal) if **literal != *part => return None,
                Segment::Parameter(name) if **name == *parameter => captured = Some(start..end),
                Segment::Literal(_) | Segment::Parameter(_) => {}
            }
            start = end + 1;
        }
        match &self.end {
            End::Here if parts.next().is_some() => return None,
            End::Rest(_) if parts.next().is_none() && !path.has_slash() => return None,
            End::Rest(name) if **name == *parameter => return Some(path.from(start)),
            End::Here | End::Rest(_) | End::Below => {}
        }
        captured.map(|range| path.range(range))
    }
}

/// Name in braces, if the segment is a parameter.
fn parameter(part: &str) -> Result<Option<&str>, InvalidValue> {
    let within = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
    let name = within.map(|name| name.strip_prefix('*').unwrap_or(name));
    match name {
        None if part.contains(['{', '}']) => Err(braces(part)),
        Some(name) if name.contains(['{', '}', '*']) => Err(braces(part)),
        Some("") => Err(InvalidValue::new(
            format!("missing parameter name in `{part}`"),
            "write a name, as in `{id}`",
        )),
        name => Ok(name),
    }
}

fn check_name(name: &str, names: &[&str]) -> Result<(), InvalidValue> {
    if names.contains(&name) {
        let what = format!("duplicate parameter `{name}`");
        return Err(InvalidValue::new(what, "give each parameter a unique name"));
    }
    if RESERVED.contains(&name) {
        let what = format!("reserved parameter name `{name}`");
        let help = format!("use another name: `{name}` is an attribute of every request");
        return Err(InvalidValue::new(what, help));
    }
    if name.contains('|') {
        let what = format!("invalid parameter name `{name}`: contains `|`");
        return Err(InvalidValue::new(what, "remove it: in a key `|` separates alternatives"));
    }
    Ok(())
}

fn literal(part: &str, rules: PathRules) -> Result<Segment, InvalidValue> {
    if part.contains(['?', '#']) {
        let what = format!("invalid segment `{part}`: contains a query or a fragment");
        return Err(InvalidValue::new(what, "remove it: paths are matched without them"));
    }
    if part.is_empty() {
        let help = "write a single slash: empty segments of requests are ignored";
        return Err(InvalidValue::new("empty segment: the template would never match", help));
    }
    let mut bytes = Vec::with_capacity(part.len());
    decode(part.as_bytes(), &mut bytes);
    if matches!(&*bytes, b"." | b"..") {
        let what = format!("invalid segment `{part}`: the template would never match");
        return Err(InvalidValue::new(
            what,
            "write the resolved path: paths of requests are resolved before matching",
        ));
    }
    let literal = if rules.ignore_case { fold_case(&bytes) } else { bytes };
    Ok(Segment::Literal(literal.into()))
}

fn not_a_path(text: &str) -> InvalidValue {
    InvalidValue::new(format!("invalid path `{text}`: must start with `/`"), format!("write `/{text}`"))
}

fn braces(part: &str) -> InvalidValue {
    let help = "write `{name}` or `{*rest}` as a whole segment; escape literal braces as %7B and %7D";
    InvalidValue::new(format!("invalid segment `{part}`: a parameter must be a whole segment"), help)
}

#[cfg(test)]
mod tests;
