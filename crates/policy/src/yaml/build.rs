//! YAML into a tree, within bounds.

use std::collections::HashMap;
use std::rc::Rc;

use granit_parser::{Event, Parser, ScalarStyle, Span as Place, StructureStyle};

use super::super::diagnostics::Problems;
use super::super::file::Span;
use super::tree::{Entry, Kind, Meaning, Node, meaning, quoted};
use super::{MAX_DEPTH, MAX_NODES, syntax};

/// The tree of the one document in a file. `None`: there is none, and that was reported.
pub(crate) fn tree(text: &str, problems: &Problems) -> Option<Rc<Node>> {
    // A little more than is allowed, so that the error is ours.
    let nesting = MAX_DEPTH + 1;
    let options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_comments: false,
        flow_nesting_limit: nesting,
        block_nesting_limit: nesting,
    };
    let mut build = Build { problems, open: Vec::new(), anchors: HashMap::new(), nodes: 0, root: None };
    for event in Parser::new_from_str_with_options(text, options) {
        let done = match event {
            Ok((event, place)) => build.event(event, &place),
            Err(error) => {
                let bracket = build.open.iter().rev().find(|open| open.flow).map(|open| open.at);
                syntax::report(&error, text, bracket, problems);
                None
            }
        };
        done?;
    }
    if build.root.is_none() {
        problems.report(
            Span::default(),
            "the file is empty",
            "a policy starts with `version: 1`, then come its rules",
        );
    }
    build.root.map(|measured| measured.node)
}

struct Build<'p> {
    problems: &'p Problems,
    open: Vec<Open>,
    /// What aliases can refer to: nodes that are complete.
    anchors: HashMap<usize, Measured>,
    /// How many nodes the tree has, those behind aliases as often as they are used.
    nodes: usize,
    root: Option<Measured>,
}

/// A collection whose end has not come yet.
struct Open {
    at: Span,
    anchor: usize,
    flow: bool,
    size: usize,
    depth: usize,
    inside: Inside,
}

enum Inside {
    Sequence(Vec<Rc<Node>>),
    /// The key that waits for its value, if it can be used, comes last.
    Mapping {
        entries: Vec<Entry>,
        seen: HashMap<String, Span>,
        key: Option<Option<(String, Span)>>,
    },
}

/// A node, how many it consists of and how deep they lie.
#[derive(Clone)]
struct Measured {
    node: Rc<Node>,
    size: usize,
    depth: usize,
}

