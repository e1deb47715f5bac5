//! Generator of scripts.

use std::fmt::Write;

use slidegate_core::{Limit, LimitKind};

use super::parts::{REQUEST_NAMES, ScriptParts, section};
use super::{
    LimitNumbers, REPLY_HEAD_BYTES, REPLY_LIMIT_BYTES, REPLY_PERMIT_BYTES, REPLY_STAMP, ScriptPurpose,
    numbers,
};

const TICKET: &str = include_str!("../lua/idempotency.lua");
const OPEN_PERMITS: &str = include_str!("../lua/open_permits.lua");
const LEASE: &str = include_str!("../lua/lease.lua");

/// Bytes of a ticket before the answer.
const TICKET_HEAD: usize = 32;
/// A Lua function has at most 200 variables; beyond this many, those of a limit go into a table.
const MAX_VARIABLES: usize = 150;
/// Maximum number of limits whose numbers are packed in one call: arguments are limited too.
const MAX_PACKED: usize = 16;
/// Names of the numbers of a limit in a part.
const NUMBERS: [&str; 4] = ["quota_", "window_", "extra_", "margin_"];

/// Generator of one script.
pub(super) struct ScriptWriter<'a> {
    limits: &'a [Limit],
    parts: Vec<ScriptParts>,
    numbers: LimitNumbers,
    purpose: ScriptPurpose,
    /// True if the variables of a limit are fields of a table.
    tables: bool,
    pub(super) text: String,
}

impl<'a> ScriptWriter<'a> {
    pub(super) fn new(limits: &'a [Limit], purpose: ScriptPurpose, numbers: LimitNumbers) -> Self {
        let parts: Vec<ScriptParts> = limits.iter().map(ScriptParts::of).collect();
        let request_names = REQUEST_NAMES.len();
        let variables: usize = parts.iter().map(|parts| parts.variables().len() + request_names).sum();
        let tables = variables > MAX_VARIABLES;
        Self { limits, parts, numbers, purpose, tables, text: String::new() }
    }

