//! Trie of path templates by segment: one walk along a path finds all templates that match it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use smallvec::SmallVec;

use super::path::PathView;
use super::template::{End, Segment, Template};

/// Indexes of the rules whose templates match.
pub(super) type RuleIndexes = SmallVec<[u32; 16]>;

/// Trie of path templates.
#[derive(Clone, Debug)]
pub(super) struct Trie {
    /// The first is the root.
    nodes: Vec<TrieNode>,
}

/// Templates with a common beginning.
#[derive(Clone, Default, Debug)]
struct TrieNode {
    literals: HashMap<Box<[u8]>, u32, BuildHasherDefault<Fnv>>,
    parameter: Option<u32>,
    /// Templates that end here.
    here: Vec<u32>,
    /// Templates that continue with anything.
    rest: Vec<u32>,
}

/// FNV-1a, which is fast for short texts. Only the author of the policy chooses the keys of the
/// map, so that nobody else can fill it with colliding ones.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The length of a text comes before it, in one step.
    #[inline]
    fn write_usize(&mut self, length: usize) {
        self.0 = (self.0 ^ length as u64).wrapping_mul(0x0100_0000_01b3);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // A map looks at the highest bits too, which the last bytes hardly reach.
        self.0 ^ self.0.rotate_left(32)
    }
}

/// Few as they are, one by one is quicker than a copy.
#[inline(always)]
fn add(numbers: &[u32], found: &mut RuleIndexes) {
    numbers.iter().for_each(|number| found.push(*number));
}

impl Default for Trie {
    fn default() -> Self {
        Self { nodes: vec![TrieNode::default()] }
    }
}

impl Trie {
    pub(super) fn insert(&mut self, template: &Template, number: u32) {
        let mut at = 0;
        for segment in &template.segments {
            let fresh = self.nodes.len() as u32;
            let node = &mut self.nodes[at];
            let next = match segment {
                Segment::Literal(literal) => *node.literals.entry(literal.clone()).or_insert(fresh),
                Segment::Parameter(_) => *node.parameter.get_or_insert(fresh),
            };
            if next == fresh {
                self.nodes.push(TrieNode::default());
            }
            at = next as usize;
        }
        let node = &mut self.nodes[at];
        if matches!(template.end, End::Here | End::Below) {
            node.here.push(number);
        }
        if matches!(template.end, End::Rest(_) | End::Below) {
            node.rest.push(number);
        }
    }

    /// Adds the numbers of all templates that match. A number that was inserted several times may
    /// come several times.
    #[inline(always)]
    pub(super) fn collect(&self, path: PathView<'_, '_>, found: &mut RuleIndexes) {
        let mut nodes: SmallVec<[u32; 8]> = SmallVec::from_slice(&[0]);
        let mut next: SmallVec<[u32; 8]> = SmallVec::new();
        for segment in path.segments() {
            next.clear();
            for node in &nodes {
                let node = &self.nodes[*node as usize];
                add(&node.rest, found);
                if let Some(parameter) = node.parameter {
                    next.push(parameter);
                }
                if let Some(literal) = node.literals.get(segment) {
                    next.push(*literal);
                }
            }
            if next.is_empty() {
                return;
            }
            std::mem::swap(&mut nodes, &mut next);
        }
        for node in nodes {
            let node = &self.nodes[node as usize];
            add(&node.here, found);
            if path.has_slash() {
                add(&node.rest, found);
            }
        }
    }
}

#[cfg(test)]
mod tests;
