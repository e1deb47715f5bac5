//! Tree of the paths of requests, from which templates of routes are learned.
//!
//! Its size is bounded. When it is full, names that would become a parameter anyway become one; if
//! that is not enough, paths that need further nodes teach nothing, and are counted.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::segment::{ValueClass, segments};
use super::template::{PathParameter, RouteTemplate, TemplateSegment};

/// Maximum number of nodes.
const MAX_NODES: usize = 1 << 17;
/// Maximum number of segments of a path that teaches.
const MAX_SEGMENTS: usize = 32;
/// Largest number of rare names below a node that stay names.
const MAX_RARE_NAMES: usize = 50;
/// A name is rare below a node if it has less than this part of the requests.
const RARE_PART: u64 = 10;

/// Index of a node.
type NodeIndex = usize;

/// Tree of paths.
#[derive(Debug)]
pub(super) struct RouteTree {
    nodes: Vec<RouteNode>,
    max_nodes: usize,
    is_full: bool,
    /// Requests that taught.
    requests: u64,
    /// Requests that taught nothing, because the tree was full.
    unlearned: u64,
}

/// Node: the requests whose path begins with its segments.
#[derive(Default, Debug)]
struct RouteNode {
    /// Requests of the whole path.
    ends: u64,
    /// Requests at and below the node, once they are added up.
    total: u64,
    names: BTreeMap<Box<str>, NodeIndex>,
    /// Child for all values.
    parameter: Option<NodeIndex>,
    /// What the node stands for, if it is a parameter.
    values: ValueCounts,
}

/// Requests of a parameter by the class of its values.
#[derive(Clone, Copy, Default, Debug)]
struct ValueCounts([u64; ValueClass::ALL.len()]);

impl RouteTree {
    pub(super) fn new() -> Self {
        Self::bounded(MAX_NODES)
    }

    fn bounded(max_nodes: usize) -> Self {
        Self { nodes: vec![RouteNode::default()], max_nodes, is_full: false, requests: 0, unlearned: 0 }
    }

    /// Requests that taught nothing, because the tree was full.
    pub(super) fn unlearned(&self) -> u64 {
        self.unlearned
    }

    /// Learns the path of a request.
    pub(super) fn learn(&mut self, path: &str) {
        let Some(segments) = segments(path) else { return };
        let segments: Vec<&str> = segments.take(MAX_SEGMENTS + 1).collect();
        if segments.len() > MAX_SEGMENTS {
            return;
        }
        if !self.is_full && self.nodes.len() + segments.len() > self.max_nodes {
            self.compact();
        }
        let mut node = 0;
        for segment in segments {
            match self.child(node, segment) {
                Some(child) => node = child,
                None => return self.unlearned += 1,
            }
        }
        self.nodes[node].ends += 1;
        self.requests += 1;
    }

    /// Child for a segment; `None` if there is none and the tree is full.
    fn child(&mut self, node: NodeIndex, segment: &str) -> Option<NodeIndex> {
        let class = ValueClass::of(segment);
        if class.is_none()
            && let Some(child) = self.nodes[node].names.get(segment)
        {
            return Some(*child);
        }
        let parameter = self.nodes[node].parameter;
        // Where many names became a parameter, further ones belong to it.
        let takes_names = |child: &NodeIndex| self.is_full || self.nodes[*child].values.has_names();
        let child = match parameter.filter(|child| class.is_some() || takes_names(child)) {
            Some(child) => child,
            None if self.is_full => return None,
            None => {
                self.nodes.push(RouteNode::default());
                let child = self.nodes.len() - 1;
                if class.is_none() {
                    self.nodes[node].names.insert(segment.into(), child);
                    return Some(child);
                }
                self.nodes[node].parameter = Some(child);
                child
            }
        };
        self.nodes[child].values.add(class.unwrap_or(ValueClass::Name), 1);
        Some(child)
    }

    /// Makes room: rare names become parameters now.
    fn compact(&mut self) {
        self.generalize();
        let mut compact = vec![RouteNode::default()];
        copy(&mut self.nodes, 0, (&mut compact, 0));
        self.nodes = compact;
        self.is_full = self.nodes.len() > self.max_nodes / 4 * 3;
    }

    /// Makes parameters of many rare names, from the root down.
    fn generalize(&mut self) {
        self.add_up(0);
        self.generalize_below(0);
    }

    fn add_up(&mut self, node: NodeIndex) -> u64 {
        let children: Vec<NodeIndex> = self.nodes[node].children().collect();
        let below: u64 = children.into_iter().map(|child| self.add_up(child)).sum();
        self.nodes[node].total = self.nodes[node].ends + below;
        self.nodes[node].total
    }

