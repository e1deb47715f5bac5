//! YAML of other systems as a tree whose nodes know where they stand.

use std::collections::HashMap;
use std::rc::Rc;

use granit_parser::{Event, Parser, ScalarStyle, Span as Place};
use miette::Report;
use slidegate::policy::file::Span;

use super::quote::excerpt;
use super::source::SourceFile;

/// How deep values may lie, and how many there may be, those behind aliases as often as they are
/// used.
const MAX_DEPTH: usize = 64;
const MAX_NODES: usize = 1_000_000;

pub(super) struct Node {
    pub(super) at: Span,
    pub(super) kind: Kind,
    size: usize,
    depth: usize,
}

pub(super) enum Kind {
    /// `plain`: without quotes, so that it may mean a number, a boolean or nothing.
    Scalar {
        text: String,
        plain: bool,
    },
    Sequence(Vec<Rc<Node>>),
    Mapping(Vec<Entry>),
}

#[derive(Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_at: Span,
    pub(super) value: Rc<Node>,
}

/// The documents of a file; one that is empty is not counted.
pub(super) fn documents(source: &SourceFile) -> Result<Vec<Rc<Node>>, Report> {
    let nesting = MAX_DEPTH + 1;
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: nesting,
        block_nesting_limit: nesting,
    };
    let mut build = Build { source, open: Vec::new(), anchors: HashMap::new(), nodes: 0, roots: Vec::new() };
    for event in Parser::new_from_str_with_options(&source.text, options) {
        let (event, place) = event.map_err(|error| {
            let at = Span { start: error.marker().byte_offset().unwrap_or_default(), len: 1 };
            source.error(at, format!("invalid YAML: {}", error.kind()), "check quotes and indentation")
        })?;
        build.event(event, &place)?;
    }
    build.roots.retain(|root| !root.is_nothing());
    Ok(build.roots)
}

impl Node {
    pub(super) fn is_nothing(&self) -> bool {
        let nothing = ["", "~", "null", "Null", "NULL"];
        matches!(&self.kind, Kind::Scalar { text, plain: true } if nothing.contains(&text.as_str()))
    }

    /// Where to point when it lacks something: its first field, since the whole may be many lines.
    pub(super) fn head(&self) -> Span {
        match &self.kind {
            Kind::Mapping(entries) => entries.first().map_or(self.at, |entry| entry.key_at),
            _ => self.at,
        }
    }
}

struct Build<'s> {
    source: &'s SourceFile,
    open: Vec<Open>,
    anchors: HashMap<usize, Rc<Node>>,
    nodes: usize,
    roots: Vec<Rc<Node>>,
}

/// A collection whose end has not come yet.
struct Open {
    at: Span,
    anchor: usize,
    size: usize,
    depth: usize,
    inside: Inside,
}

enum Inside {
    Sequence(Vec<Rc<Node>>),
    /// The key that waits for its value comes last; `None`: of a merge.
    Mapping {
        entries: Vec<Entry>,
        seen: HashMap<String, Span>,
        merged: Vec<Rc<Node>>,
        key: Option<(Option<String>, Span)>,
    },
}

impl Build<'_> {
    fn event(&mut self, event: Event<'_>, place: &Place) -> Result<(), Report> {
        let range = place.byte_range().unwrap_or_default();
        let at = Span { start: range.start, len: range.len() };
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let kind = Kind::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain };
                self.count(1, at)?;
                self.add(anchor, Rc::new(Node { at, kind, size: 1, depth: 0 }), at)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(at, anchor, Inside::Sequence(Vec::new())),
            Event::MappingStart(_, anchor, _) => {
                let (entries, merged, seen) = (Vec::new(), Vec::new(), HashMap::new());
                self.begin(at, anchor, Inside::Mapping { entries, seen, merged, key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some(node) => {
                    self.count(node.size, at)?;
                    self.add(0, node, at)
                }
                None => Err(self.source.error(
                    at,
                    "this alias refers to a value that contains it",
                    "write the value out",
                )),
            },
            _ => Ok(()),
        }
    }

    fn begin(&mut self, at: Span, anchor: usize, inside: Inside) -> Result<(), Report> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.too_deep(at));
        }
        self.open.push(Open { at, anchor, size: 1, depth: 1, inside });
        Ok(())
    }

    fn too_deep(&self, at: Span) -> Report {
        self.source.error(at, "nested too deeply", format!("use at most {MAX_DEPTH} levels"))
    }

    fn end(&mut self) -> Result<(), Report> {
        let Some(Open { at, anchor, size, depth, inside }) = self.open.pop() else { return Ok(()) };
        let kind = match inside {
            Inside::Sequence(nodes) => Kind::Sequence(nodes),
            Inside::Mapping { entries, merged, .. } => Kind::Mapping(merge(entries, &merged)),
        };
        self.count(1, at)?;
        self.add(anchor, Rc::new(Node { at, kind, size, depth }), at)
    }

    fn count(&mut self, nodes: usize, at: Span) -> Result<(), Report> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            let what = format!("with its aliases expanded the file has more than {MAX_NODES} values");
            return Err(self.source.error(at, what, "split it, or use fewer aliases"));
        }
        Ok(())
    }

    /// A node that is complete goes where it belongs; `at` is where it is used.
    fn add(&mut self, anchor: usize, node: Rc<Node>, at: Span) -> Result<(), Report> {
        if self.open.len() + node.depth > MAX_DEPTH {
            return Err(self.too_deep(at));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        let Some(open) = self.open.last_mut() else {
            self.roots.push(node);
            return Ok(());
        };
        open.size += node.size;
        open.depth = open.depth.max(node.depth + 1);
        match &mut open.inside {
            Inside::Sequence(nodes) => nodes.push(node),
            Inside::Mapping { entries, seen, merged, key } => match key.take() {
                None => *key = Some((field(self.source, &node, at, seen)?, at)),
                Some((Some(name), key_at)) => entries.push(Entry { key: name, key_at, value: node }),
                Some((None, _)) => merged.push(node),
            },
        }
        Ok(())
    }
}

/// The name of a field that has not come before; `None`: a merge (`<<`).
fn field(
    source: &SourceFile,
    node: &Node,
    at: Span,
    seen: &mut HashMap<String, Span>,
) -> Result<Option<String>, Report> {
    let Kind::Scalar { text, plain } = &node.kind else {
        return Err(source.error(at, "a field name must be a text", "write `name: value`"));
    };
    if *plain && text == "<<" {
        return Ok(None);
    }
    if let Some(first) = seen.insert(text.clone(), at) {
        let what = format!("duplicate field `{}`: first on line {}", excerpt(text), source.line(first));
        return Err(source.error(at, what, "remove one of them"));
    }
    Ok(Some(text.clone()))
}

/// A mapping has what it says itself, then what those say that are merged into it.
fn merge(mut entries: Vec<Entry>, merged: &[Rc<Node>]) -> Vec<Entry> {
    for node in merged {
        match &node.kind {
            Kind::Mapping(others) => {
                let is_new = |other: &&Entry| !entries.iter().any(|entry| entry.key == other.key);
                let new: Vec<Entry> = others.iter().filter(is_new).cloned().collect();
                entries.extend(new);
            }
            Kind::Sequence(nodes) => entries = merge(entries, nodes),
            Kind::Scalar { .. } => {}
        }
    }
    entries
}
