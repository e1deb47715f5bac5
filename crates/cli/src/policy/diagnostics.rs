//! All that is wrong with a policy file, as it is shown: every error with its line, its column and what stands there.

use std::fmt;

use miette::{Diagnostic, LabeledSpan, SourceCode};
use slidegate::policy::{PolicyError, PolicyErrors};

/// The errors of one file.
#[derive(Debug)]
pub(crate) struct Broken {
    name: String,
    count: usize,
    errors: Vec<One>,
}

impl Broken {
    pub(super) fn new(name: &str, errors: &PolicyErrors) -> Self {
        let (name, count) = (name.to_owned(), errors.count());
        Self { name, count, errors: errors.iter().cloned().map(One).collect() }
    }

    pub(crate) fn errors(&self) -> impl Iterator<Item = &PolicyError> {
        self.errors.iter().map(|One(error)| error)
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, count, shown) = (&self.name, self.count, self.errors.len());
        match count {
            1 => write!(f, "{name} has an error"),
            _ if shown < count => write!(f, "{name} has {count} errors; these are the first {shown}"),
            _ => write!(f, "{name} has {count} errors"),
        }
    }
}

impl std::error::Error for Broken {}

impl Diagnostic for Broken {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.errors.iter().map(|error| error as &dyn Diagnostic)))
    }
}

/// One error. As text it is only what is wrong: the place and the remedy are shown around it.
#[derive(Debug)]
struct One(PolicyError);

impl fmt::Display for One {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.what)
    }
}

impl std::error::Error for One {}

impl Diagnostic for One {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.help()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.0.labels()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.source_code()
    }
}
