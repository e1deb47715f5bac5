//! Conditions of Limitador: the subset of CEL that a rule can express.

use super::super::attribute::AttributeTest;
use super::token::{self, ConditionToken};

/// Test of one attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Clause {
    pub(super) attribute: String,
    pub(super) test: AttributeTest,
    /// Whether the attribute must be present and fail the test.
    pub(super) negated: bool,
}

/// Parses a condition into clauses, all of which must hold. The error says what a rule cannot
/// express.
pub(super) fn parse(text: &str) -> Result<Vec<Clause>, String> {
    let mut parser = ConditionParser { tokens: token::tokens(text)?, at: 0, depth: 0 };
    let clauses = parser.any_of()?;
    match parser.next() {
        None => Ok(clauses),
        Some(token) => Err(format!("a rule cannot express the part from {token}")),
    }
}

/// Parses a variable: the name of an attribute.
pub(super) fn variable(text: &str) -> Result<String, String> {
    let mut parser = ConditionParser { tokens: token::tokens(text)?, at: 0, depth: 0 };
    match (parser.operand()?, parser.next()) {
        (Operand::Attribute(name), None) => Ok(name),
        _ => Err("a key consists of attributes, not expressions".to_owned()),
    }
}

/// Depth limit of parentheses.
const MAX_DEPTH: usize = 32;

/// Recursive descent parser of conditions.
struct ConditionParser {
    tokens: Vec<ConditionToken>,
    at: usize,
    depth: usize,
}

/// Side of a comparison.
enum Operand {
    Attribute(String),
    /// All entries of the descriptor.
    Descriptor,
    Text(String),
    Texts(Vec<String>),
    /// A complete clause, such as `x.startsWith('a')`.
    Clause(Clause),
}

impl ConditionParser {
    fn next(&mut self) -> Option<ConditionToken> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn consume(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.tokens.get(self.at), Some(ConditionToken::Sign(next)) if *next == sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.consume(sign) { Ok(()) } else { Err(format!("missing `{sign}`")) }
    }

