//! Construction of the tree from the events of the parser, within bounds.

use std::collections::HashMap;
use std::rc::Rc;

use granit_parser::{Event, Parser, ScalarStyle, Span as Place, StructureStyle};

use super::super::diagnostics::{Diagnostics, quote};
use super::super::file::Span;
use super::tree::{Entry, Kind, Node};
use super::{Options, syntax};

/// Trees of the documents in a text. `None`: an error made reading on pointless, and was reported.
///
/// After other errors the tree is there, with [`Kind::Invalid`] in the places of invalid values.
pub fn documents(text: &str, options: &Options, diagnostics: &Diagnostics) -> Option<Vec<Rc<Node>>> {
    // A little more than is allowed, so that the error is ours.
    let nesting = options.max_depth + 1;
    let parser_options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_comments: false,
        flow_nesting_limit: nesting,
        block_nesting_limit: nesting,
    };
    let (open, anchors, roots) = (Vec::new(), HashMap::new(), Vec::new());
    let mut build = Build { options, diagnostics, open, anchors, values: 0, roots };
    for event in Parser::new_from_str_with_options(text, parser_options) {
        let done = match event {
            Ok((event, place)) => build.event(event, &place),
            Err(error) => {
                let bracket = build.open.iter().rev().find(|open| open.flow).map(|open| open.at);
                syntax::report(&error, text, bracket, diagnostics);
                None
            }
        };
        done?;
    }
    Some(build.roots)
}

struct Build<'p> {
    options: &'p Options,
    diagnostics: &'p Diagnostics,
    open: Vec<OpenCollection>,
    /// Complete nodes, which aliases can refer to.
    anchors: HashMap<usize, SizedNode>,
    /// Number of values, counting those behind aliases each time.
    values: usize,
    roots: Vec<Rc<Node>>,
}

/// Collection whose end was not reached yet.
struct OpenCollection {
    at: Span,
    anchor: usize,
    flow: bool,
    size: usize,
    depth: usize,
    inside: CollectionContent,
}

enum CollectionContent {
    Sequence(Vec<Rc<Node>>),
    Mapping {
        entries: Vec<Entry>,
        /// Positions of the keys.
        keys: HashMap<String, Span>,
        /// Values of merge keys.
        merged: Vec<Rc<Node>>,
        /// Key whose value comes next.
        key: Option<FieldKey>,
    },
}

/// Key of a mapping.
enum FieldKey {
    Name(String, Span),
    /// `<<`.
    Merge,
    /// Reported; its value is dropped.
    Invalid,
}

/// Node with the number of its values and their depth.
#[derive(Clone)]
struct SizedNode {
    node: Rc<Node>,
    size: usize,
    depth: usize,
}