    fn generalize_below(&mut self, node: NodeIndex) {
        let total = self.nodes[node].total;
        let is_rare = |child: NodeIndex| self.nodes[child].total * RARE_PART < total;
        let rare = self.nodes[node].names.values().filter(|child| is_rare(**child)).count();
        if rare > MAX_RARE_NAMES {
            let names = std::mem::take(&mut self.nodes[node].names);
            for (name, child) in names {
                if self.nodes[child].total * RARE_PART < total {
                    self.become_value(node, child);
                } else {
                    self.nodes[node].names.insert(name, child);
                }
            }
        }
        for child in self.nodes[node].children().collect::<Vec<_>>() {
            self.generalize_below(child);
        }
    }

    /// Makes a named child one of the values of the parameter.
    fn become_value(&mut self, node: NodeIndex, child: NodeIndex) {
        let total = self.nodes[child].total;
        let parameter = match self.nodes[node].parameter {
            Some(parameter) => {
                self.merge(parameter, child);
                parameter
            }
            None => child,
        };
        self.nodes[node].parameter = Some(parameter);
        self.nodes[parameter].values.add(ValueClass::Name, total);
    }

    /// Adds a node, and all below it, to another.
    fn merge(&mut self, into: NodeIndex, from: NodeIndex) {
        let RouteNode { ends, total, names, parameter, values } = std::mem::take(&mut self.nodes[from]);
        let node = &mut self.nodes[into];
        node.ends += ends;
        node.total += total;
        ValueClass::ALL
            .into_iter()
            .zip(values.0)
            .for_each(|(class, requests)| node.values.add(class, requests));
        for (name, child) in names {
            match self.nodes[into].names.get(&name).copied() {
                Some(present) => self.merge(present, child),
                None => _ = self.nodes[into].names.insert(name, child),
            }
        }
        match (self.nodes[into].parameter, parameter) {
            (Some(present), Some(child)) => self.merge(present, child),
            (None, Some(child)) => self.nodes[into].parameter = Some(child),
            (_, None) => {}
        }
    }

    /// Templates of the paths that were learned, those with the most requests first.
    pub(super) fn templates(mut self, most: usize) -> Vec<RouteTemplate> {
        self.generalize();
        let mut found = Vec::new();
        self.collect(0, &mut Vec::new(), &mut found);
        found.sort_by(|(a_ends, a), (b_ends, b)| b_ends.cmp(a_ends).then_with(|| a.cmp(b)));
        found.truncate(most);
        let template = |(ends, segments)| RouteTemplate::new(segments, ends as f64 / self.requests as f64);
        found.into_iter().map(template).collect()
    }

    fn collect(
        &self,
        node: NodeIndex,
        path: &mut Vec<TemplateSegment>,
        found: &mut Vec<(u64, Vec<TemplateSegment>)>,
    ) {
        let RouteNode { ends, names, parameter, .. } = &self.nodes[node];
        if *ends > 0 {
            found.push((*ends, path.clone()));
        }
        let names = names.iter().map(|(name, child)| (TemplateSegment::Name(name.clone()), *child));
        let parameter = parameter.map(|child| {
            let values = self.nodes[child].values;
            (TemplateSegment::Parameter(values.parameter()), child)
        });
        for (segment, child) in names.chain(parameter).collect::<Vec<_>>() {
            path.push(segment);
            self.collect(child, path, found);
            path.pop();
        }
    }
}

impl RouteNode {
    fn children(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.names.values().copied().chain(self.parameter)
    }
}

impl ValueCounts {
    fn add(&mut self, class: ValueClass, requests: u64) {
        self.0[class as usize] += requests;
    }

    fn has_names(&self) -> bool {
        self.0[ValueClass::Name as usize] > 0
    }

    fn parameter(&self) -> PathParameter {
        let classes = ValueClass::ALL.into_iter().zip(self.0).filter(|(_, requests)| *requests > 0);
        let mut classes: Vec<(ValueClass, u64)> = classes.collect();
        classes.sort_by_key(|(class, requests)| (Reverse(*requests), *class));
        PathParameter(classes.into_iter().map(|(class, _)| class).collect())
    }
}

/// Moves a node, and all below it, into other nodes.
fn copy(from: &mut Vec<RouteNode>, index: NodeIndex, (to, copied): (&mut Vec<RouteNode>, NodeIndex)) {
    let mut node = std::mem::take(&mut from[index]);
    let children: Vec<&mut NodeIndex> = node.names.values_mut().chain(node.parameter.as_mut()).collect();
    for child in children {
        to.push(RouteNode::default());
        let place = to.len() - 1;
        copy(from, *child, (to, place));
        *child = place;
    }
    to[copied] = node;
}

#[cfg(test)]
mod tests;