    /// Adds lines without comments and indentation: the server stores the text.
    pub(super) fn add(&mut self, text: &str) {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("--"));
        lines.for_each(|line| {
            self.text.push_str(line);
            self.text.push('\n');
        });
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        self.text.write_fmt(line).expect("a String takes everything");
        self.text.push('\n');
    }

    /// Adds a part for one limit, as a block of its own.
    fn block(&mut self, index: usize, part: &str) {
        self.text.push_str("do\n");
        let part = self.for_limit(index, part);
        self.add(&part);
        self.text.push_str("end\n");
    }

    /// A part with the names of one limit.
    fn for_limit(&self, index: usize, part: &str) -> String {
        let mut text = String::with_capacity(part.len() + 64);
        let mut rest = part;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic()) {
            let (before, from) = rest.split_at(start);
            let end = from.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(from.len());
            let (word, after) = from.split_at(end);
            text.push_str(before);
            if word.ends_with('_') {
                text.push_str(&self.name(index, word));
            } else {
                text.push_str(word);
            }
            rest = after;
        }
        text + rest
    }

    /// Name in the script of a word that belongs to a limit.
    fn name(&self, index: usize, word: &str) -> String {
        let number = index + 1;
        match NUMBERS.iter().position(|name| *name == word) {
            Some(at) if self.numbers == LimitNumbers::Literal => numbers(&self.limits[index])[at].to_string(),
            Some(_) if self.tables => format!("n{number}.{word}"),
            None if word == "cost_" && self.purpose == ScriptPurpose::Check => "1".to_owned(),
            None if self.tables => format!("t{number}.{word}"),
            _ => format!("{word}{number}"),
        }
    }

    /// Sets words of a limit: as new variables, or in its table.
    fn set(&mut self, index: usize, values: &[(&str, String)]) {
        let names: Vec<String> = values.iter().map(|(word, _)| self.name(index, word)).collect();
        let values: Vec<&str> = values.iter().map(|(_, value)| value.as_str()).collect();
        let local = if self.tables { "" } else { "local " };
        self.line(format_args!("{local}{} = {}", names.join(", "), values.join(", ")));
    }

    /// Declares the variables of a limit.
    fn declare(&mut self, index: usize) {
        if self.tables {
            return self.line(format_args!("local t{} = {{}}", index + 1));
        }
        let names = self.parts[index].variables();
        let names: Vec<String> = names.iter().map(|name| self.name(index, name)).collect();
        self.line(format_args!("local {}", names.join(", ")));
    }

    pub(super) fn read_numbers(&mut self, head: usize) -> usize {
        if self.numbers == LimitNumbers::Literal {
            return head;
        }
        for index in 0..self.limits.len() {
            if self.tables {
                self.line(format_args!("local n{} = {{}}", index + 1));
            }
            let from = head + NUMBERS.len() * index;
            let values = NUMBERS.iter().enumerate();
            let values: Vec<(&str, String)> =
                values.map(|(at, word)| (*word, argument(from + at + 1))).collect();
            self.set(index, &values);
        }
        head + NUMBERS.len() * self.limits.len()
    }

    pub(super) fn add_functions(&mut self) {
        for index in 0..self.parts.len() {
            let first =
                self.parts[..index].iter().all(|other| !std::ptr::eq(other.file, self.parts[index].file));
            if first {
                self.add(self.parts[index].functions);
            }
        }
    }

    /// Declares the variables, keys and costs of a request whose keys begin after `base`, and its
    /// arguments after `first`.
    fn begin_request(&mut self, base: &str, first: &str) {
        for index in 0..self.limits.len() {
            let number = index + 1;
            self.declare(index);
            self.set(index, &[("key_", format!("KEYS[{base} + {number}]"))]);
            if self.purpose != ScriptPurpose::Check {
                self.set(index, &[("cost_", format!("ARGV[{first} + {number}] + 0"))]);
            }
        }
    }

    fn is_meter(&self, index: usize) -> bool {
        matches!(self.limits[index].kind(), LimitKind::Gcra { .. })
    }

    fn needs_holder(&self) -> bool {
        self.limits.iter().any(Limit::needs_id)
    }

    fn peek(&mut self) {
        for index in 0..self.limits.len() {
            self.block(index, self.parts[index].peek);
        }
    }

    fn answer(&mut self) {
        for index in 0..self.limits.len() {
            self.block(index, self.parts[index].answer);
        }
    }

    /// Charges all limits or none, and assigns the answer to `row`.
    fn decide(&mut self) {
        self.peek();
        self.decide_after_peek();
    }

    fn decide_after_peek(&mut self) {
        let fits = |index: usize| format!("{} <= {}", self.name(index, "cost_"), self.name(index, "left_"));
        let all: Vec<String> = (0..self.limits.len()).map(fits).collect();
        self.line(format_args!("local row"));
        self.line(format_args!("if {} then", all.join(" and ")));
        for index in 0..self.limits.len() {
            let cost = self.name(index, "cost_");
            self.line(format_args!("if {cost} > 0 then"));
            self.add(&self.for_limit(index, self.parts[index].record));
            self.line(format_args!("else"));
            self.add(&self.for_limit(index, self.parts[index].answer));
            self.line(format_args!("end"));
        }
        self.line(format_args!("if not row then"));
        self.row(1);
        self.line(format_args!("end"));
        self.line(format_args!("else"));
        self.answer();
        self.row(0);
        self.line(format_args!("end"));
    }

    /// Assigns the answer to `row`: the outcome, the time, and the numbers of every limit.
    fn row(&mut self, admitted: u8) {
        let mut text = String::from("row = ");
        for (chunk, limits) in self.limits.chunks(MAX_PACKED).enumerate() {
            let first = chunk * MAX_PACKED;
            let numbers = (first..first + limits.len())
                .flat_map(|index| ["left_", "reset_", "when_"].map(|word| self.name(index, word)));
            let numbers: Vec<String> = numbers.collect();
            let (numbers, pattern) = (numbers.join(", "), "I7I6I6".repeat(limits.len()));
            text += &match chunk {
                0 => format!("pack('<BI6{pattern}', {admitted}, now, {numbers})"),
                _ => format!(" .. pack('<{pattern}', {numbers})"),
            };
        }
        self.line(format_args!("{text}"));
    }

    /// Gives units back to every limit, and assigns the answer to `row`.
    fn give_back(&mut self) {
        self.peek();
        for index in 0..self.limits.len() {
            let cost = self.name(index, "cost_");
            self.line(format_args!("if {cost} > 0 then"));
            self.block(index, &self.parts[index].give_back.clone());
            self.block(index, self.parts[index].peek);
            self.line(format_args!("end"));
            // The answer to a cost of 0.
            self.block(index, &self.parts[index].answer.replace("cost_", "0"));
        }
        self.line(format_args!("local row"));
        self.row(1);
    }

    /// Answers requests, whose keys and arguments follow one another.
    pub(super) fn answer_all(&mut self, head: usize) {
        let limits = self.limits.len();
        self.line(format_args!("local rows, keys = nil, #KEYS"));
        self.line(format_args!("for base = 0, keys - 1, {limits} do"));
        let costs = if self.purpose == ScriptPurpose::Check { 0 } else { limits };
        if self.needs_holder() {
            self.line(format_args!("local argument = base / {limits} * {} + {head}", costs + 1));
            self.line(format_args!("local holder = ARGV[argument + {}]", costs + 1));
        } else {
            self.line(format_args!("local argument = base + {head}"));
        }
        self.begin_request("base", "argument");
        match self.purpose {
            ScriptPurpose::GiveBack => self.give_back(),
            _ => self.decide(),
        }
        // A single request needs no list of answers.
        self.line(format_args!("if keys == {limits} then"));
        self.line(format_args!("return row"));
        self.line(format_args!("end"));
        self.line(format_args!("rows = rows or {{}}"));
        self.line(format_args!("rows[#rows + 1] = row"));
        self.line(format_args!("end"));
        self.line(format_args!("return table.concat(rows)"));
    }

    /// Charges one request whose keys begin after `base`, opens its permits, and assigns the answer
    /// to `row`.
    fn charge(&mut self, base: usize, head: usize) {
        // Behind the costs: the id, and an argument per permit.
        let permit_base = head + self.limits.len() + 1;
        self.line(format_args!("local permit_base, holder = {permit_base}, ARGV[{permit_base}]"));
        self.add(section(OPEN_PERMITS, "capacity"));
        self.begin_request(&base.to_string(), &head.to_string());
        self.decide();
        self.line(format_args!("local admitted = unpack('<B', row) == 1"));
        self.line(format_args!("if admitted then"));
        let resets: Vec<String> = (0..self.limits.len()).map(|index| self.name(index, "reset_")).collect();
        self.line(format_args!("local resets = {{{}}}", resets.join(", ")));
        self.add(section(OPEN_PERMITS, "grant"));
        self.line(format_args!("end"));
    }

    pub(super) fn reserve(&mut self, head: usize) {
        self.add(section(OPEN_PERMITS, "functions"));
        self.charge(0, head);
        self.line(format_args!("return row"));
    }

    /// Decides a request. Behind its costs and its id are, for each limit, the node, the sequence
    /// number and the units of a prepayment.
    pub(super) fn decide_prepaid(&mut self, head: usize) {
        let first = head + self.limits.len() + 1;
        self.line(format_args!("local holder = ARGV[{first}]"));
        self.begin_request("0", &head.to_string());
        self.peek();
        for index in 0..self.limits.len() {
            if matches!(self.limits[index].kind(), LimitKind::Log { .. }) {
                let part = section(LEASE, "prepay").replace("FIRST", &(first + 3 * index).to_string());
                self.block(index, &part);
            }
        }
        self.decide_after_peek();
        self.line(format_args!("return row"));
    }

    /// Runs a part of the leases on the only limit, which is a log.
    pub(super) fn lease(&mut self, part: &'static str) {
        self.declare(0);
        self.set(0, &[("key_", "KEYS[1]".to_owned())]);
        self.block(0, self.parts[0].peek);
        self.block(0, section(LEASE, part));
    }

    /// Assigns the debts of meters before and after the charge to `before`.
    fn save_debts(&mut self) {
        self.line(format_args!("local before = ''"));
        for index in 0..self.limits.len() {
            if !self.is_meter(index) {
                continue;
            }
            let [before, cost, debt, quota] =
                ["before_", "cost_", "debt_", "quota_"].map(|word| self.name(index, word));
            self.line(format_args!("if {before} and {cost} > 0 then"));
            // A value of an earlier build has no quota.
            self.line(format_args!("if #{before} == 14 then"));
            self.line(format_args!("{before} = {before} .. pack('<I7', {quota})"));
            self.line(format_args!("end"));
            let written = format!("pack('<BI6I7I7', 1, now, {debt}, {quota})");
            self.line(format_args!("before = before .. string.char({index}) .. {before} .. {written}"));
            self.line(format_args!("end"));
        }
    }

    pub(super) fn decide_idempotent(&mut self, head: usize) {
        self.add(section(OPEN_PERMITS, "functions"));
        self.add(section(TICKET, "find"));
        self.charge(1, head);
        self.line(format_args!("if admitted then"));
        self.save_debts();
        self.add(section(TICKET, "store"));
        self.line(format_args!("end"));
        self.line(format_args!("return row"));
    }

    pub(super) fn undo(&mut self, head: usize) {
        self.add(section(OPEN_PERMITS, "functions"));
        let permit_base = head + self.limits.len() + 1;
        self.line(format_args!("local permit_base, holder, found = {permit_base}, ARGV[4], false"));
        self.add(section(TICKET, "undo"));
        let permits = TICKET_HEAD + REPLY_HEAD_BYTES + REPLY_LIMIT_BYTES * self.limits.len() + 1;
        self.line(format_args!("local permits, permit_bytes = {permits}, {REPLY_PERMIT_BYTES}"));
        self.add(section(OPEN_PERMITS, "undo"));
        self.begin_request("1", &head.to_string());
        self.peek();
        for index in 0..self.limits.len() {
            let cost = self.name(index, "cost_");
            self.line(format_args!("if undoes and {cost} > 0 then"));
            let from = TICKET_HEAD + REPLY_HEAD_BYTES + REPLY_LIMIT_BYTES * index + REPLY_STAMP + 1;
            self.set(
                index,
                &[("recorded_at_", format!("unpack('<I6', stored, {from})")), ("recorded_", cost)],
            );
            // The recorded cost is replaced by 0.
            let settle = self.parts[index].settle.replace("cost_", "0");
            if self.is_meter(index) {
                let restore = section(TICKET, "restore").replace("INDEX", &index.to_string());
                self.block(index, &format!("{restore}\nif not restored then\n{settle}\nend\n"));
            } else {
                self.block(index, &settle);
            }
            self.block(index, self.parts[index].peek);
            self.line(format_args!("end"));
        }
        self.answer();
        self.line(format_args!("local row"));
        self.row(0);
        self.line(format_args!("return row"));
    }

    pub(super) fn settle(&mut self, head: usize) {
        self.add(section(OPEN_PERMITS, "functions"));
        self.line(format_args!(
            "local holder, until_ms, cost, slots = ARGV[1], ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0"
        ));
        self.line(format_args!("local generation, number = ARGV[5], ARGV[6] + 0"));
        self.add(section(OPEN_PERMITS, "settle"));
        for index in 0..self.limits.len() {
            let first = head + 2 * index;
            let cost = if self.limits[index].needs_id() { "slots" } else { "cost" };
            self.line(format_args!("do"));
            self.declare(index);
            self.set(index, &[("key_", format!("KEYS[{}]", index + 2)), ("cost_", cost.to_owned())]);
            self.block(index, self.parts[index].peek);
            self.set(index, &[("recorded_at_", argument(first + 1)), ("recorded_", argument(first + 2))]);
            self.block(index, &self.parts[index].settle.clone());
            self.line(format_args!("end"));
        }
        self.add(section(OPEN_PERMITS, "settled"));
    }
}

/// Number among the arguments.
fn argument(index: usize) -> String {
    format!("ARGV[{index}] + 0")
}