impl Build<'_> {
    /// `None`: reading on is pointless.
    fn event(&mut self, event: Event<'_>, place: &Place) -> Option<()> {
        let at = span(place);
        if let Some(tag) = place.tag_span().filter(|_| !self.options.tags) {
            let message = "YAML tags such as `!!str` are not supported";
            self.diagnostics.report(span(&tag), message, "remove the tag; quote the value if it is a string");
        }
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let plain = style == ScalarStyle::Plain;
                self.put(anchor, at, Kind::Scalar { text: text.into_owned(), plain })
            }
            Event::SequenceStart(style, anchor, _) => {
                self.open(at, style, anchor, CollectionContent::Sequence(Vec::new()))
            }
            Event::MappingStart(style, anchor, _) => {
                let (entries, keys, merged) = (Vec::new(), HashMap::new(), Vec::new());
                let inside = CollectionContent::Mapping { entries, keys, merged, key: None };
                self.open(at, style, anchor, inside)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(at),
            Event::Alias(anchor) => self.alias(anchor, at),
            Event::UnresolvedAlias(name) => {
                let message = format!("unknown alias {}: no anchor before it has this name", quote(&name));
                let help = format!(
                    "add `&{name}` to the value it refers to, or quote a string that starts with `*`"
                );
                self.diagnostics.report(at, message, help);
                self.put(0, at, Kind::Invalid)
            }
            Event::DocumentStart(..) if !self.roots.is_empty() && !self.options.multiple_documents => {
                let message = "more than one YAML document";
                self.diagnostics.report(at, message, "remove `---` and everything after it");
                None
            }
            _ => Some(()),
        }
    }

    fn open(
        &mut self,
        at: Span,
        style: StructureStyle,
        anchor: usize,
        inside: CollectionContent,
    ) -> Option<()> {
        if self.open.len() >= self.options.max_depth {
            return self.too_deep(at);
        }
        let flow = style == StructureStyle::Flow;
        self.open.push(OpenCollection { at, anchor, flow, size: 1, depth: 1, inside });
        Some(())
    }

    fn too_deep(&self, at: Span) -> Option<()> {
        let help = format!("use at most {} levels", self.options.max_depth);
        self.diagnostics.report(at, "nested too deeply", help);
        None
    }

    fn put(&mut self, anchor: usize, at: Span, kind: Kind) -> Option<()> {
        self.count(1, at)?;
        let node = SizedNode { node: Rc::new(Node { at, kind }), size: 1, depth: 0 };
        self.add(anchor, node, at)
    }

    fn close(&mut self, end: Span) -> Option<()> {
        let OpenCollection { at, anchor, flow, size, depth, inside } = self.open.pop()?;
        self.count(1, at)?;
        let (kind, last) = match inside {
            CollectionContent::Sequence(nodes) => {
                let last = nodes.last().map(|node| node.at);
                (Kind::Sequence(nodes), last)
            }
            CollectionContent::Mapping { entries, merged, .. } => {
                let last = entries.last().map(|entry| entry.value.at);
                (Kind::Mapping(merge(entries, &merged)), last)
            }
        };
        // A block ends where the next value starts: end it after its own last value. An alias
        // stands elsewhere.
        let end = if flow { end } else { last.filter(|last| last.start >= at.start).unwrap_or(at) };
        let node = SizedNode { node: Rc::new(Node { at: at.to(end), kind }), size, depth };
        self.add(anchor, node, at)
    }

    fn alias(&mut self, anchor: usize, at: Span) -> Option<()> {
        match self.anchors.get(&anchor) {
            Some(node) => {
                let node = node.clone();
                self.count(node.size, at)?;
                self.add(0, node, at)
            }
            None => {
                let message = "this alias refers to a value that contains it";
                self.diagnostics.report(at, message, "write the value out");
                None
            }
        }
    }

    fn count(&mut self, values: usize, at: Span) -> Option<()> {
        self.values += values;
        let max = self.options.max_values;
        if self.values > max {
            let message = format!("with its aliases expanded the file has more than {max} values");
            self.diagnostics.report(at, message, "split it, or use fewer aliases");
            return None;
        }
        Some(())
    }

    /// Adds a complete node to the innermost open collection. `at` is where it is used.
    fn add(&mut self, anchor: usize, node: SizedNode, at: Span) -> Option<()> {
        if self.open.len() + node.depth > self.options.max_depth {
            return self.too_deep(at);
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.roots.push(node.node);
            return Some(());
        };
        open.size += node.size;
        open.depth = open.depth.max(node.depth + 1);
        match &mut open.inside {
            CollectionContent::Sequence(nodes) => nodes.push(node.node),
            CollectionContent::Mapping { entries, keys, merged, key } => match key.take() {
                None => *key = Some(field(&node.node, at, keys, self.options, self.diagnostics)),
                Some(FieldKey::Name(key, key_at)) => entries.push(Entry { key, key_at, value: node.node }),
                Some(FieldKey::Merge) => merged.push(node.node),
                Some(FieldKey::Invalid) => {}
            },
        }
        Some(())
    }
}

/// Key of a field, if it is valid and was not used before.
fn field(
    node: &Node,
    at: Span,
    keys: &mut HashMap<String, Span>,
    options: &Options,
    diagnostics: &Diagnostics,
) -> FieldKey {
    let (text, plain) = match &node.kind {
        Kind::Scalar { text, plain } => (text, *plain),
        Kind::Invalid => return FieldKey::Invalid,
        Kind::Sequence(_) | Kind::Mapping(_) => {
            let help = "write `name: value`, and quote a string that contains `{` or `[`";
            diagnostics.report(at, "a field name must be a string", help);
            return FieldKey::Invalid;
        }
    };
    if plain && text == "<<" {
        if options.merge_keys {
            return FieldKey::Merge;
        }
        let help = "repeat the fields, or use an alias for a whole value, as in `limits: *usual`";
        diagnostics.report(at, "merge keys (`<<`) are not supported", help);
        return FieldKey::Invalid;
    }
    if node.is_null() {
        diagnostics.report(at, "missing field name", "write `name: value`");
        return FieldKey::Invalid;
    }
    if let Some(first) = keys.get(text) {
        let message = format!("duplicate field {}: first on line {}", quote(text), diagnostics.line(*first));
        diagnostics.report(at, message, "remove one of them");
        return FieldKey::Invalid;
    }
    keys.insert(text.clone(), at);
    FieldKey::Name(text.clone(), at)
}

/// Fields of a mapping, then those of the mappings that are merged into it. The first of a name
/// applies.
fn merge(mut entries: Vec<Entry>, merged: &[Rc<Node>]) -> Vec<Entry> {
    for node in merged {
        match &node.kind {
            Kind::Mapping(others) => {
                let is_new = |other: &&Entry| !entries.iter().any(|entry| entry.key == other.key);
                let new: Vec<Entry> = others.iter().filter(is_new).cloned().collect();
                entries.extend(new);
            }
            Kind::Sequence(nodes) => entries = merge(entries, nodes),
            Kind::Scalar { .. } | Kind::Invalid => {}
        }
    }
    entries
}

fn span(place: &Place) -> Span {
    let range = place.byte_range().unwrap_or_default();
    Span { start: range.start, len: range.len() }
}