    /// `a || b`: values of one attribute.
    fn any_of(&mut self) -> Result<Vec<Clause>, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("nested too deeply".to_owned());
        }
        let mut all = self.all_of()?;
        while self.consume("||") {
            let other = self.all_of()?;
            let ([first], [other]) = (&mut *all, &*other) else {
                return Err("a rule cannot express `||` of compound conditions".to_owned());
            };
            let is_same = first.attribute == other.attribute && !first.negated && !other.negated;
            match (&mut first.test, &other.test) {
                (AttributeTest::Is(texts), AttributeTest::Is(more))
                | (AttributeTest::StartsWith(texts), AttributeTest::StartsWith(more))
                    if is_same =>
                {
                    texts.extend(more.iter().cloned());
                }
                _ => return Err("a rule can express `||` only for values of one attribute".to_owned()),
            }
        }
        self.depth -= 1;
        Ok(all)
    }

    fn all_of(&mut self) -> Result<Vec<Clause>, String> {
        let mut all = self.unary()?;
        while self.consume("&&") {
            all.extend(self.unary()?);
        }
        Ok(all)
    }

    fn unary(&mut self) -> Result<Vec<Clause>, String> {
        if self.consume("!") {
            // In CEL it binds tighter than a comparison.
            let mut inner = if self.consume("(") {
                self.parenthesised()?
            } else if let Operand::Clause(clause) = self.operand()? {
                vec![clause]
            } else {
                return Err("`!` needs a condition in parentheses".to_owned());
            };
            let [clause] = &mut *inner else {
                return Err("a rule cannot express `!` of several conditions".to_owned());
            };
            if clause.test == AttributeTest::Present {
                return Err("a rule cannot require that an attribute is absent".to_owned());
            }
            clause.negated = !clause.negated;
            return Ok(inner);
        }
        if self.consume("(") { self.parenthesised() } else { self.comparison().map(|one| vec![one]) }
    }

    fn parenthesised(&mut self) -> Result<Vec<Clause>, String> {
        let inner = self.any_of()?;
        self.expect(")")?;
        Ok(inner)
    }

    fn comparison(&mut self) -> Result<Clause, String> {
        let left = match self.operand()? {
            Operand::Clause(clause) => return Ok(clause),
            other => other,
        };
        let clause = |attribute, test, negated| Ok(Clause { attribute, test, negated });
        let sign = self.next();
        match &sign {
            None => return Err("the condition has no comparison".to_owned()),
            Some(ConditionToken::Sign("==" | "!=")) => {}
            Some(ConditionToken::Name(word)) if word == "in" => {}
            Some(other) => return Err(format!("a rule cannot express {other}")),
        }
        match (left, sign, self.operand()?) {
            (
                Operand::Attribute(name),
                Some(ConditionToken::Sign(sign @ ("==" | "!="))),
                Operand::Text(text),
            )
            | (
                Operand::Text(text),
                Some(ConditionToken::Sign(sign @ ("==" | "!="))),
                Operand::Attribute(name),
            ) => clause(name, AttributeTest::Is(vec![text]), sign == "!="),
            (Operand::Attribute(name), Some(ConditionToken::Name(word)), Operand::Texts(texts))
                if word == "in" =>
            {
                clause(name, AttributeTest::Is(texts), false)
            }
            (Operand::Text(name), Some(ConditionToken::Name(word)), Operand::Descriptor) if word == "in" => {
                clause(name, AttributeTest::Present, false)
            }
            (Operand::Attribute(_), Some(ConditionToken::Sign("==" | "!=")), Operand::Attribute(other)) => {
                Err(format!("an attribute can only be compared with a text: quote `{other}` if it is one"))
            }
            _ => Err("a rule can only compare an attribute with texts".to_owned()),
        }
    }

    fn operand(&mut self) -> Result<Operand, String> {
        match self.next() {
            Some(ConditionToken::Text(text)) => Ok(Operand::Text(text)),
            Some(ConditionToken::Sign("[")) => self.texts().map(Operand::Texts),
            Some(ConditionToken::Name(name)) if name == "has" && self.consume("(") => {
                let Operand::Attribute(attribute) = self.operand()? else {
                    return Err("`has` needs an attribute".to_owned());
                };
                self.expect(")")?;
                Ok(Operand::Clause(Clause { attribute, test: AttributeTest::Present, negated: false }))
            }
            Some(ConditionToken::Name(name)) => self.attribute(name),
            Some(ConditionToken::Number(number)) => {
                Err(format!("attribute values are texts: write '{number}' in quotes"))
            }
            Some(token) => Err(format!("unexpected {token}")),
            None => Err("unexpected end".to_owned()),
        }
    }

    fn texts(&mut self) -> Result<Vec<String>, String> {
        let mut texts = Vec::new();
        loop {
            match self.next() {
                Some(ConditionToken::Text(text)) => texts.push(text),
                _ => return Err("a list must contain quoted texts".to_owned()),
            }
            if self.consume("]") {
                return Ok(texts);
            }
            self.expect(",")?;
        }
    }

    /// Parses `user`, `req.method`, `descriptors[0].user`, `descriptors[0]['req.method']`, and a
    /// call on one of them.
    fn attribute(&mut self, first: String) -> Result<Operand, String> {
        if first == "limit" {
            return Err("a rule cannot test `limit`, the limit itself".to_owned());
        }
        let is_descriptor = first == "descriptors";
        let mut name = if is_descriptor { String::new() } else { first };
        if is_descriptor {
            self.expect("[")?;
            match self.next() {
                Some(ConditionToken::Number(index)) if index == "0" => self.expect("]")?,
                _ => {
                    return Err(
                        "a rule sees only `descriptors[0]`, because every descriptor is a separate request"
                            .to_owned(),
                    );
                }
            }
        }
        let dot = |name: &str| if name.is_empty() { "" } else { "." };
        loop {
            if self.consume(".") {
                let Some(ConditionToken::Name(part)) = self.next() else {
                    return Err("missing name after `.`".to_owned());
                };
                if self.consume("(") {
                    return self.call(name, &part).map(Operand::Clause);
                }
                name = format!("{name}{}{part}", dot(&name));
            } else if self.consume("[") {
                let Some(ConditionToken::Text(part)) = self.next() else {
                    return Err("missing quoted name after `[`".to_owned());
                };
                self.expect("]")?;
                name = format!("{name}{}{part}", dot(&name));
            } else if name.is_empty() {
                return Ok(Operand::Descriptor);
            } else {
                return Ok(Operand::Attribute(name));
            }
        }
    }

    fn call(&mut self, attribute: String, function: &str) -> Result<Clause, String> {
        match (function, self.next(), self.consume(")")) {
            ("startsWith", Some(ConditionToken::Text(start)), true) => {
                Ok(Clause { attribute, test: AttributeTest::StartsWith(vec![start]), negated: false })
            }
            _ => Err(format!("a rule cannot express `{function}`")),
        }
    }
}
