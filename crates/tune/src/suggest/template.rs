//! Template of a route, as it was learned: a path with parameters, and why it has them.

use std::fmt;

use super::segment::ValueClass;

/// Template of a route.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct RouteTemplate {
    segments: Vec<TemplateSegment>,
    /// Share of the requests that taught.
    pub(super) share: f64,
}

/// Segment of a template.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum TemplateSegment {
    Name(Box<str>),
    Parameter(PathParameter),
}

/// Parameter of a template: the classes of its values, the most frequent first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct PathParameter(pub(super) Vec<ValueClass>);

impl PathParameter {
    fn base_name(&self) -> &'static str {
        self.0.first().copied().unwrap_or(ValueClass::Name).parameter()
    }
}

impl RouteTemplate {
    pub(super) fn new(segments: Vec<TemplateSegment>, share: f64) -> Self {
        Self { segments, share }
    }

    /// Template in the form of the policy file. Its parameters have none of the `reserved` names,
    /// which mean something else in a key.
    pub(super) fn text(&self, reserved: &[&str]) -> String {
        let mut names = self.parameter_names(reserved).into_iter();
        let mut text = String::new();
        for segment in &self.segments {
            text.push('/');
            match segment {
                TemplateSegment::Name(name) => text.push_str(&name.replace('{', "%7B").replace('}', "%7D")),
                TemplateSegment::Parameter(_) => {
                    text.extend(["{", &names.next().unwrap_or_default(), "}"]);
                }
            }
        }
        if text.is_empty() { "/".to_owned() } else { text }
    }

    /// Names of its parameters; repeated ones are numbered.
    fn parameter_names(&self, reserved: &[&str]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for parameter in self.parameters() {
            let base = parameter.base_name();
            let is_free = |name: &str| !reserved.contains(&name) && !names.iter().any(|other| other == name);
            let numbered = (2..).map(|number: u64| format!("{base}{number}"));
            let name = std::iter::once(base.to_owned()).chain(numbered).find(|name| is_free(name));
            names.extend(name);
        }
        names
    }

    fn parameters(&self) -> impl Iterator<Item = &PathParameter> {
        self.segments.iter().filter_map(|segment| match segment {
            TemplateSegment::Parameter(parameter) => Some(parameter),
            TemplateSegment::Name(_) => None,
        })
    }

    /// Reason for its parameters: `{id}: digits`. Empty without parameters.
    pub(super) fn reason(&self, reserved: &[&str]) -> String {
        let names = self.parameter_names(reserved);
        let reasons = names.iter().zip(self.parameters()).map(|(name, parameter)| {
            let values: Vec<&str> = parameter.0.iter().map(|class| class.values()).collect();
            format!("{{{name}}}: {}", values.join(" and "))
        });
        reasons.collect::<Vec<_>>().join(", ")
    }

    /// Whether it matches every path that the other one matches, and more.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let covers = |(own, other): (&TemplateSegment, &TemplateSegment)| match (own, other) {
            (TemplateSegment::Parameter(_), _) => true,
            (TemplateSegment::Name(own), TemplateSegment::Name(other)) => own == other,
            (TemplateSegment::Name(_), TemplateSegment::Parameter(_)) => false,
        };
        let is_name = |segment: &&TemplateSegment| matches!(segment, TemplateSegment::Name(_));
        let names = |template: &Self| template.segments.iter().filter(is_name).count();
        self.segments.len() == other.segments.len()
            && self.segments.iter().zip(&other.segments).all(covers)
            && names(self) < names(other)
    }
}

impl fmt::Display for RouteTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&[]))
    }
}

#[cfg(test)]
mod tests;