impl Build<'_> {
    /// `None`: it makes no sense to go on.
    fn event(&mut self, event: Event<'_>, place: &Place) -> Option<()> {
        let at = span(place);
        if let Some(tag) = place.tag_span() {
            let what = "YAML tags such as `!!str` are not used in a policy";
            self.problems.report(span(&tag), what, "remove the tag; put a text in quotes");
        }
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let plain = style == ScalarStyle::Plain;
                self.put(anchor, at, Kind::Scalar { text: text.into_owned(), plain })
            }
            Event::SequenceStart(style, anchor, _) => {
                self.open(at, style, anchor, Inside::Sequence(Vec::new()))
            }
            Event::MappingStart(style, anchor, _) => {
                let inside = Inside::Mapping { entries: Vec::new(), seen: HashMap::new(), key: None };
                self.open(at, style, anchor, inside)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(at),
            Event::Alias(anchor) => self.alias(anchor, at),
            Event::UnresolvedAlias(name) => {
                let what = format!("there is no anchor {} before this alias", quoted(&name));
                let remedy = format!("write &{name} before the value that is meant, or quote a text with *");
                self.problems.report(at, what, remedy);
                self.put(0, at, Kind::Wrong)
            }
            Event::DocumentStart(..) if self.root.is_some() => {
                let what = "a second document starts here";
                self.problems.report(at, what, "a file holds one policy: remove this and what follows");
                None
            }
            _ => Some(()),
        }
    }

    fn open(&mut self, at: Span, style: StructureStyle, anchor: usize, inside: Inside) -> Option<()> {
        if self.open.len() >= MAX_DEPTH {
            return self.too_deep(at);
        }
        let flow = style == StructureStyle::Flow;
        self.open.push(Open { at, anchor, flow, size: 1, depth: 1, inside });
        Some(())
    }

    fn too_deep(&self, at: Span) -> Option<()> {
        self.problems.report(at, "this is nested too deeply", "a policy needs no more than ten levels");
        None
    }

    fn put(&mut self, anchor: usize, at: Span, kind: Kind) -> Option<()> {
        self.count(1, at)?;
        let node = Measured { node: Rc::new(Node { at, kind }), size: 1, depth: 0 };
        self.add(anchor, node, at)
    }

    fn close(&mut self, end: Span) -> Option<()> {
        let Open { at, anchor, flow, size, depth, inside } = self.open.pop()?;
        self.count(1, at)?;
        let (kind, last) = match inside {
            Inside::Sequence(nodes) => {
                let last = nodes.last().map(|node| node.at);
                (Kind::Sequence(nodes), last)
            }
            Inside::Mapping { entries, .. } => {
                let last = entries.last().map(|entry| entry.value.at);
                (Kind::Mapping(entries), last)
            }
        };
        // A block ends where the next thing starts, which is of no use to a reader. Aliases stand elsewhere.
        let end = if flow { end } else { last.filter(|last| last.start >= at.start).unwrap_or(at) };
        let node = Measured { node: Rc::new(Node { at: at.to(end), kind }), size, depth };
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
                let what = "this alias refers to what it is part of";
                self.problems.report(at, what, "write the value out");
                None
            }
        }
    }

    fn count(&mut self, nodes: usize, at: Span) -> Option<()> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            let what = format!("with its aliases written out the file has more than {MAX_NODES} values");
            self.problems.report(at, what, "split it, or use fewer aliases");
            return None;
        }
        Some(())
    }

    /// A node that is complete goes where it belongs; `at` is where it is used.
    fn add(&mut self, anchor: usize, node: Measured, at: Span) -> Option<()> {
        if self.open.len() + node.depth > MAX_DEPTH {
            return self.too_deep(at);
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Some(());
        };
        open.size += node.size;
        open.depth = open.depth.max(node.depth + 1);
        match &mut open.inside {
            Inside::Sequence(nodes) => nodes.push(node.node),
            Inside::Mapping { entries, seen, key } => match key.take() {
                None => *key = Some(field(&node.node, at, seen, self.problems)),
                Some(Some((key, key_at))) => entries.push(Entry { key, key_at, value: node.node }),
                Some(None) => {}
            },
        }
        Some(())
    }
}

/// The name of a field, if it is one and has not come before.
fn field(
    node: &Node,
    at: Span,
    seen: &mut HashMap<String, Span>,
    problems: &Problems,
) -> Option<(String, Span)> {
    let (text, plain) = match &node.kind {
        Kind::Scalar { text, plain } => (text, *plain),
        Kind::Wrong => return None,
        Kind::Sequence(_) | Kind::Mapping(_) => {
            problems.report(
                at,
                "a field has a text as its name",
                "write name: value; a text with { or [ needs quotes",
            );
            return None;
        }
    };
    if plain && text == "<<" {
        let what = "merge keys (`<<`) are not supported";
        problems.report(
            at,
            what,
            "repeat the fields, or use an alias for a whole value, as in limits: *usual",
        );
        return None;
    }
    if meaning(text, plain) == Meaning::Nothing {
        problems.report(at, "a field without a name", "write name: value");
        return None;
    }
    if let Some(first) = seen.get(text) {
        let what = format!("{} is here twice; the first is on line {}", quoted(text), problems.line(*first));
        problems.report(at, what, "remove one of them");
        return None;
    }
    seen.insert(text.clone(), at);
    Some((text.clone(), at))
}

fn span(place: &Place) -> Span {
    let range = place.byte_range().unwrap_or_default();
    Span { start: range.start, len: range.len() }
}
