//! Conditions of Limitador: the part of CEL that a rule can say.

use super::token::{self, Token};

/// One thing that is asked of one attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Clause {
    pub(super) attribute: String,
    pub(super) wanted: Wanted,
    /// The attribute is there, and this does not hold.
    pub(super) negated: bool,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Wanted {
    /// One of these.
    Is(Vec<String>),
    /// It begins like one of these.
    StartsWith(Vec<String>),
    Present,
}

/// The clauses of a condition, all of which have to hold. The error says what a rule cannot say.
pub(super) fn parse(text: &str) -> Result<Vec<Clause>, String> {
    let mut parser = Parser { tokens: token::tokens(text)?, at: 0, depth: 0 };
    let clauses = parser.either()?;
    match parser.next() {
        None => Ok(clauses),
        Some(token) => Err(format!("a rule cannot say what follows from {token}")),
    }
}

/// The attribute that a variable names.
pub(super) fn variable(text: &str) -> Result<String, String> {
    let mut parser = Parser { tokens: token::tokens(text)?, at: 0, depth: 0 };
    match (parser.operand()?, parser.next()) {
        (Operand::Attribute(name), None) => Ok(name),
        _ => Err("a key consists of attributes, not of expressions".to_owned()),
    }
}

/// Nobody nests parentheses deeper.
const MAX_DEPTH: usize = 32;

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

/// One side of a comparison.
enum Operand {
    Attribute(String),
    /// All entries of the descriptor.
    Descriptor,
    Text(String),
    Texts(Vec<String>),
    /// A whole clause already, such as `x.startsWith('a')`.
    Clause(Clause),
}

