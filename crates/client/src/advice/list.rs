//! Parser of lists of structured fields (RFC 9651).
//!
//! It reads the whole grammar, since one mistake makes a field unusable, but keeps only names and
//! integers.

/// Most digits of an integer, and of a decimal before its point.
const MAX_INTEGER_DIGITS: usize = 15;
const MAX_WHOLE_DIGITS: usize = 12;
const MAX_FRACTION_DIGITS: usize = 3;

/// Item of a list.
#[derive(Debug)]
pub(crate) struct ListItem<'a> {
    /// Name as it was written, quotes included. No two spellings mean the same string.
    pub(crate) name: &'a [u8],
    parameters: Vec<ListParameter<'a>>,
}

impl ListItem<'_> {
    /// Value of the last parameter with a key, if it is an integer.
    pub(crate) fn integer(&self, key: &str) -> Option<i64> {
        let mut parameters = self.parameters.iter().rev();
        parameters.find(|parameter| parameter.key == key.as_bytes())?.integer
    }
}

#[derive(Debug)]
struct ListParameter<'a> {
    key: &'a [u8],
    integer: Option<i64>,
}

/// Items of a list, without inner lists. `None` if the list is malformed.
pub(crate) fn parse(value: &[u8]) -> Option<Vec<ListItem<'_>>> {
    let mut input = Input { rest: value };
    let mut items = Vec::new();
    input.take_while(is_space);
    if input.rest.is_empty() {
        return Some(items);
    }
    loop {
        if input.peek() == Some(b'(') {
            input.inner_list()?;
        } else {
            items.push(input.item()?);
        }
        input.take_while(is_blank);
        if input.rest.is_empty() {
            return Some(items);
        }
        input.expect(b',')?;
        input.take_while(is_blank);
    }
}

/// Bytes that are not parsed yet.
struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    fn has(&mut self, byte: u8) -> bool {
        let has = self.peek() == Some(byte);
        self.rest = &self.rest[usize::from(has)..];
        has
    }

    fn take_while(&mut self, is_part: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|&byte| !is_part(byte)).unwrap_or(self.rest.len());
        let (part, rest) = self.rest.split_at(end);
        self.rest = rest;
        part
    }

    /// Bytes that a parser consumes.
    fn consumed<T>(&mut self, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<(&'a [u8], T)> {
        let start = self.rest;
        let value = parse(self)?;
        Some((&start[..start.len() - self.rest.len()], value))
    }

    fn inner_list(&mut self) -> Option<()> {
        self.expect(b'(')?;
        loop {
            self.take_while(is_space);
            if self.has(b')') {
                return self.parameters().map(drop);
            }
            self.item()?;
            if !matches!(self.peek()?, b' ' | b')') {
                return None;
            }
        }
    }

    fn item(&mut self) -> Option<ListItem<'a>> {
        let (name, _) = self.consumed(Self::bare_item)?;
        Some(ListItem { name, parameters: self.parameters()? })
    }

    fn parameters(&mut self) -> Option<Vec<ListParameter<'a>>> {
        let mut parameters = Vec::new();
        while self.has(b';') {
            self.take_while(is_space);
            let (key, ()) = self.consumed(Self::key)?;
            let integer = if self.has(b'=') { self.bare_item()? } else { None };
            parameters.push(ListParameter { key, integer });
        }
        Some(parameters)
    }

    fn key(&mut self) -> Option<()> {
        matches!(self.next()?, b'a'..=b'z' | b'*').then_some(())?;
        self.take_while(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'*'));
        Some(())
    }

    /// Reads a value of any type: the number, if it is an integer.
    fn bare_item(&mut self) -> Option<Option<i64>> {
        match self.peek()? {
            b'-' | b'0'..=b'9' => return self.number(),
            b'"' => self.string()?,
            b'*' | b'a'..=b'z' | b'A'..=b'Z' => drop(self.take_while(is_token)),
            b':' => self.byte_sequence()?,
            b'?' => self.boolean()?,
            b'@' => self.date()?,
            b'%' => self.display_string()?,
            _ => return None,
        }
        Some(None)
    }

    fn number(&mut self) -> Option<Option<i64>> {
        let is_negative = self.has(b'-');
        let whole = self.take_while(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() > MAX_INTEGER_DIGITS {
            return None;
        }
        if self.has(b'.') {
            let fraction = self.take_while(|byte| byte.is_ascii_digit());
            let is_valid =
                whole.len() <= MAX_WHOLE_DIGITS && (1..=MAX_FRACTION_DIGITS).contains(&fraction.len());
            return is_valid.then_some(None);
        }
        let number = whole.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
        Some(Some(if is_negative { -number } else { number }))
    }

    fn string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => matches!(self.next()?, b'"' | b'\\').then_some(())?,
                b' '..=b'~' => {}
                _ => return None,
            }
        }
    }

    /// Base64, of which only the alphabet is checked, as RFC 9651 recommends.
    fn byte_sequence(&mut self) -> Option<()> {
        self.expect(b':')?;
        self.take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
        self.expect(b':')
    }

    fn boolean(&mut self) -> Option<()> {
        self.expect(b'?')?;
        matches!(self.next()?, b'0' | b'1').then_some(())
    }

    fn date(&mut self) -> Option<()> {
        self.expect(b'@')?;
        self.number()?.map(drop)
    }

    fn display_string(&mut self) -> Option<()> {
        self.expect(b'%')?;
        self.expect(b'"')?;
        let mut text = Vec::new();
        loop {
            match self.next()? {
                b'"' => return str::from_utf8(&text).is_ok().then_some(()),
                b'%' => text.push(self.hex_digit()? << 4 | self.hex_digit()?),
                byte @ b' '..=b'~' => text.push(byte),
                _ => return None,
            }
        }
    }

    fn hex_digit(&mut self) -> Option<u8> {
        match self.next()? {
            digit @ b'0'..=b'9' => Some(digit - b'0'),
            letter @ b'a'..=b'f' => Some(letter - b'a' + 10),
            _ => None,
        }
    }
}

fn is_space(byte: u8) -> bool {
    byte == b' '
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte)
}

#[cfg(test)]
mod tests;