impl Parser {
    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.tokens.get(self.at), Some(Token::Sign(next)) if *next == sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.takes(sign) { Ok(()) } else { Err(format!("`{sign}` is missing")) }
    }

    /// `a || b`: values of one attribute.
    fn either(&mut self) -> Result<Vec<Clause>, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("it is nested too deeply".to_owned());
        }
        let mut all = self.both()?;
        while self.takes("||") {
            let other = self.both()?;
            let ([first], [other]) = (&mut *all, &*other) else {
                return Err("a rule cannot say `||` of conditions that consist of several".to_owned());
            };
            let is_same = first.attribute == other.attribute && !first.negated && !other.negated;
            match (&mut first.wanted, &other.wanted) {
                (Wanted::Is(texts), Wanted::Is(more)) if is_same => texts.extend(more.iter().cloned()),
                (Wanted::StartsWith(texts), Wanted::StartsWith(more)) if is_same => {
                    texts.extend(more.iter().cloned());
                }
                _ => return Err("a rule can say `||` only of values of one attribute".to_owned()),
            }
        }
        self.depth -= 1;
        Ok(all)
    }

    fn both(&mut self) -> Result<Vec<Clause>, String> {
        let mut all = self.one()?;
        while self.takes("&&") {
            all.extend(self.one()?);
        }
        Ok(all)
    }

    fn one(&mut self) -> Result<Vec<Clause>, String> {
        if self.takes("!") {
            // In CEL it binds to what follows at once, not to a comparison.
            let mut inner = if self.takes("(") {
                self.within()?
            } else if let Operand::Clause(clause) = self.operand()? {
                vec![clause]
            } else {
                return Err("`!` is said of a condition in parentheses".to_owned());
            };
            let [clause] = &mut *inner else {
                return Err("a rule cannot say `!` of several conditions together".to_owned());
            };
            if clause.wanted == Wanted::Present {
                return Err("a rule cannot ask that an attribute is not there".to_owned());
            }
            clause.negated = !clause.negated;
            return Ok(inner);
        }
        if self.takes("(") { self.within() } else { self.comparison().map(|one| vec![one]) }
    }

    fn within(&mut self) -> Result<Vec<Clause>, String> {
        let inner = self.either()?;
        self.expect(")")?;
        Ok(inner)
    }

    fn comparison(&mut self) -> Result<Clause, String> {
        let left = match self.operand()? {
            Operand::Clause(clause) => return Ok(clause),
            other => other,
        };
        let clause = |attribute, wanted, negated| Ok(Clause { attribute, wanted, negated });
        let sign = self.next();
        match &sign {
            None => return Err("a condition compares something".to_owned()),
            Some(Token::Sign("==" | "!=")) => {}
            Some(Token::Name(word)) if word == "in" => {}
            Some(other) => return Err(format!("a rule cannot say {other}")),
        }
        match (left, sign, self.operand()?) {
            (Operand::Attribute(name), Some(Token::Sign(sign @ ("==" | "!="))), Operand::Text(text))
            | (Operand::Text(text), Some(Token::Sign(sign @ ("==" | "!="))), Operand::Attribute(name)) => {
                clause(name, Wanted::Is(vec![text]), sign == "!=")
            }
            (Operand::Attribute(name), Some(Token::Name(word)), Operand::Texts(texts)) if word == "in" => {
                clause(name, Wanted::Is(texts), false)
            }
            (Operand::Text(name), Some(Token::Name(word)), Operand::Descriptor) if word == "in" => {
                clause(name, Wanted::Present, false)
            }
            (Operand::Attribute(_), Some(Token::Sign("==" | "!=")), Operand::Attribute(other)) => {
                Err(format!("an attribute is compared with a text: put `{other}` in quotes if it is one"))
            }
            _ => Err("a rule compares an attribute with texts".to_owned()),
        }
    }

    fn operand(&mut self) -> Result<Operand, String> {
        match self.next() {
            Some(Token::Text(text)) => Ok(Operand::Text(text)),
            Some(Token::Sign("[")) => self.texts().map(Operand::Texts),
            Some(Token::Name(name)) if name == "has" && self.takes("(") => {
                let Operand::Attribute(attribute) = self.operand()? else {
                    return Err("`has` is asked of an attribute".to_owned());
                };
                self.expect(")")?;
                Ok(Operand::Clause(Clause { attribute, wanted: Wanted::Present, negated: false }))
            }
            Some(Token::Name(name)) => self.attribute(name),
            Some(Token::Number(number)) => {
                Err(format!("values of attributes are texts: write '{number}' in quotes"))
            }
            Some(token) => Err(format!("a rule cannot say {token} here")),
            None => Err("something is missing at the end".to_owned()),
        }
    }

    fn texts(&mut self) -> Result<Vec<String>, String> {
        let mut texts = Vec::new();
        loop {
            match self.next() {
                Some(Token::Text(text)) => texts.push(text),
                _ => return Err("a list has texts in quotes".to_owned()),
            }
            if self.takes("]") {
                return Ok(texts);
            }
            self.expect(",")?;
        }
    }

    /// `user`, `req.method`, `descriptors[0].user`, `descriptors[0]['req.method']`, and what is asked of it with a dot.
    fn attribute(&mut self, first: String) -> Result<Operand, String> {
        if first == "limit" {
            return Err("`limit` is the limit itself, which a rule does not ask".to_owned());
        }
        let is_descriptor = first == "descriptors";
        let mut name = if is_descriptor { String::new() } else { first };
        if is_descriptor {
            self.expect("[")?;
            match self.next() {
                Some(Token::Number(index)) if index == "0" => self.expect("]")?,
                _ => {
                    return Err("every descriptor is a request, and a rule sees no other: `descriptors[0]`"
                        .to_owned());
                }
            }
        }
        let dot = |name: &str| if name.is_empty() { "" } else { "." };
        loop {
            if self.takes(".") {
                let Some(Token::Name(part)) = self.next() else {
                    return Err("a name is missing after `.`".to_owned());
                };
                if self.takes("(") {
                    return self.call(name, &part).map(Operand::Clause);
                }
                name = format!("{name}{}{part}", dot(&name));
            } else if self.takes("[") {
                let Some(Token::Text(part)) = self.next() else {
                    return Err("a name in quotes is missing after `[`".to_owned());
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
        match (function, self.next(), self.takes(")")) {
            ("startsWith", Some(Token::Text(start)), true) => {
                Ok(Clause { attribute, wanted: Wanted::StartsWith(vec![start]), negated: false })
            }
            _ => Err(format!("a rule cannot ask `{function}`")),
        }
    }
}
